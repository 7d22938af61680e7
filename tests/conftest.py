"""What holds for every test."""

from pathlib import Path

import pytest

# To trace what a test does takes as long again, and only four rooms are held to a share of their branches: by the tests
# that are theirs.
_TRACED = tuple(
    Path(__file__).parent / folder
    for folder in ("conformance", "unit/model", "unit/recalling", "unit/stores", "unit/writing")
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not any(item.path.is_relative_to(folder) for folder in _TRACED):
            item.add_marker("no_cover")
