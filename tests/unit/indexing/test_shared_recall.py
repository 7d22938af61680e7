"""Recall without the shared index: by words, and it says so; and two servers on one database."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.fakes import FakeEmbedder, FakeStore
from tests.fakes.build import vector_of
from tests.postgres import a_database, address_of
from tests.qdrant import Ground, a_ground
from tests.unit.harness import Harness
from tests.unit.indexing.world import World

from scrubjay.indexing.file_leadership import FileLeadership
from scrubjay.indexing.shared import SharedIndex, SharedIndexParts
from scrubjay.indexing.shared_upkeep import SharedPolicy
from scrubjay.model.query import Filter
from scrubjay.ports import Profile
from scrubjay.storage.postgres import PostgresStore
from scrubjay.vectors.qdrant import QdrantIndex

# Rounds come from commits alone.
QUIET = SharedPolicy(poll=600)


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    async with a_ground("local") as ground:
        yield ground


async def test_recall_finds_by_words_and_says_why(ground: Ground, tmp_path: Path) -> None:
    store, embedder = FakeStore(), FakeEmbedder()

    def index_of(profile: Profile) -> QdrantIndex:
        return ground.index(store_id=store.store_id, model=profile.model, dimension=profile.dimension)

    means = SharedIndexParts(
        profile=embedder.profile, index=index_of, leader=lambda _: FileLeadership(tmp_path / "lead")
    )
    index = SharedIndex(store, means)
    job_runner = Harness(store=store, embedder=embedder, index=index)
    ground.cut()
    memory = await job_runner.store_draft("Jays hide acorns")
    await index.after_commit()
    results = await job_runner.recall("where are the acorns")
    assert [hit.id for hit in results.hits] == [memory.id]
    assert results.degraded == ("searched by words only: Qdrant cannot be reached",)
    again = await job_runner.recall("where are the acorns")
    assert again.degraded == results.degraded, "what was found without the index is not kept as the answer"
    await index.close()


async def test_two_servers_on_one_database(ground: Ground) -> None:
    async with a_database() as name:
        stores = [await PostgresStore.open(address_of(name)) for _ in range(2)]
        indexes = [_index(store, ground) for store in stores]
        for index in indexes:
            await index.open()
        await World(folder=Path(), store=stores[0]).remember("one")
        await indexes[0].after_commit()
        async with asyncio.timeout(20):
            while [(await index.describe())["points"] for index in indexes] != [1, 1]:  # noqa: ASYNC110 - an election
                await asyncio.sleep(0.01)
        assert sorted([bool((await index.describe())["leads"]) for index in indexes]) == [False, True]
        # Whoever leads, the other's commits are heard of.
        for seen, store in enumerate(stores, start=2):
            await World(folder=Path(), store=store).remember(f"number {seen}")
            for index in indexes:
                assert len(await index.search("default", vector_of(b"q"), Filter(), limit=9)) == seen
            async with asyncio.timeout(20):
                while (await indexes[0].describe())["points"] != seen:  # noqa: ASYNC110 - another server's doing
                    await asyncio.sleep(0.01)
        for item in (*indexes, *stores):
            await item.close()


def _index(store: PostgresStore, ground: Ground) -> SharedIndex:
    def index_of(profile: Profile) -> QdrantIndex:
        return ground.index(store_id=store.store_id, model=profile.model, dimension=profile.dimension)

    means = SharedIndexParts(
        profile=FakeEmbedder().profile, index=index_of, leader=store.leader, listening=store.listening
    )
    return SharedIndex(store, means, policy=QUIET)
