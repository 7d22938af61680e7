"""Exports of notes as Markdown, JSON, CSV, HTML and PDF."""
