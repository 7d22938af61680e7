"""The tests of the clients again, over the socket of a daemon: same verbs, results and errors."""

from collections.abc import Iterator

import pytest
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.test_clients import *  # noqa: F403 - every test of that module, run in this one

from scrubjay.settings import Settings

# That test breaks the folder before it is opened; here the daemon has opened it already.
del test_a_sync_client_that_cannot_be_opened_leaves_no_thread  # noqa: F821
# That one has no daemon.
del test_without_the_engine_the_error_says_what_to_install  # noqa: F821


@pytest.fixture(autouse=True)
def _daemon(settings: Settings) -> Iterator[None]:
    with background_daemon(settings, http=""):
        yield
