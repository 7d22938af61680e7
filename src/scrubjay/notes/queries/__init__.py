"""Queries over notes: search, reviews, categories, backlinks and broken links."""
