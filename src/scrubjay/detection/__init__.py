"""Conflict detection: compare the statements of a memory with stored ones."""
