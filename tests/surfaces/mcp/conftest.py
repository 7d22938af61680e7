"""A stand-in daemon of one's own, for bridges to find."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.mcp.stand_in import StandInDaemon


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def stand_in(data: Path) -> Iterator[StandInDaemon]:
    with StandInDaemon(data) as running:
        yield running
