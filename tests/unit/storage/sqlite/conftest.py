"""A store in a file of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.new_files import new_file

from scrubjay.storage.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(new_file(path), readers=1)
    yield opened
    await opened.close()
