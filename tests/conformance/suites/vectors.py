"""Stored vectors, and the points that indexes are built from."""

from collections.abc import Mapping, Sequence

import numpy as np
from tests.conformance.suites.filters import population, require_exact
from tests.fakes.build import (
    DIMENSION,
    MODEL,
    START,
    a_commit,
    a_memory,
    a_rewrite,
    an_origin,
    moment,
    revised,
    vector_of,
    vectors_for,
)

from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, Observation, State
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Point, Vector, passage_id
from scrubjay.model.query import Filter, facets_of
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import Embedded, RecordStore
from scrubjay.text.passages import passages_of

# A store may keep vectors in half precision or quantized, so they come back close, not equal.
CLOSE = 0.01


class VectorsSuite:
    """`vectors`, `store_vectors` and `without_vectors`. Needs the fixture `store`."""

    async def test_vectors_of_a_commit_come_back(self, store: RecordStore) -> None:
        memories = [a_memory("one"), a_memory("two")]
        embedded = vectors_for(memories)
        await store.commit(a_commit(*memories, embedded=embedded))
        keys = list(embedded.vectors)
        require_close(await store.vectors("default", MODEL, [*keys, b"\x00" * 16]), embedded.vectors)
        require_close(await store.vectors("default", MODEL, keys[:1]), {keys[0]: embedded.vectors[keys[0]]})
        assert await store.vectors("default", MODEL, []) == {}
        assert await store.embedded("default", MODEL, [*keys, b"\x00" * 16]) == set(keys)
        assert await store.embedded("default", MODEL, []) == set()
        for space, model in (("default", "another-model"), ("elsewhere", MODEL)):
            assert await store.embedded(space, model, keys) == set()
        assert await store.vectors("default", "another-model", keys) == {}

    async def test_vectors_are_float32_of_the_models_length(self, store: RecordStore) -> None:
        memory = a_memory()
        for model, dimension in (("small", 8), ("odd", 33), ("large", 1024)):
            embedded = vectors_for([memory], model=model, dimension=dimension)
            await store.commit(a_commit(space="default", embedded=embedded))
            (vector,) = (await store.vectors("default", model, list(embedded.vectors))).values()
            assert (vector.dtype, vector.shape) == (np.dtype(np.float32), (dimension,))
            require_close({b"": vector}, {b"": next(iter(embedded.vectors.values()))})

    async def test_vectors_stored_later_come_back(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory))
        embedded = vectors_for([memory])
        await store.store_vectors("default", embedded, memory_ids=[memory.id], origin=an_origin())
        require_close(await store.vectors("default", MODEL, list(embedded.vectors)), embedded.vectors)

    async def test_the_log_contains_vectors_stored_later(self, store: RecordStore) -> None:
        memory, other = a_memory("word " * 900), a_memory()
        await store.commit(a_commit(memory, other))
        first, _ = await store.changes(after=0, limit=9)
        start = await store.last_seq()
        origin = an_origin(run="r", agent="ann", at=moment(5))
        await store.store_vectors("default", vectors_for([memory]), memory_ids=[memory.id, "missing"], origin=origin)
        (change,) = await store.changes(after=start, limit=9)
        assert (change.action, change.memory_id, change.number) == (Action.EMBEDDED, memory.id, first.number)
        assert (change.version, change.passages_before) == (1, len(passages_of(memory)))
        assert (change.run, change.agent, change.at, change.space) == ("r", "ann", moment(5), "default")
        assert len(await store.versions("default", memory.id, limit=9)) == 1

    async def test_the_log_contains_every_memory_with_the_text(self, store: RecordStore) -> None:
        early, elsewhere = a_memory("a shared text"), a_memory("a shared text", space="other")
        await store.commit(a_commit(early))
        await store.commit(a_commit(elsewhere, space="other"))
        start = await store.last_seq()
        late = a_memory("a shared text")
        await store.commit(a_commit(late, embedded=vectors_for([late])))
        reported = {change.memory_id: change.action for change in await store.changes(after=start, limit=9)}
        assert reported == {late.id: Action.CREATED, early.id: Action.EMBEDDED}
        assert await store.point_count(MODEL) == 2

    async def test_a_vector_can_be_stored_again(self, store: RecordStore) -> None:
        memory = a_memory()
        embedded = vectors_for([memory])
        await store.commit(a_commit(memory, embedded=embedded))
        await store.store_vectors("default", embedded, memory_ids=[memory.id], origin=an_origin())
        assert await store.point_count(MODEL) == 1

    async def test_models_are_kept_apart(self, store: RecordStore) -> None:
        memory = a_memory()
        first, second = vectors_for([memory], model="one"), _turned(vectors_for([memory], model="two"))
        await store.commit(a_commit(memory, embedded=first))
        await store.store_vectors("default", second, memory_ids=[memory.id], origin=an_origin())
        require_close(await store.vectors("default", "one", list(first.vectors)), first.vectors)
        require_close(await store.vectors("default", "two", list(first.vectors)), second.vectors)

    async def test_memories_without_vectors_are_listed(self, store: RecordStore) -> None:
        done, undone = a_memory("done"), a_memory("undone")
        half = a_memory(" ".join(f"half-{number}" for number in range(150)))
        there = a_memory("done", space="there")
        first_half = passages_of(half)[0].hash
        embedded = vectors_for([done])
        partly = Embedded(
            model=MODEL, dimension=DIMENSION, vectors={**embedded.vectors, first_half: vector_of(first_half)}
        )
        await store.commit(a_commit(done, undone, half, embedded=partly))
        await store.commit(a_commit(there))
        lacking = {("default", undone.id), ("default", half.id), ("there", there.id)}
        assert set(await store.without_vectors(MODEL, limit=9)) == lacking
        assert len(await store.without_vectors(MODEL, limit=9)) == 3
        assert len(await store.without_vectors(MODEL, limit=2)) == 2
        assert len(await store.without_vectors("another-model", limit=9)) == 4
        assert await store.without_vectors(MODEL, limit=9, space="there") == [("there", there.id)]
        assert (await store.footprint("default")).memories == {"live": 3}
        assert (await store.footprint("nowhere")).memories == {}
        assert (await store.footprint("there")).store_bytes > 0
        await store.store_vectors(
            "default", vectors_for([undone, half]), memory_ids=[undone.id, half.id], origin=an_origin()
        )
        assert await store.without_vectors(MODEL, limit=9) == [("there", there.id)]

    async def test_a_revision_lacks_a_vector_only_for_a_new_text(self, store: RecordStore) -> None:
        first = a_memory("one")
        await store.commit(a_commit(first, embedded=vectors_for([first])))
        second = revised(first, content="two")
        await store.commit(a_commit(a_rewrite(second)))
        assert await store.without_vectors(MODEL, limit=9) == [("default", first.id)]
        third = revised(second, content="one", kind="fact")
        await store.commit(a_commit(a_rewrite(third)))
        assert await store.without_vectors(MODEL, limit=9) == []


