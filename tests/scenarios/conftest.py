"""A data folder, a store in it, and a client."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from scrubjay.client import MemoryClient
from scrubjay.paths import database_file
from tests.new_files import new_file
from tests.scenarios.paired_servers import ServerPair
from tests.scenarios.wiring import Wiring, open_wiring
from tests.temp_folders import quick_place


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder:
        yield Path(folder) / "data"


@pytest.fixture
async def wiring(home: Path) -> AsyncIterator[Wiring]:
    new_file(database_file(home))
    async with open_wiring(home) as opened:
        yield opened


@pytest.fixture
def memory(wiring: Wiring) -> MemoryClient:
    return wiring.client()


@pytest.fixture(scope="module")
def pair() -> Iterator[ServerPair]:
    with (
        tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder,
        ServerPair.open(Path(folder)) as both,
    ):
        yield both
