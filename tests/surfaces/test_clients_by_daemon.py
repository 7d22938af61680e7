"""The clients once more, over the socket of a daemon: same verbs, same answers, same errors."""

from collections.abc import Iterator

import pytest
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.test_clients import *  # noqa: F403 - every test of that module, run in this one

from scrubjay.settings import Settings

# It breaks the folder before anybody opens it, which here the daemon has done.
del test_a_twin_that_cannot_be_opened_leaves_no_thread  # noqa: F821


@pytest.fixture(autouse=True)
def _daemon(settings: Settings) -> Iterator[None]:
    with background_daemon(settings, http=""):
        yield