class PointsSuite:
    """`points`, `points_of`, `point_count` and `matching_passages`. Needs the fixture `store`."""

    async def test_a_point_has_all_that_an_index_needs(self, store: RecordStore) -> None:
        memories = list(population().values())
        await store.commit(a_commit(*memories, embedded=vectors_for(memories)))
        points = await store.points(MODEL, after=0, limit=99)
        expected = await _expected(store, memories)
        _require_same(points, expected)
        assert await store.point_count(MODEL) == len(memories)

    async def test_points_are_paged_by_number(self, store: RecordStore) -> None:
        memories = [
            a_memory(f"{number} " * 600, observations=(Observation(text=f"o{number}", recorded_at=START),))
            for number in range(12)
        ]
        await store.commit(a_commit(*memories, embedded=vectors_for(memories)))
        whole = await store.points(MODEL, after=0, limit=999)
        assert len(whole) == sum(len(passages_of(memory)) for memory in memories) == await store.point_count(MODEL)
        assert len(whole) > 2 * len(memories)
        paged: list[Point] = []
        while page := await store.points(MODEL, after=paged[-1].id if paged else 0, limit=5):
            paged += page
            assert len(page) <= 5
            assert len(paged) <= len(whole)
        assert [point.id for point in paged] == [point.id for point in whole] == sorted(point.id for point in whole)

    async def test_points_are_of_all_spaces(self, store: RecordStore) -> None:
        here, there = a_memory("same"), a_memory("same", space="there")
        for memory in (here, there):
            await store.commit(a_commit(memory, embedded=vectors_for([memory])))
        _require_same(await store.points(MODEL, after=0, limit=9), await _expected(store, [here, there]))

    async def test_only_embedded_passages_are_points(self, store: RecordStore) -> None:
        done, undone = a_memory("done"), a_memory("undone")
        await store.commit(a_commit(done, undone, embedded=vectors_for([done])))
        _require_same(await store.points(MODEL, after=0, limit=9), (await _expected(store, [done, undone]))[:1])
        assert await store.point_count(MODEL) == 1
        assert await store.points("another-model", after=0, limit=9) == []
        assert await store.point_count("another-model") == 0

    async def test_points_follow_the_memory(self, store: RecordStore) -> None:
        memory = a_memory("one " * 600, kind="fact")
        await store.commit(a_commit(memory, embedded=vectors_for([memory])))
        memory = revised(memory, kind="rumour", content="short", tags=("t",))
        await store.commit(a_commit(a_rewrite(memory), embedded=vectors_for([memory])))
        _require_same(await store.points(MODEL, after=0, limit=9), await _expected(store, [memory]))
        memory = revised(memory, state=State.TRASHED)
        await store.commit(a_commit(a_rewrite(memory, action=Action.TRASHED)))
        (point,) = await store.points(MODEL, after=0, limit=9)
        assert "state=trashed" in point.facets
        assert "state=live" not in point.facets

    async def test_one_text_in_several_memories_is_several_points(self, store: RecordStore) -> None:
        memories = [a_memory("one text", entity=entity, group="g") for entity in ("Sarah", "Acme", "Bob")]
        embedded = vectors_for(memories)
        assert len(embedded.vectors) == 1
        await store.commit(a_commit(*memories, embedded=embedded))
        _require_same(await store.points(MODEL, after=0, limit=9), await _expected(store, memories))

    async def test_the_points_of_some_memories(self, store: RecordStore) -> None:
        memories = [a_memory(f"{number} " * 600) for number in range(4)]
        await store.commit(a_commit(*memories, embedded=vectors_for(memories)))
        numbers = [change.number for change in await store.changes(after=0, limit=9)]
        requested = [numbers[1], numbers[3]]
        points = await store.points_of(MODEL, [*requested, 10**9])
        expected = [
            point
            for point in await store.points(MODEL, after=0, limit=99)
            if point.id // PASSAGES_PER_MEMORY in requested
        ]
        _require_same(sorted(points, key=lambda point: point.id), expected)
        assert await store.points_of(MODEL, []) == []
        assert await store.points_of("another-model", numbers) == []

    async def test_the_numbers_that_pass_a_filter(self, store: RecordStore) -> None:
        memories = population()
        await store.commit(a_commit(*memories.values()))
        numbers = {change.memory_id: change.number for change in await store.changes(after=0, limit=99)}
        labels = {passage_id(numbers[memory.id], 0): label for label, memory in memories.items()}

        async def passing(filter: Filter) -> list[str]:
            return [labels[int(number)] for number in await store.matching_passages("default", filter)]

        await require_exact(passing)

    async def test_every_passage_of_a_memory_passes(self, store: RecordStore) -> None:
        memory, other = a_memory("word " * 900, kind="fact"), a_memory("word " * 900)
        await store.commit(a_commit(memory, other))
        numbers = {change.memory_id: change.number for change in await store.changes(after=0, limit=9)}
        results = await store.matching_passages("default", Filter(kind="fact"))
        assert {int(item) for item in results} == {
            passage_id(numbers[memory.id], passage.ordinal) for passage in passages_of(memory)
        }
        assert list(await store.matching_passages("elsewhere", Filter())) == []


