"""Notes of others: a folder of Markdown, such as a vault of Obsidian's, becomes memories."""
