"""The same rooms as in the scenarios, for what goes wrong in them, and a nursery for those who will be killed there."""

from collections.abc import Iterator

import pytest

from tests.anomaly.nursery import Nursery
from tests.scenarios.conftest import home, house, memory

__all__ = ["home", "house", "memory", "nursery"]


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as opened:
        yield opened
