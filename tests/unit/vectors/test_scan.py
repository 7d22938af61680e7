"""The exact scan reads the store by itself, and includes every commit."""

import random
from collections.abc import Sequence
from dataclasses import replace

import apsw
import numpy as np
import pytest
from tests.fakes.build import (
    DIMENSION,
    MODEL,
    a_commit,
    a_memory,
    a_point,
    a_rewrite,
    an_edge,
    an_origin,
    point_passes,
    revised,
    vector_of,
    vectors_for,
)
from tests.new_files import NewStores

from scrubjay.errors import InvalidInput
from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter, facet
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.scan import ScanIndex, VectorRows

EVERYTHING = Filter()

QUERY = vector_of(b"a question")
LIVE = facet("state", State.LIVE)


def make_scan(store: SqliteStore) -> ScanIndex:
    return ScanIndex(store, MODEL, dimension=DIMENSION)


async def remember(store: SqliteStore, *memories: Memory) -> None:
    await store.commit(a_commit(*memories, embedded=vectors_for(memories)))


async def check_search(
    scan: ScanIndex, store: SqliteStore, *, filter: Filter = EVERYTHING, space: str = "default"
) -> int:
    """Compare a search with an exact comparison of every stored point; returns the number of hits."""
    points = [
        point
        for point in await store.points(MODEL, after=-1, limit=10**6)
        if point.space == space and point_passes(point, filter)
    ]
    expected = {point.id: float(QUERY @ point.vector) for point in points}
    results = dict(await scan.search(space, QUERY, filter, limit=10**6))
    assert results == pytest.approx(expected, abs=1e-3)
    return len(results)


class TestFollowing:
    async def test_the_first_search_reads_the_store(self, store: SqliteStore) -> None:
        await remember(store, a_memory("one"), a_memory("three", kind="fact"))
        await remember(store, a_memory("two", space="there"))
        scan = make_scan(store)
        assert (scan.cursor, scan.points) == (0, 0)
        assert await check_search(scan, store) == 2
        assert (scan.cursor, scan.points) == (await store.last_seq(), 3)
        assert await check_search(scan, store, filter=Filter(kind="fact")) == 1
        assert await check_search(scan, store, space="there") == 1
        assert await check_search(scan, store, space="nowhere") == 0

    async def test_every_later_change_is_included(self, store: SqliteStore) -> None:
        memory, other = a_memory("word " * 900, kind="fact"), a_memory("other")
        await remember(store, memory, other)
        scan = make_scan(store)
        before = await check_search(scan, store)
        memory = revised(memory, content="short", kind="rumour")
        await store.commit(a_commit(a_rewrite(memory), embedded=vectors_for([memory])))
        assert await check_search(scan, store) < before
        assert await check_search(scan, store, filter=Filter(kind="rumour")) == 1
        memory = revised(memory, state=State.TRASHED)
        await store.commit(a_commit(a_rewrite(memory, action=Action.TRASHED)))
        assert await check_search(scan, store) == 1
        assert await check_search(scan, store, filter=Filter(state=State.TRASHED)) == 1
        await store.commit(a_commit(an_edge(memory, other), space="default"))
        await store.purge("default", [memory.id], origin=an_origin())
        assert await check_search(scan, store, filter=Filter(state=State.TRASHED)) == 0
        assert scan.points == 1

    async def test_later_vectors_are_included(self, store: SqliteStore) -> None:
        memory = a_memory("one")
        await store.commit(a_commit(memory))
        scan = make_scan(store)
        assert await check_search(scan, store) == 0
        await store.store_vectors("default", vectors_for([memory]), memory_ids=[memory.id], origin=an_origin())
        assert await check_search(scan, store) == 1

    async def test_more_changes_than_a_page(self, store: SqliteStore) -> None:
        memory = a_memory("one")
        await remember(store, memory, *(a_memory(f"{number}") for number in range(600)))
        scan = make_scan(store)
        await check_search(scan, store)
        for _ in range(1200):
            memory = revised(memory)
            await store.commit(a_commit(a_rewrite(memory)))
        assert await check_search(scan, store) == 601

    async def test_a_replaced_store_is_read_from_the_start(self, new_store: NewStores) -> None:
        old = new_store()
        await remember(old, *(a_memory(f"{number}") for number in range(9)))
        scan = make_scan(old)
        await check_search(scan, old)
        new = new_store()
        await remember(new, a_memory("another"))
        source, target = apsw.Connection(str(new.path)), apsw.Connection(str(old.path))
        with target.backup("main", source, "main") as copy:
            copy.step()
        assert await check_search(scan, new) == 1
        source.close()
        target.close()

    async def test_after_closing_everything_is_read_again(self, store: SqliteStore) -> None:
        await remember(store, a_memory("one"))
        scan = make_scan(store)
        await check_search(scan, store)
        await scan.close()
        assert scan.points == 0
        assert await check_search(scan, store) == 1


