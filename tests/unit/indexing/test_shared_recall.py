"""Recall without the shared index: by words, with a note; and two servers on one database."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.fakes import FakeEmbedder
from tests.fakes.build import vector_of
from tests.patience import PATIENCE
from tests.postgres import a_database, address_of
from tests.qdrant import QdrantBackend, qdrant_backend
from tests.unit.harness import Harness
from tests.unit.indexing.harness import IndexHarness

from scrubjay.indexing.shared_index import SharedIndex, SharedIndexParts
from scrubjay.indexing.shared_leader import FileLeadership
from scrubjay.indexing.shared_updater import SharedIndexPolicy
from scrubjay.model.query import Filter
from scrubjay.ports import Profile
from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.qdrant import QdrantIndex

# Only commits start an update.
QUIET = SharedIndexPolicy(poll=600)


@pytest.fixture
async def qdrant() -> AsyncIterator[QdrantBackend]:
    async with qdrant_backend("local") as qdrant:
        yield qdrant


async def test_recall_searches_by_words_and_says_why(qdrant: QdrantBackend, tmp_path: Path, store: SqliteStore) -> None:
    embedder = FakeEmbedder()

    def index_of(profile: Profile) -> QdrantIndex:
        return qdrant.index(store_id=store.store_id, model=profile.model, dimension=profile.dimension)

    parts = SharedIndexParts(
        profile=embedder.profile, index=index_of, candidacy=lambda _: FileLeadership(tmp_path / "lead")
    )
    index = SharedIndex(store, parts)
    harness = Harness(store=store, embedder=embedder, index=index)
    qdrant.disconnect()
    memory = await harness.store_draft("Jays hide acorns")
    await index.after_commit()
    results = await harness.recall("where are the acorns")
    assert [hit.id for hit in results.hits] == [memory.id]
    assert results.degraded == ("searched by words only: Qdrant cannot be reached",)
    again = await harness.recall("where are the acorns")
    assert again.degraded == results.degraded, "a result without the index is not cached"
    await index.close()


async def test_two_servers_on_one_database(qdrant: QdrantBackend) -> None:
    async with a_database() as name:
        stores = [await PostgresStore.open(address_of(name)) for _ in range(2)]
        indexes = [_index(store, qdrant) for store in stores]
        for index in indexes:
            await index.open()
        await IndexHarness(folder=Path(), store=stores[0]).remember("one")
        await indexes[0].after_commit()
        async with asyncio.timeout(PATIENCE):
            while [(await index.describe())["points"] for index in indexes] != [1, 1]:  # noqa: ASYNC110 - an election
                await asyncio.sleep(0.01)
        assert sorted([bool((await index.describe())["leads"]) for index in indexes]) == [False, True]
        # The leader is notified of the commits of both.
        for count, store in enumerate(stores, start=2):
            await IndexHarness(folder=Path(), store=store).remember(f"number {count}")
            for index in indexes:
                assert len(await index.search("default", vector_of(b"q"), Filter(), limit=9)) == count
            async with asyncio.timeout(PATIENCE):
                while (await indexes[0].describe())["points"] != count:  # noqa: ASYNC110 - another server works
                    await asyncio.sleep(0.01)
        for resource in (*indexes, *stores):
            await resource.close()


def _index(store: PostgresStore, qdrant: QdrantBackend) -> SharedIndex:
    def index_of(profile: Profile) -> QdrantIndex:
        return qdrant.index(store_id=store.store_id, model=profile.model, dimension=profile.dimension)

    parts = SharedIndexParts(
        profile=FakeEmbedder().profile, index=index_of, candidacy=store.leader, listen=store.listening
    )
    return SharedIndex(store, parts, policy=QUIET)
