"""Imports: a folder of Markdown files, such as a vault of Obsidian, becomes memories."""
