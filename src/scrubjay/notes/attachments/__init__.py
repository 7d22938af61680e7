"""Attachments: files beside the notes, and what they say."""
