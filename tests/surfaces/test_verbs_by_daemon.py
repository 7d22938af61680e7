"""The tests of the commands again, with a daemon that serves the folder: the results are the same."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.test_verbs import *  # noqa: F403 - every test of that module, run in this one

from scrubjay.settings import Settings


@pytest.fixture(autouse=True)
def _daemon(home: Path, settings: Settings) -> Iterator[None]:
    with background_daemon(settings, http="") as running:
        yield
        assert running.socket.exists()