def require_close(vectors: Mapping[bytes, Vector], expected: Mapping[bytes, Vector]) -> None:
    """Require vectors of the same keys and directions."""
    assert set(vectors) == set(expected)
    for key, vector in expected.items():
        assert float(np.abs(vectors[key] - vector).max()) < CLOSE


def _require_same(points: Sequence[Point], expected: Sequence[Point]) -> None:
    assert [(point.id, point.space, sorted(point.facets), point.at) for point in points] == [
        (item.id, item.space, sorted(item.facets), item.at) for item in expected
    ]
    for point, other in zip(points, expected, strict=True):
        assert float(np.abs(point.vector - other.vector).max()) < CLOSE


async def _expected(store: RecordStore, memories: Sequence[Memory]) -> list[Point]:
    numbers = {change.memory_id: change.number for change in await store.changes(after=0, limit=99)}
    points = [
        Point(
            id=passage_id(numbers[memory.id], passage.ordinal),
            space=memory.space,
            vector=vector_of(passage.hash),
            facets=(*facets_of(memory), f"state={memory.state}"),
            at=to_micros(memory.date),
        )
        for memory in memories
        for passage in passages_of(memory)
    ]
    return sorted(points, key=lambda point: point.id)


def _turned(embedded: Embedded) -> Embedded:
    turned = {key: -vector for key, vector in embedded.vectors.items()}
    return Embedded(model=embedded.model, dimension=embedded.dimension, vectors=turned)
