"""The fixtures of the scenarios, and a pool of processes to be killed."""

from collections.abc import Iterator

import pytest

from tests.anomaly.process_pool import ProcessPool
from tests.scenarios.conftest import home, memory, wiring

__all__ = ["home", "memory", "process_pool", "wiring"]


@pytest.fixture(scope="session")
def process_pool() -> Iterator[ProcessPool]:
    with ProcessPool() as opened:
        yield opened
