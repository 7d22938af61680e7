"""One daemon for all tests of a process, with a new space for each test."""

from collections.abc import AsyncGenerator, Iterator
from urllib.request import urlopen
from uuid import uuid4

import pytest
from tests.surfaces.backend import database_of
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.rest.checked_client import CheckedClient

from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.serve import RunningDaemon


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDaemon]:
    home = tmp_path_factory.mktemp("served") / "data"
    settings = Settings(
        home=str(home),
        embedder="none",
        vector_index="scan",
        readers=1,
        max_body_bytes=100_000,
        operation_seconds=10,
        database_url=database_of(home),
    )
    with background_daemon(settings) as running:
        # Wait until the application has loaded in its thread.
        with urlopen(f"{running.http}/healthz", timeout=60) as response:
            assert response.status == 200
        yield running


@pytest.fixture
async def client(served: RunningDaemon) -> AsyncGenerator[CheckedClient]:
    """A client without a token, in a new space."""
    async with CheckedClient(served.http, space=f"space-{uuid4().hex[:12]}") as client:
        yield client
