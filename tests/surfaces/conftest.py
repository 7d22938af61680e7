"""A data folder for each test, without the settings of the user who runs the tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.backend import IS_EMBEDDED, database_of, drop_database_of

from scrubjay.paths import database_file
from scrubjay.settings import Settings

_HERE = Path(__file__).parent


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The data folder in the environment, without an embedding model, which takes a second to load."""
    for name in [name for name in os.environ if name.startswith(("SCRUBJAY_", "MEMORY_DIR"))]:
        monkeypatch.delenv(name)
    folder = tmp_path / "data"
    # Reading makes no memory; in an empty file one begins.
    folder.mkdir(mode=0o700)
    if IS_EMBEDDED:
        database_file(folder).touch(mode=0o600)
    monkeypatch.setenv("SCRUBJAY_HOME", str(folder))
    monkeypatch.setenv("SCRUBJAY_DATABASE_URL", database_of(folder))
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "none")
    monkeypatch.setenv("NO_COLOR", "1")
    yield folder
    drop_database_of(folder)


@pytest.fixture
def settings(home: Path) -> Settings:
    return Settings(home=str(home), embedder="none", vector_index="scan", readers=1, database_url=database_of(home))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With PostgreSQL, deselect tests of the embedded file and tests that use no store."""
    if not IS_EMBEDDED:
        items[:] = [item for item in items if item.get_closest_marker("embedded") is None and _uses_store(item)]


def _uses_store(item: pytest.Item) -> bool:
    """Whether a test has a data folder, its own or that of a daemon; without one it has no store."""
    fixtures = getattr(item, "fixturenames", ())
    return _HERE not in item.path.parents or "tmp_path" in fixtures or "tmp_path_factory" in fixtures
