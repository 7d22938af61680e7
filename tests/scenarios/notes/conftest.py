"""A data folder with notes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.scenarios.conftest import home
from tests.scenarios.notes.harness import VaultHarness, open_harness

__all__ = ["harness", "home"]


@pytest.fixture
async def harness(home: Path) -> AsyncIterator[VaultHarness]:
    async with open_harness(home) as opened:
        yield opened