class TestSearching:
    async def test_no_limit_no_hits(self, store: SqliteStore) -> None:
        await remember(store, a_memory("one"))
        assert await make_scan(store).search("default", QUERY, Filter(), limit=0) == []

    async def test_a_bad_question_is_refused(self, store: SqliteStore) -> None:
        with pytest.raises(InvalidInput):
            await make_scan(store).search("default", QUERY[:5], Filter(), limit=3)

    async def test_one_bad_vector_hides_only_itself(self, new_store: NewStores) -> None:
        nothing = np.full(DIMENSION, np.nan, dtype=np.float32)
        store = new_store(PointStore)
        store.stored = [a_point(1, a_memory()), a_point(2, a_memory(), vector=nothing), a_point(3, a_memory())]
        scan = make_scan(store)
        assert {number for number, _ in await scan.search("default", QUERY, Filter(), limit=9)} == {1, 3}

    @pytest.mark.parametrize("share", [1, 3, 40])
    async def test_many_rows_are_scanned_as_few_are(self, share: int, new_store: NewStores) -> None:
        drawn = np.random.default_rng(1).standard_normal((30_000, 8)).astype(np.float32)
        matrix = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        template = a_point(0, a_memory())
        store = new_store(PointStore)
        store.stored = [
            replace(template, id=number, space="default" if number % share == 0 else "other", vector=vector)
            for number, vector in enumerate(matrix)
        ]
        scan = ScanIndex(store, MODEL, dimension=8)
        results = await scan.search("default", matrix[120], Filter(), limit=10)
        cosines = matrix @ matrix[120]
        best = [int(row) for row in np.argsort(-cosines) if row % share == 0][:10]
        assert [number for number, _ in results] == best
        assert [cosine for _, cosine in results] == pytest.approx([float(cosines[row]) for row in best], abs=1e-5)


class TestRows:
    def test_any_sequence_of_changes_leaves_what_a_dict_would(self) -> None:
        dice = random.Random(7)
        rows, model = VectorRows(dimension=4), dict[int, tuple[str, Vector]]()
        for _ in range(400):
            batch = [_random_point(dice) for _ in range(dice.randrange(8))]
            deleted = [dice.randrange(900) for _ in range(dice.randrange(8))]
            rows.delete(deleted)
            rows.put(batch)
            for number in deleted:
                model.pop(number, None)
            model.update({point.id: (point.space, point.vector) for point in batch})
        assert len(rows) == len(model)
        for space in ("a", "b", "c"):
            expected = {number: vector for number, (owner, vector) in model.items() if owner == space}
            query = np.array([1, 0, 0, 0], dtype=np.float32)
            results = rows.snapshot().nearest(rows.of_space(space, LIVE), query, limit=10_000)
            assert dict(results) == pytest.approx(
                {number: float(vector[0]) for number, vector in expected.items()}, abs=1e-6
            )
            selected = [number for number in range(900) if number % 3 == 0]
            results = rows.snapshot().nearest(rows.of_points(selected), query, limit=10_000)
            assert {number for number, _ in results} == set(selected) & set(model)

    def test_a_snapshot_stays_as_it_was(self) -> None:
        rows = VectorRows(dimension=4)
        rows.put([_random_point(random.Random(seed), number=seed) for seed in range(100)])
        selected = np.arange(100)
        snapshot, query = rows.snapshot(), np.array([1, 0, 0, 0], dtype=np.float32)
        before = snapshot.nearest(selected, query, limit=5)
        for seed in range(20):
            rows.delete(range(seed * 5, seed * 5 + 5))
            rows.put([_random_point(random.Random(seed), number=1000 + seed * 50 + extra) for extra in range(50)])
        assert snapshot.nearest(selected, query, limit=5) == before


class PointStore(SqliteStore):
    """A store with only points."""

    stored: Sequence[Point] = ()

    async def points(self, model: str, *, after: int, limit: int) -> list[Point]:
        return [point for point in self.stored if point.id > after][:limit]


def _random_point(dice: random.Random, *, number: int | None = None) -> Point:
    drawn = np.array([dice.gauss(0, 1) for _ in range(4)], dtype=np.float32)
    return Point(
        id=dice.randrange(900) if number is None else number,
        space=dice.choice("abc"),
        vector=(drawn / np.linalg.norm(drawn)).astype(np.float32),
        facets=(LIVE,),
        at=0,
    )
