"""What holds for every test."""

from pathlib import Path

import pytest

# These look at the whole from outside. The rooms that are held to a share of their branches have tests of their own,
# and to trace what they do would take a third of the time of these.
_FROM_OUTSIDE = tuple(Path(__file__).parent / folder for folder in ("contract", "surfaces"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in _FROM_OUTSIDE):
            item.add_marker("no_cover")
