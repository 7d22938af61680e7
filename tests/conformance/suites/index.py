"""A vector index finds every point that passes a filter, nearest first, and only in its own space."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from tests.conformance.suites import hostile
from tests.conformance.suites.filters import population, require_exact
from tests.fakes.build import DIMENSION, a_memory, a_point, moment, vector_of

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Memory, Source, State, Tier, Trust
from scrubjay.model.passage import Point, Vector, passage_id
from scrubjay.model.query import Filter
from scrubjay.ports import VectorIndex

# An index may store vectors in fewer bits, so its cosines are close, not equal.
CLOSE = 0.01
COUNT = 500
QUERY = vector_of(b"a question")


class VectorIndexSuite:
    """Needs the fixture `index`: an empty index for vectors of 64 numbers (`build.DIMENSION`)."""

    async def test_an_empty_index_finds_nothing(self, index: VectorIndex) -> None:
        assert index.cursor == 0
        assert await index.search("default", QUERY, Filter(), limit=9) == []

    async def test_the_nearest_come_first_with_their_cosine(self, index: VectorIndex) -> None:
        points = _points([a_memory() for _ in range(50)])
        await index.apply(points, [], cursor=1)
        _require_nearest(await index.search("default", QUERY, Filter(), limit=10), points, limit=10)
        (first, cosine), *_ = await index.search("default", points[7].vector, Filter(), limit=3)
        assert first == points[7].id
        assert abs(cosine - 1.0) < CLOSE

    async def test_only_passages_that_pass_the_filter_are_found(self, index: VectorIndex) -> None:
        memories = population()
        labels = {passage_id(place + 1, 0): label for place, label in enumerate(memories)}
        await index.apply([a_point(number, memories[label]) for number, label in labels.items()], [], cursor=1)

        async def passing(filter: Filter) -> list[str]:
            return [labels[number] for number, _ in await index.search("default", QUERY, filter, limit=99)]

        await require_exact(passing)

    async def test_a_filter_never_leaves_too_few(self, index: VectorIndex) -> None:
        memories = [_varied(number) for number in range(COUNT)]
        points = _points(memories)
        await index.apply(points, [], cursor=1)
        for selection, places in _SELECTIONS.items():
            passing = [points[place] for place in places]
            for limit in (1, 10, 100, COUNT + 1):
                hits = await index.search("default", QUERY, _filter(selection), limit=limit)
                _require_nearest(hits, passing, limit=limit)

    async def test_what_passes_is_found_however_far_away(self, index: VectorIndex) -> None:
        near = _points([a_memory(kind="near") for _ in range(400)], towards=QUERY)
        far = _points([a_memory(kind="far") for _ in range(5)], first=1000, towards=-QUERY)
        await index.apply([*near[:200], *far, *near[200:]], [], cursor=1)
        hits = await index.search("default", QUERY, Filter(kind="far"), limit=5)
        assert {number for number, _ in hits} == {point.id for point in far}
        assert all(cosine < 0 for _, cosine in hits)

    async def test_a_space_is_searched_by_itself(self, index: VectorIndex) -> None:
        spaces = ("here", "Here", "there", *hostile.STRINGS[:30])
        points = [
            point
            for place, space in enumerate(spaces)
            for point in _points([a_memory(space=space) for _ in range(5)], first=1 + place * 10)
        ]
        await index.apply(points, [], cursor=1)
        for space in spaces:
            hits = await index.search(space, QUERY, Filter(), limit=99)
            _require_nearest(hits, [point for point in points if point.space == space], limit=99)
        assert await index.search("nowhere", QUERY, Filter(), limit=99) == []

    async def test_stale_points_go_and_new_ones_come(self, index: VectorIndex) -> None:
        points = _points([a_memory(kind="old") for _ in range(10)])
        await index.apply(points, [], cursor=1)
        again = _points([a_memory(kind="new") for _ in range(2)])
        await index.apply(again, [point.id for point in points[:5]] + [10**12], cursor=2)
        hits = await index.search("default", QUERY, Filter(), limit=99)
        assert {number for number, _ in hits} == {point.id for point in (*again, *points[5:])}
        new_hits = await index.search("default", QUERY, Filter(kind="new"), limit=99)
        assert {number for number, _ in new_hits} == {point.id for point in again}

    async def test_a_point_is_replaced_in_every_part(self, index: VectorIndex) -> None:
        before, after = a_memory(kind="old", tags=("t",)), a_memory(kind="new", state=State.ARCHIVED)
        await index.apply([a_point(65536, before, vector=QUERY)], [], cursor=1)
        await index.apply([a_point(65536, after, vector=-QUERY)], [], cursor=2)
        assert await index.search("default", QUERY, Filter(), limit=9) == []
        assert await index.search("default", QUERY, Filter(state=State.ARCHIVED, tags=("t",)), limit=9) == []
        ((number, cosine),) = await index.search("default", QUERY, Filter(state=State.ARCHIVED, kind="new"), limit=9)
        assert number == 65536
        assert abs(cosine + 1.0) < CLOSE

    async def test_applying_twice_is_applying_once(self, index: VectorIndex) -> None:
        points = _points([a_memory() for _ in range(30)])
        first = await _after(index, points, [], cursor=5)
        assert await _after(index, points, [], cursor=5) == first
        gone = [point.id for point in points[:3]]
        second = await _after(index, [], gone, cursor=6)
        assert await _after(index, [], gone, cursor=6) == second
        assert len(second) == 27

    async def test_the_cursor_is_kept(self, index: VectorIndex) -> None:
        await index.apply([], [], cursor=7)
        assert index.cursor == 7
        await index.apply(_points([a_memory()]), [], cursor=12)
        assert index.cursor == 12

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    async def test_a_vector_that_is_not_finite_is_refused(self, index: VectorIndex, bad: float) -> None:
        good = _points([a_memory(), a_memory()])
        await index.apply(good[:1], [], cursor=3)
        broken = QUERY.copy()
        broken[5] = bad
        with pytest.raises(InvalidInput):
            await index.apply([good[1], a_point(10**6, a_memory(), vector=broken)], [good[0].id], cursor=4)
        assert index.cursor == 3
        hits = await index.search("default", QUERY, Filter(), limit=9)
        assert [number for number, _ in hits] == [good[0].id]
        with pytest.raises(InvalidInput):
            await index.search("default", broken, Filter(), limit=9)

    async def test_a_vector_of_another_length_is_refused(self, index: VectorIndex) -> None:
        short = vector_of(b"short", dimension=DIMENSION // 2)
        with pytest.raises(InvalidInput):
            await index.apply([a_point(65536, a_memory(), vector=short)], [], cursor=4)
        assert index.cursor == 0

    async def test_the_largest_number_is_kept_exactly(self, index: VectorIndex) -> None:
        number = passage_id(2**40, 2**16 - 2)
        await index.apply([a_point(number, a_memory()), a_point(number + 1, a_memory())], [], cursor=1)
        hits = await index.search("default", QUERY, Filter(), limit=9)
        assert {hit for hit, _ in hits} == {number, number + 1}


# Filters of every selectivity: all of them, half, a third, and down to one and to none of 500.
_SELECTIONS: Mapping[str, Sequence[int]] = {
    "all": range(COUNT),
    "half": range(0, COUNT, 2),
    "third": range(0, COUNT, 3),
    "tenth": range(0, COUNT, 10),
    "hundredth": range(0, COUNT, 100),
    "one": (123,),
    "none": (),
    "half and tenth": range(0, COUNT, 10),
    "half and third": range(0, COUNT, 6),
    "earlier half": range(COUNT // 2),
    "a short while": range(200, 220),
    "a third of a while": range(201, 300, 3),
    "either": sorted({*range(0, COUNT, 100), 123}),
}


def _filter(name: str) -> Filter:
    return {
        "all": Filter(),
        "half": Filter(kind="even"),
        "third": Filter(tags=("third",)),
        "tenth": Filter(project="tenth"),
        "hundredth": Filter(tags=("hundredth",)),
        "one": Filter(entity="Number 123"),
        "none": Filter(session="none"),
        "half and tenth": Filter(kind="even", project="tenth"),
        "half and third": Filter(kind="even", tags=("third",), trust="user"),
        "earlier half": Filter(until=moment(COUNT // 2)),
        "a short while": Filter(since=moment(200), until=moment(220)),
        "a third of a while": Filter(since=moment(200), until=moment(300), tags=("third",)),
        "either": Filter(any_tags=("hundredth", "the-one", "unheard-of")),
    }[name]


def _varied(number: int) -> Memory:
    tags = [tag for tag, step in (("third", 3), ("hundredth", 100)) if number % step == 0]
    return a_memory(
        kind="odd" if number % 2 else "even",
        tags=(*tags, "the-one") if number == 123 else tuple(tags),
        project="" if number % 10 else "tenth",
        entity=f"Number {number}",
        tier=Tier.SEMANTIC,
        source=Source(at=moment(number), trust=Trust.USER),
    )


def _points(memories: Sequence[Memory], *, first: int = 1, towards: Vector | None = None) -> list[Point]:
    points: list[Point] = []
    for place, memory in enumerate(memories):
        number = passage_id(first + place, 0)
        vector = vector_of(number.to_bytes(8, "big"))
        if towards is not None:
            vector = vector * 0.5 + towards
            vector = (vector / np.linalg.norm(vector)).astype(np.float32)
        points.append(a_point(number, memory, vector=vector))
    return points


def _require_nearest(hits: Sequence[tuple[int, float]], passing: Sequence[Point], *, limit: int) -> None:
    expected = {point.id: float(np.dot(QUERY, point.vector)) for point in passing}
    numbers = [number for number, _ in hits]
    assert set(numbers) <= set(expected), "only points that pass"
    assert len(set(numbers)) == len(numbers) == min(limit, len(expected)), "as many as the limit"
    cosines = [cosine for _, cosine in hits]
    assert cosines == sorted(cosines, reverse=True), "best first"
    assert all(abs(cosine - expected[number]) < CLOSE for number, cosine in hits)
    if hits:
        worst = sorted(expected.values(), reverse=True)[len(hits) - 1]
        assert all(expected[number] >= worst - CLOSE for number in numbers), "none of the nearest is missed"


async def _after(index: VectorIndex, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> set[int]:
    await index.apply(points, stale, cursor=cursor)
    assert index.cursor == cursor
    return {number for number, _ in await index.search("default", QUERY, Filter(), limit=99)}
