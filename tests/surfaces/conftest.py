"""A folder of one's own, and none of the settings of whoever runs the tests."""

import os
from pathlib import Path

import pytest

from scrubjay.settings import Settings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder, which the environment points to; without a model, which would take a second to load."""
    for name in [name for name in os.environ if name.startswith(("SCRUBJAY_", "MEMORY_DIR"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "none")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path / "data"


@pytest.fixture
def settings(home: Path) -> Settings:
    return Settings(home=str(home), embedder="none", vector_index="scan", readers=1)
