"""What the server that leads does when the log has gaps, and when the collection is not its own."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import cast

import pytest
from tests.fakes import FakeStore
from tests.fakes.build import DIMENSION, MODEL, a_commit, a_memory, vectors_for
from tests.qdrant import Ground, a_ground

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.shared_protocol import RemoteIndex
from scrubjay.indexing.shared_upkeep import SharedPolicy, Upkeep
from scrubjay.ports import Profile
from scrubjay.ports.cluster import Leadership, Lease


class Gapped(FakeStore):
    """A store of several servers in which a number was taken that nothing came of."""

    async def settled_seq(self) -> int:
        return await self.last_seq() + 1

    def listening(
        self, hear: Callable[[], None], *, purged: Callable[[], None] = lambda: None
    ) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def lease(self, caller: str, *, wanted: int, limit: int) -> Lease:
        return Lease(granted=wanted, seconds=60.0)

    @asynccontextmanager
    async def leader(self, name: str) -> AsyncGenerator[Leadership]:
        raise AssertionError("nobody asks for it here")
        yield


@pytest.fixture
async def ground() -> AsyncGenerator[Ground]:
    async with a_ground("local") as results:
        yield results


def upkeep(store: FakeStore, ground: Ground, *, store_id: str = "s") -> Upkeep:
    index = cast("RemoteIndex", ground.index(store_id=store_id))
    return Upkeep(store, index, Profile(model=MODEL, dimension=DIMENSION), policy=SharedPolicy())


async def test_an_index_is_built_once_whatever_numbers_were_taken(ground: Ground) -> None:
    store = Gapped()
    memory = a_memory("acorn")
    await store.commit(a_commit(memory, embedded=vectors_for([memory])))
    await upkeep(store, ground).round()
    current = await ground.index().look()
    assert current.cursor == await store.last_seq()
    again = upkeep(store, ground)
    await again.round()
    assert not again._has_built


async def test_two_stores_do_not_take_a_collection_from_each_other_for_ever(ground: Ground) -> None:
    item, other = upkeep(FakeStore(), ground, store_id="one"), upkeep(FakeStore(), ground, store_id="other")
    await item.round()
    await other.round()
    with pytest.raises(IndexUnavailable, match="another store") as caught:
        await item.round()
    assert "SCRUBJAY_QDRANT_COLLECTION" in caught.value.hint
    await other.round()
