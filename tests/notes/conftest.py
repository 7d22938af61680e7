"""A data folder with notes in it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.notes.vaults import Desk, open_desk
from tests.scenarios.conftest import home

__all__ = ["desk", "home"]


@pytest.fixture
async def desk(home: Path) -> AsyncIterator[Desk]:
    async with open_desk(home) as opened:
        yield opened
