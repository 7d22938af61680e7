"""Lookups by reference, and the records of branches."""
