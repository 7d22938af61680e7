"""Memories as a folder of Markdown that any editor can open, kept in step with the store both ways."""
