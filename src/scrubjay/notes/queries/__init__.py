"""Finding notes: full text, categories, reviews, backlinks and broken links."""
