"""A data folder, a memory in it, and somebody who uses it."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from scrubjay.client import MemoryClient
from tests.scenarios.house import House, open_house, quick_place


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder:
        yield Path(folder) / "data"


@pytest.fixture
async def house(home: Path) -> AsyncIterator[House]:
    async with open_house(home) as opened:
        yield opened


@pytest.fixture
def memory(house: House) -> MemoryClient:
    return house.client()
