"""The stages of one write ask the index and the store once for what each of them wants to know."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from tests.fakes import FakeEmbedder, FakeStore
from tests.fakes.build import DIMENSION, MODEL, START, a_commit, a_memory
from tests.unit.write_world import SPACE, Workshop

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.backfill import embed_some
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory
from scrubjay.model.passage import StoredPassage, Vector
from scrubjay.model.query import Filter
from scrubjay.model.rules import Rules
from scrubjay.vectors.scan import ScanIndex
from scrubjay.writing.read_cache import ReadCache

ROME, PARIS = "Ada lives in Rome near the old river bridge.", "Ada lives in Paris near the old river bridge."


class Counted(FakeStore):
    """A store that counts how often each memory and passage is read."""

    def __init__(self) -> None:
        super().__init__()
        self.memories: Counter[str] = Counter()
        self.passages: Counter[int] = Counter()

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        self.memories.update(ids)
        return await super().get(space, ids)

    async def stored_passages(self, space: str, ids: Sequence[int], *, around: int = 0) -> list[StoredPassage]:
        self.passages.update(ids)
        return await super().stored_passages(space, ids, around=around)


class Asked:
    """An index that notes what it is asked for."""

    def __init__(self, store: FakeStore, *, error: Exception | None = None) -> None:
        self._inner = ScanIndex(store, MODEL, dimension=DIMENSION)
        self._error = error
        self.filters: list[Filter] = []

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        self.filters.append(filter)
        await asyncio.sleep(0)
        if self._error is not None:
            raise self._error
        return await self._inner.search(space, vector, filter, limit=limit)


def shop_of(store: FakeStore, index: Asked) -> Workshop:
    return Workshop(store=store, index=index, rules=Rules(gate="merge", conflicts="detect", tags="off", density="off"))


async def test_gate_and_detection_search_and_read_once() -> None:
    store = Counted()
    index = Asked(store)
    shop = shop_of(store, index)
    first = await shop.remember(ROME)
    index.filters.clear()
    store.memories.clear()
    store.passages.clear()
    done = await shop.remember(PARIS)
    assert (done.action, [conflict.other.id for conflict in done.conflicts]) == ("created", [first.id])
    assert index.filters == [Filter()]
    assert store.memories[first.id] == 1
    assert set(store.passages.values()) == {1}


async def test_what_is_too_old_for_the_gate_is_none_of_its_business_though_it_is_found() -> None:
    store = Counted()
    shop = shop_of(store, Asked(store))
    first = await shop.remember(ROME)
    for days, near in ((3, {first.id}), (5, set[str]())):
        shop.clock.advance(timedelta(days=days))
        done = await shop.remember(Draft(text=f"{ROME} It is so.", dry_run=True))
        assert {done.merged_into, *(one.id for one in done.similar)} - {"", None} == near


async def test_among_many_that_are_as_near_those_of_the_window_are_asked_for() -> None:
    store = Counted()
    index = Asked(store)
    shop = shop_of(store, index)
    old = [a_memory(f"{ROME} {'!' * number}", created_at=START, updated_at=START) for number in range(1, 12)]
    await shop.store.commit(a_commit(*old))
    await _embed(shop, old)
    shop.clock.advance(timedelta(days=30))
    recent = await shop.remember(Draft(text=f"{ROME} ?", intent="new"))
    index.filters.clear()
    done = await shop.remember(Draft(text=f"{ROME} ...", dry_run=True))
    assert [filter_.since is not None for filter_ in index.filters].count(True) == 1
    assert recent.id in (done.merged_into, *(one.id for one in done.similar))
    assert not {one.id for one in old} & {done.merged_into, *(one.id for one in done.similar)}


async def test_an_index_that_cannot_be_asked_is_told_by_each_in_its_own_way() -> None:
    store = Counted()
    index = Asked(store, error=IndexUnavailable("it is in pieces"))
    shop = shop_of(store, index)
    first = await shop.remember(ROME)
    done = await shop.remember(PARIS)
    # Words decide.
    assert [conflict.other.id for conflict in done.conflicts] == [first.id]
    assert any("could not be looked for" in one.why for one in done.trace)


async def test_what_does_not_exist_is_asked_for_once_and_what_is_narrower_each_time() -> None:
    store = Counted()
    index = Asked(store)
    read_cache = ReadCache(store=store, index=index)
    for _ in range(2):
        assert await read_cache.get(SPACE, ["gone"]) == {}
        assert await read_cache.stored_passages(SPACE, [7, 7]) == []
        vector = (await FakeEmbedder().embed([ROME]))[0]
        assert await read_cache.search(SPACE, vector, Filter(kind="note"), limit=3) == []
        assert await read_cache.search(SPACE, vector, Filter(), limit=3) == []
    assert (store.memories["gone"], store.passages[7]) == (1, 2)
    assert len(index.filters) == 3
    assert await read_cache.stored_passages(SPACE, [7], around=1) == []
    assert store.passages[7] == 3


async def _embed(shop: Workshop, memories: Sequence[Memory]) -> None:
    await embed_some(
        SPACE, [memory.id for memory in memories], store=shop.store, embedder=shop.embedder, clock=shop.clock
    )
