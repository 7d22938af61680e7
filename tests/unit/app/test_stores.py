"""The store and the index that the settings choose, and invalid choices."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.fakes import FakeEmbedder

from scrubjay.app.indexes import make_index
from scrubjay.app.stores import open_store
from scrubjay.errors import InvalidInput, StoreError
from scrubjay.indexing.local_index import LocalIndex
from scrubjay.indexing.shared_index import SharedIndex
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore

URL = "postgresql://jay:secret@127.0.0.1:1/memory"


def settings(tmp_path: Path, **more: str) -> Settings:
    return Settings.load(environment={}, home=str(tmp_path), **more)


def test_an_embedded_store_has_an_embedded_index(tmp_path: Path, store: SqliteStore) -> None:
    for kind in ("auto", "scan"):
        index = make_index(settings(tmp_path, vector_index=kind), store, FakeEmbedder())
        assert isinstance(index, LocalIndex)


async def test_a_qdrant_address_means_qdrant_whatever_the_store(tmp_path: Path, store: SqliteStore) -> None:
    index = make_index(settings(tmp_path, qdrant_url=":memory:"), store, FakeEmbedder())
    assert isinstance(index, SharedIndex)
    await index.open()
    assert (await index.describe())["kind"] == "qdrant"
    await index.close()


@pytest.mark.parametrize("kind", ["hnsw", "ivfflat", "annoy"])
def test_an_index_that_a_store_cannot_have_is_refused(tmp_path: Path, kind: str, store: SqliteStore) -> None:
    with pytest.raises(InvalidInput, match=kind) as caught:
        make_index(settings(tmp_path, vector_index=kind), store, FakeEmbedder())
    assert caught.value.fields["setting"] == "SCRUBJAY_VECTOR_INDEX"


@pytest.mark.parametrize("url", ["localhost:6333", "ftp://localhost", "http://"])
def test_an_invalid_address_of_qdrant_is_refused(tmp_path: Path, url: str, store: SqliteStore) -> None:
    with pytest.raises(InvalidInput) as caught:
        make_index(settings(tmp_path, qdrant_url=url), store, FakeEmbedder())
    assert caught.value.fields["setting"] == "SCRUBJAY_QDRANT_URL"


async def test_encrypted_memories_are_stored_nowhere_in_clear(tmp_path: Path, store: SqliteStore) -> None:
    with pytest.raises(InvalidInput, match="encrypted"):
        make_index(settings(tmp_path, key="k", qdrant_url=":memory:"), store, FakeEmbedder())
    with pytest.raises(InvalidInput, match="not encrypted"):
        await open_store(settings(tmp_path, key="k", database_url=URL))


@pytest.mark.parametrize("url", ["mysql://localhost/x", "localhost", "postgresql://jay:secret@host:port/x"])
async def test_an_invalid_address_of_a_database_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await open_store(settings(tmp_path, database_url=url))
    assert caught.value.fields["setting"] == "SCRUBJAY_DATABASE_URL"
    assert "secret" not in str(caught.value)


async def test_the_error_of_an_unreachable_database_hides_its_password(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:1") as caught:
        await open_store(settings(tmp_path, database_url=URL))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("missing", "chosen", "extra"),
    [
        ("psycopg", {"database_url": URL}, "postgres"),
        ("psycopg_pool", {"database_url": URL}, "postgres"),
        ("qdrant_client", {"qdrant_url": "http://127.0.0.1:1"}, "qdrant"),
    ],
)
def test_the_error_of_a_missing_extra_says_how_to_install_it(
    tmp_path: Path, missing: str, chosen: dict[str, str], extra: str
) -> None:
    code = f"""
import asyncio, sys
sys.modules[{missing!r}] = None
from scrubjay.app import open_engine
from scrubjay.errors import InvalidInput
from scrubjay.settings import Settings
async def main():
    async with open_engine(Settings.load(environment={{}}, home={str(tmp_path)!r}, **{chosen!r})):
        pass
try:
    asyncio.run(main())
except InvalidInput as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=60)
    assert f"pip install 'scrubjay[{extra}]'" in done.stdout
