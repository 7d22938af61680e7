"""The stages of one write search the index and read the store once for the same data."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property

from tests.fakes import FakeEmbedder
from tests.fakes.build import DIMENSION, MODEL, START, a_commit, a_memory
from tests.new_files import NewStores
from tests.unit.harness import SPACE, Harness

from scrubjay.detection.neighbours import ReadCache
from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.backfill import embed_memories
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory
from scrubjay.model.passage import StoredPassage, Vector
from scrubjay.model.query import Filter
from scrubjay.model.rules import Rules
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.scan import ScanIndex

ROME, PARIS = "Ada lives in Rome near the old river bridge.", "Ada lives in Paris near the old river bridge."


class CountingStore(SqliteStore):
    """A store that counts how often each memory and passage is read."""

    @cached_property
    def memories(self) -> Counter[str]:
        return Counter()

    @cached_property
    def passages(self) -> Counter[int]:
        return Counter()

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        self.memories.update(ids)
        return await super().get(space, ids)

    async def stored_passages(self, space: str, ids: Sequence[int], *, around: int = 0) -> list[StoredPassage]:
        self.passages.update(ids)
        return await super().stored_passages(space, ids, around=around)


class RecordingIndex:
    """An index that records the filters it is searched with."""

    def __init__(self, store: SqliteStore, *, error: Exception | None = None) -> None:
        self._inner = ScanIndex(store, MODEL, dimension=DIMENSION)
        self._error = error
        self.filters: list[Filter] = []

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        self.filters.append(filter)
        await asyncio.sleep(0)
        if self._error is not None:
            raise self._error
        return await self._inner.search(space, vector, filter, limit=limit)


def world_of(store: SqliteStore, index: RecordingIndex) -> Harness:
    return Harness(store=store, index=index, rules=Rules(gate="merge", conflicts="detect", tags="off", density="off"))


async def test_gate_and_detection_search_and_read_once(new_store: NewStores) -> None:
    store = new_store(CountingStore)
    index = RecordingIndex(store)
    harness = world_of(store, index)
    first = await harness.remember(ROME)
    index.filters.clear()
    store.memories.clear()
    store.passages.clear()
    done = await harness.remember(PARIS)
    assert (done.action, [conflict.other.id for conflict in done.conflicts]) == ("created", [first.id])
    assert index.filters == [Filter()]
    assert store.memories[first.id] == 1
    assert set(store.passages.values()) == {1}


async def test_the_gate_ignores_a_memory_that_is_found_but_too_old(new_store: NewStores) -> None:
    store = new_store(CountingStore)
    harness = world_of(store, RecordingIndex(store))
    first = await harness.remember(ROME)
    for days, near in ((3, {first.id}), (5, set[str]())):
        harness.clock.advance(timedelta(days=days))
        done = await harness.remember(Draft(text=f"{ROME} It is so.", dry_run=True))
        assert {done.merged_into, *(similar.id for similar in done.similar)} - {"", None} == near


async def test_among_many_near_memories_those_of_the_window_are_searched_for(new_store: NewStores) -> None:
    store = new_store(CountingStore)
    index = RecordingIndex(store)
    harness = world_of(store, index)
    old = [a_memory(f"{ROME} {'!' * number}", created_at=START, updated_at=START) for number in range(1, 12)]
    await harness.store.commit(a_commit(*old))
    await _embed(harness, old)
    harness.clock.advance(timedelta(days=30))
    recent = await harness.remember(Draft(text=f"{ROME} ?", intent="new"))
    index.filters.clear()
    done = await harness.remember(Draft(text=f"{ROME} ...", dry_run=True))
    assert [filter_.since is not None for filter_ in index.filters].count(True) == 1
    assert recent.id in (done.merged_into, *(similar.id for similar in done.similar))
    assert not {memory.id for memory in old} & {done.merged_into, *(similar.id for similar in done.similar)}


async def test_where_all_near_memories_are_recent_there_is_one_search(new_store: NewStores) -> None:
    store = new_store(CountingStore)
    index = RecordingIndex(store)
    harness = world_of(store, index)
    stored = [await harness.remember(Draft(text=f"{ROME} {'!' * number}", intent="new")) for number in range(1, 12)]
    index.filters.clear()
    done = await harness.remember(Draft(text=f"{ROME} ...", dry_run=True))
    assert index.filters == [Filter()]
    assert {done.merged_into, *(similar.id for similar in done.similar)} & {each.id for each in stored}


async def test_gate_and_detection_each_handle_a_broken_index(new_store: NewStores) -> None:
    store = new_store(CountingStore)
    index = RecordingIndex(store, error=IndexUnavailable("it is in pieces"))
    harness = world_of(store, index)
    first = await harness.remember(ROME)
    done = await harness.remember(PARIS)
    # Words decide.
    assert [conflict.other.id for conflict in done.conflicts] == [first.id]
    assert any("could not be searched for" in decision.why for decision in done.trace)


async def test_a_missing_record_is_read_once_and_a_filtered_search_is_made_each_time(new_store: NewStores) -> None:
    store = new_store(CountingStore)
    index = RecordingIndex(store)
    cache = ReadCache(store=store, index=index)
    for _ in range(2):
        assert await cache.get(SPACE, ["gone"]) == {}
        assert await cache.stored_passages(SPACE, [7, 7]) == []
        vector = (await FakeEmbedder().embed([ROME]))[0]
        assert await cache.search(SPACE, vector, Filter(kind="note"), limit=3) == []
        assert await cache.search(SPACE, vector, Filter(), limit=3) == []
    assert (store.memories["gone"], store.passages[7]) == (1, 2)
    assert len(index.filters) == 3


async def _embed(harness: Harness, memories: Sequence[Memory]) -> None:
    await embed_memories(
        SPACE, [memory.id for memory in memories], store=harness.store, embedder=harness.embedder, clock=harness.clock
    )
