"""A data folder with notes in it."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.notes.vaults import Desk, open_desk
from tests.scenarios.house import quick_place


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder:
        yield Path(folder) / "data"


@pytest.fixture
async def desk(home: Path) -> AsyncIterator[Desk]:
    async with open_desk(home) as opened:
        yield opened
