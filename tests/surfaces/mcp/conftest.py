"""A fake daemon for bridges to connect to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.mcp.fake_daemon import FakeDaemon


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def fake_daemon(data: Path) -> Iterator[FakeDaemon]:
    with FakeDaemon(data) as running:
        yield running
