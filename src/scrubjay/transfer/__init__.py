"""Memories as JSON Lines, whole: with every version, every relation and every time."""
