"""Extraction: the facts in a conversation that are worth keeping."""
