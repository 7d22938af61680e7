"""Memories as a folder of Markdown files that any editor can open, kept in sync with the store in both directions."""
