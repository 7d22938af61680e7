"""Keeping store and folder in step: what is to be done about a note, and doing it."""
