"""A data folder, a memory in it, and somebody who uses it."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from scrubjay.client import MemoryClient
from scrubjay.paths import database_file
from tests.new_files import new_file
from tests.places import quick_place
from tests.scenarios.house import House, open_house
from tests.scenarios.worlds import Twins


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder:
        yield Path(folder) / "data"


@pytest.fixture
async def house(home: Path) -> AsyncIterator[House]:
    new_file(database_file(home))
    async with open_house(home) as opened:
        yield opened


@pytest.fixture
def memory(house: House) -> MemoryClient:
    return house.client()


@pytest.fixture(scope="module")
def twins() -> Iterator[Twins]:
    with tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder, Twins.open(Path(folder)) as both:
        yield both
