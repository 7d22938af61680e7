"""The same rooms as in the scenarios, for what goes wrong in them, and a nursery for those who will be killed there."""

from collections.abc import Iterator

import pytest

from tests.anomaly.process_pool import ProcessPool
from tests.scenarios.conftest import home, memory, wiring

__all__ = ["home", "memory", "process_pool", "wiring"]


@pytest.fixture(scope="session")
def process_pool() -> Iterator[ProcessPool]:
    with ProcessPool() as opened:
        yield opened
