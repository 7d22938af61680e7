"""How far something long has come."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Told how much of how much is done."""
