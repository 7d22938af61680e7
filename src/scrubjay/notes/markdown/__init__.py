"""Markdown files of notes: their content, their names and the links in them. No disk, no store."""
