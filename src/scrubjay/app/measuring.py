"""An engine to measure with: embedder and ranking of the settings, over an empty store that is gone afterwards."""

import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from scrubjay.app import open_engine
from scrubjay.app.profiles import profiles_file
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput
from scrubjay.settings import Settings


@asynccontextmanager
async def open_workbench(settings: Settings) -> AsyncGenerator[Engine]:
    """The engine, opened, and closed and removed at the end; the user's own memories are not touched."""
    if settings.embedder == "none":
        raise InvalidInput(
            "without an embedder there is nothing to calibrate",
            hint="Set SCRUBJAY_EMBEDDER",
            setting="SCRUBJAY_EMBEDDER",
        )
    with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
        own = replace(
            settings, home=folder, index_path="", vector_index="scan", database_url="", qdrant_url="", reranker="none",
            key="", key_file="", keyring="",
        )  # fmt: skip
        if profiles_file(settings.data).exists():
            shutil.copyfile(profiles_file(settings.data), profiles_file(own.data))
        async with open_engine(own) as engine:
            yield engine
