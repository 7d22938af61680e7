"""Notes for others: as Markdown, JSON, CSV, HTML and PDF."""
