"""What a Markdown file says: reading and writing one, its name, and the links in it. No disk, no store."""
