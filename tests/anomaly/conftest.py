"""The same rooms as in the scenarios, for what goes wrong in them."""

from tests.scenarios.conftest import home, house, memory

__all__ = ["home", "house", "memory"]
