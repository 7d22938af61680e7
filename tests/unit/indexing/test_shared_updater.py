"""The leading server updates the index if the log has gaps, and if the collection belongs to another store."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import cast

import pytest
from tests.fakes.build import DIMENSION, MODEL, a_commit, a_memory, vectors_for
from tests.new_files import NewStores
from tests.qdrant import QdrantBackend, qdrant_backend

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.protocol import RemoteIndex
from scrubjay.indexing.shared_updater import SharedIndexPolicy, SharedIndexUpdater
from scrubjay.ports import Profile
from scrubjay.ports.cluster import Leadership, Lease
from scrubjay.storage.sqlite import SqliteStore


class StoreWithGap(SqliteStore):
    """A store of several servers with a number in the log that is reserved and never used."""

    async def settled_seq(self) -> int:
        return await self.last_seq() + 1

    def listening(
        self, hear: Callable[[], None], *, purged: Callable[[], None] = lambda: None
    ) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def lease(self, caller: str, *, count: int, limit: int) -> Lease:
        return Lease(granted=count, seconds=60.0)

    @asynccontextmanager
    async def leader(self, name: str) -> AsyncGenerator[Leadership]:
        raise AssertionError("not used in this test")
        yield


@pytest.fixture
async def qdrant() -> AsyncGenerator[QdrantBackend]:
    async with qdrant_backend("local") as backend:
        yield backend


def make_updater(store: SqliteStore, qdrant: QdrantBackend, *, store_id: str = "s") -> SharedIndexUpdater:
    index = cast("RemoteIndex", qdrant.index(store_id=store_id))
    return SharedIndexUpdater(store, index, Profile(model=MODEL, dimension=DIMENSION), policy=SharedIndexPolicy())


async def test_an_index_is_built_once_even_if_numbers_are_unused(qdrant: QdrantBackend, new_store: NewStores) -> None:
    store = new_store(StoreWithGap)
    memory = a_memory("acorn")
    await store.commit(a_commit(memory, embedded=vectors_for([memory])))
    await make_updater(store, qdrant).update()
    current = await qdrant.index().read_state()
    assert current.cursor == await store.last_seq()
    again = make_updater(store, qdrant)
    await again.update()
    assert not again._has_built


async def test_two_stores_do_not_replace_each_others_index_for_ever(
    qdrant: QdrantBackend, new_store: NewStores
) -> None:
    first, second = (
        make_updater(new_store(), qdrant, store_id="one"),
        make_updater(new_store(), qdrant, store_id="other"),
    )
    await first.update()
    await second.update()
    with pytest.raises(IndexUnavailable, match="another store") as caught:
        await first.update()
    assert "SCRUBJAY_QDRANT_COLLECTION" in caught.value.hint
    await second.update()
