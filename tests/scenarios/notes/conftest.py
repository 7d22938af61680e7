"""A data folder with notes in it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.scenarios.conftest import home
from tests.scenarios.notes.vaults import Desk, open_desk

__all__ = ["context", "home"]


@pytest.fixture
async def context(home: Path) -> AsyncIterator[Desk]:
    async with open_desk(home) as opened:
        yield opened
