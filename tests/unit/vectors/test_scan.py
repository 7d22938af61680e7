"""The exact scan reads a store by itself, and sees whatever anybody commits."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.fakes import FakeStore
from tests.fakes.build import (
    DIMENSION,
    MODEL,
    a_commit,
    a_memory,
    a_point,
    a_rewrite,
    an_edge,
    an_origin,
    revised,
    vector_of,
    vectors_for,
)
from tests.fakes.index import point_passes

from scrubjay.errors import InvalidInput
from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter, facet
from scrubjay.vectors.rows import Rows
from scrubjay.vectors.scan import ScanIndex

EVERYTHING = Filter()

QUERY = vector_of(b"a question")
LIVE = facet("state", State.LIVE)


def a_scan(store: FakeStore) -> ScanIndex:
    return ScanIndex(store, MODEL, dimension=DIMENSION)


async def remembered(store: FakeStore, *memories: Memory) -> None:
    await store.commit(a_commit(*memories, embedded=vectors_for(memories)))


async def require_true(
    scan: ScanIndex, store: FakeStore, *, filter: Filter = EVERYTHING, space: str = "default"
) -> int:
    """The scan finds what a comparison with every stored point finds."""
    points = [
        point
        for point in await store.points(MODEL, after=-1, limit=10**6)
        if point.space == space and point_passes(point, filter)
    ]
    true = {point.id: float(QUERY @ point.vector) for point in points}
    results = dict(await scan.search(space, QUERY, filter, limit=10**6))
    assert results == pytest.approx(true, abs=1e-3)
    return len(results)


class TestFollowing:
    async def test_what_is_stored_is_read_at_the_first_search(self) -> None:
        store = FakeStore()
        await remembered(store, a_memory("one"), a_memory("three", kind="fact"))
        await remembered(store, a_memory("two", space="there"))
        scan = a_scan(store)
        assert (scan.cursor, scan.points) == (0, 0)
        assert await require_true(scan, store) == 2
        assert (scan.cursor, scan.points) == (await store.last_seq(), 3)
        assert await require_true(scan, store, filter=Filter(kind="fact")) == 1
        assert await require_true(scan, store, space="there") == 1
        assert await require_true(scan, store, space="nowhere") == 0

    async def test_every_later_change_is_seen(self) -> None:
        store = FakeStore()
        memory, other = a_memory("word " * 900, kind="fact"), a_memory("other")
        await remembered(store, memory, other)
        scan = a_scan(store)
        before = await require_true(scan, store)
        memory = revised(memory, content="short", kind="rumour")
        await store.commit(a_commit(a_rewrite(memory), embedded=vectors_for([memory])))
        assert await require_true(scan, store) < before
        assert await require_true(scan, store, filter=Filter(kind="rumour")) == 1
        memory = revised(memory, state=State.TRASHED)
        await store.commit(a_commit(a_rewrite(memory, action=Action.TRASHED)))
        assert await require_true(scan, store) == 1
        assert await require_true(scan, store, filter=Filter(state=State.TRASHED)) == 1
        await store.commit(a_commit(an_edge(memory, other), space="default"))
        await store.purge("default", [memory.id], origin=an_origin())
        assert await require_true(scan, store, filter=Filter(state=State.TRASHED)) == 0
        assert scan.points == 1

    async def test_vectors_that_come_later_are_seen(self) -> None:
        store = FakeStore()
        memory = a_memory("one")
        await store.commit(a_commit(memory))
        scan = a_scan(store)
        assert await require_true(scan, store) == 0
        await store.store_vectors("default", vectors_for([memory]), memory_ids=[memory.id], origin=an_origin())
        assert await require_true(scan, store) == 1

    async def test_more_changes_than_a_page(self) -> None:
        store = FakeStore()
        memory = a_memory("one")
        await remembered(store, memory, *(a_memory(f"{number}") for number in range(600)))
        scan = a_scan(store)
        await require_true(scan, store)
        for _ in range(1200):
            memory = revised(memory)
            await store.commit(a_commit(a_rewrite(memory)))
        assert await require_true(scan, store) == 601

    async def test_a_store_that_was_replaced_is_read_anew(self) -> None:
        old = FakeStore()
        await remembered(old, *(a_memory(f"{number}") for number in range(9)))
        vector_store = Switch(old)
        scan = ScanIndex(vector_store, MODEL, dimension=DIMENSION)
        await require_true(scan, old)
        new = FakeStore()
        await remembered(new, a_memory("another"))
        vector_store.to(new)
        assert await require_true(scan, new) == 1

    async def test_after_closing_all_is_read_again(self) -> None:
        store = FakeStore()
        await remembered(store, a_memory("one"))
        scan = a_scan(store)
        await require_true(scan, store)
        await scan.close()
        assert scan.points == 0
        assert await require_true(scan, store) == 1


class TestSearching:
    async def test_no_limit_no_hits(self) -> None:
        store = FakeStore()
        await remembered(store, a_memory("one"))
        assert await a_scan(store).search("default", QUERY, Filter(), limit=0) == []

    async def test_a_bad_question_is_refused(self) -> None:
        with pytest.raises(InvalidInput):
            await a_scan(FakeStore()).search("default", QUERY[:5], Filter(), limit=3)

    async def test_one_bad_vector_hides_only_itself(self) -> None:
        nothing = np.full(DIMENSION, np.nan, dtype=np.float32)
        points = [a_point(1, a_memory()), a_point(2, a_memory(), vector=nothing), a_point(3, a_memory())]
        scan = ScanIndex(Points(points), MODEL, dimension=DIMENSION)
        assert {number for number, _ in await scan.search("default", QUERY, Filter(), limit=9)} == {1, 3}

    @pytest.mark.parametrize("share", [1, 3, 40])
    async def test_many_rows_are_scanned_as_few_are(self, share: int) -> None:
        drawn = np.random.default_rng(1).standard_normal((30_000, 8)).astype(np.float32)
        matrix = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        item = a_point(0, a_memory())
        points = [
            replace(item, id=number, space="default" if number % share == 0 else "other", vector=vector)
            for number, vector in enumerate(matrix)
        ]
        scan = ScanIndex(Points(points), MODEL, dimension=8)
        results = await scan.search("default", matrix[120], Filter(), limit=10)
        cosines = matrix @ matrix[120]
        best = [int(place) for place in np.argsort(-cosines) if place % share == 0][:10]
        assert [number for number, _ in results] == best
        assert [cosine for _, cosine in results] == pytest.approx([float(cosines[place]) for place in best], abs=1e-5)


class TestRows:
    def test_any_sequence_of_changes_leaves_what_a_dict_would(self) -> None:
        dice = random.Random(7)
        rows, model = Rows(dimension=4), dict[int, tuple[str, Vector]]()
        for _ in range(400):
            batch = [_random_point(dice) for _ in range(dice.randrange(8))]
            gone = [dice.randrange(900) for _ in range(dice.randrange(8))]
            rows.drop(gone)
            rows.put(batch)
            for number in gone:
                model.pop(number, None)
            model.update({point.id: (point.space, point.vector) for point in batch})
        assert len(rows) == len(model)
        for space in ("a", "b", "c"):
            held = {number: vector for number, (home, vector) in model.items() if home == space}
            query = np.array([1, 0, 0, 0], dtype=np.float32)
            results = rows.snapshot().nearest(rows.places_at(space, LIVE), query, limit=10_000)
            assert dict(results) == pytest.approx(
                {number: float(vector[0]) for number, vector in held.items()}, abs=1e-6
            )
            items = [number for number in range(900) if number % 3 == 0]
            results = rows.snapshot().nearest(rows.places_of(items), query, limit=10_000)
            assert {number for number, _ in results} == set(items) & set(model)

    def test_a_snapshot_stays_as_it_was(self) -> None:
        rows = Rows(dimension=4)
        rows.put([_random_point(random.Random(seed), number=seed) for seed in range(100)])
        places = np.arange(100)
        taken, query = rows.snapshot(), np.array([1, 0, 0, 0], dtype=np.float32)
        before = taken.nearest(places, query, limit=5)
        for seed in range(20):
            rows.drop(range(seed * 5, seed * 5 + 5))
            rows.put([_random_point(random.Random(seed), number=1000 + seed * 50 + extra) for extra in range(50)])
        assert taken.nearest(places, query, limit=5) == before


class Points(FakeStore):
    """A store of nothing but points."""

    def __init__(self, points: Sequence[Point]) -> None:
        super().__init__()
        self._points = points

    async def points(self, model: str, *, after: int, limit: int) -> list[Point]:
        return [point for point in self._points if point.id > after][:limit]


class Switch(FakeStore):
    """A store whose content is replaced while it is in use."""

    def __init__(self, store: FakeStore) -> None:
        super().__init__(store._state)

    def to(self, store: FakeStore) -> None:
        self._state = store._state


def _random_point(dice: random.Random, *, number: int | None = None) -> Point:
    drawn = np.array([dice.gauss(0, 1) for _ in range(4)], dtype=np.float32)
    return Point(
        id=dice.randrange(900) if number is None else number,
        space=dice.choice("abc"),
        vector=(drawn / np.linalg.norm(drawn)).astype(np.float32),
        facets=(LIVE,),
        at=0,
    )
