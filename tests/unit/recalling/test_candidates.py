"""Candidates, and the report when a part of the search is unavailable."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from math import isfinite
from pathlib import Path

import apsw
import pytest
from tests.fakes.build import START
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import IndexUnavailable
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.memory import Source
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.model.ranking import Ranking
from scrubjay.model.requests import RecallRequest
from scrubjay.recalling.candidates import Candidates, SpaceSearch, compare_passages, gather_candidates
from scrubjay.recalling.understand import understand
from scrubjay.storage.sqlite import SqliteStore


class BrokenIndex:
    """An index that cannot be used."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        raise IndexUnavailable("the index is in pieces", space=space, limit=limit, size=len(vector), kind=filter.kind)


class StaleIndex:
    """An index that still has passages that are gone."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        del space, vector, filter, limit
        return [(987_654_321, 0.9)]


async def gathered(
    harness: Harness,
    query: str,
    *,
    filter: Filter | None = None,
    deeper: int = 0,
    numbers: Sequence[int] | None = None,
) -> Candidates:
    question = RecallRequest(query=query, filter=filter or Filter())
    parsed = understand(question, limits=Limits(), ranking=Ranking(), now=START)
    context = harness.recall_context
    search = SpaceSearch(
        space=SPACE, store=context.store, embedder=context.embedder, index=context.index, ranking=context.ranking
    )
    candidates = await gather_candidates(parsed, search=search, deeper=deeper, numbers=numbers)
    return replace(candidates, dense=await compare_passages(candidates.dense, candidates.passages, search=search))


async def test_words_and_meaning_both_bring_candidates_each_once(harness: Harness) -> None:
    tea, jay = await harness.store_draft("green tea"), await harness.store_draft("a scrub jay")
    candidates = await gathered(harness, "tea")
    assert sorted(passage.memory_id for passage in candidates.passages) == sorted([tea.id, jay.id])
    assert len(candidates.dense.cosines) == 2
    assert (candidates.terms.statistics.passages, candidates.terms.statistics.frequencies["tea"]) == (2, 1)
    assert candidates.dense.weight > 0
    assert candidates.dense.degraded == ()


async def test_only_passages_that_pass_the_filter_are_candidates(harness: Harness) -> None:
    await harness.store_draft("green tea")
    black = await harness.store_draft(Draft(text="black tea", kind="fact"))
    candidates = await gathered(harness, "tea", filter=Filter(kind="fact"))
    assert [passage.memory_id for passage in candidates.passages] == [black.id]


async def test_without_a_model_the_words_alone_are_searched(harness: Harness) -> None:
    tea, _ = await harness.store_draft("green tea"), await harness.store_draft("a scrub jay")
    harness.embedder.failing = True
    candidates = await gathered(harness, "tea")
    assert [passage.memory_id for passage in candidates.passages] == [tea.id]
    assert (candidates.dense.cosines, candidates.dense.weight) == ({}, 0.0)
    assert len(candidates.dense.degraded) == 1
    assert candidates.dense.degraded[0].startswith("searched by words only")


async def test_with_a_broken_index_words_are_searched_and_ranked_by_meaning_too(harness: Harness) -> None:
    tea, _ = await harness.store_draft("green tea"), await harness.store_draft("a scrub jay")
    harness.index = BrokenIndex()
    candidates = await gathered(harness, "tea")
    assert [passage.memory_id for passage in candidates.passages] == [tea.id]
    assert candidates.dense.degraded == ("searched by words only: the index is in pieces",)
    assert len(candidates.dense.cosines) == 1


async def test_passages_that_only_the_index_has_are_dropped(harness: Harness) -> None:
    await harness.store_draft("green tea")
    harness.index = StaleIndex()
    assert (await gathered(harness, "jay")).passages == ()


@pytest.mark.parametrize("failing", [False, True])
async def test_of_many_candidates_the_most_promising_are_ranked(harness: Harness, *, failing: bool) -> None:
    await harness.store_draft(Draft(text="", observations=("jay tea", *(f"tea {number}" for number in range(230)))))
    harness.embedder.failing = failing
    candidates = await gathered(harness, "jay tea")
    assert len(candidates.passages) < 150
    assert any({"jay", "tea"} <= set(passage.terms.split()) for passage in candidates.passages)


@pytest.mark.parametrize("failing", [False, True])
async def test_the_result_says_whether_it_is_complete(harness: Harness, *, failing: bool) -> None:
    await harness.store_draft(Draft(text="", observations=tuple(f"tea {number}" for number in range(230))))
    harness.embedder.failing = failing
    assert not (await gathered(harness, "tea")).is_complete
    assert (await gathered(harness, "tea", deeper=200)).is_complete


async def test_exactly_the_numbered_passages_are_candidates(harness: Harness) -> None:
    tea, _, jay = (
        await harness.store_draft("green tea"),
        await harness.store_draft("black tea"),
        await harness.store_draft("a scrub jay"),
    )
    numbers = await harness.store.passage_numbers(SPACE, [tea.id, jay.id])
    candidates = await gathered(harness, "tea", numbers=numbers)
    assert sorted(passage.memory_id for passage in candidates.passages) == sorted([tea.id, jay.id])
    assert candidates.is_complete
    assert set(candidates.dense.cosines) == set(numbers)


async def test_candidates_come_with_their_neighbours(harness: Harness) -> None:
    memories = [
        await harness.store_draft(Draft(text=text, source=Source(session="monday")))
        for text in ("where shall we meet?", "green tea", "at the harbour")
    ]
    harness.embedder.failing = True
    candidates = await gathered(harness, "tea")
    (passage,) = candidates.passages
    assert passage.memory_id == memories[1].id
    assert [neighbour.memory_id for neighbour in candidates.neighbours] == [memories[0].id, memories[2].id]
    harness.ranking = Ranking.parse(without="context")
    assert not (await gathered(harness, "tea")).neighbours


async def test_words_or_meaning_can_be_left_out(harness: Harness) -> None:
    tea, _ = await harness.store_draft("green tea"), await harness.store_draft("a scrub jay")
    harness.ranking = Ranking.parse(without="meaning")
    candidates = await gathered(harness, "tea")
    assert ([passage.memory_id for passage in candidates.passages], candidates.dense.degraded) == ([tea.id], ())
    harness.ranking = Ranking.parse(without="words,meaning")
    assert (await gathered(harness, "tea")).passages == ()


async def test_a_damaged_vector_says_nothing(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "memory.db", readers=1)
    for text in ("Ines drinks green tea", "Ines keeps tea in the kitchen", "Bruno hates tea", "Ines sells tea cups"):
        await Harness(store=store).remember(text)
    await store.close()
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        connection.execute("UPDATE vectors SET vector = x'0011' WHERE rowid % 2")
    reopened = await SqliteStore.open(tmp_path / "memory.db", readers=1)
    candidates = await gathered(Harness(store=reopened), "who drinks tea")
    await reopened.close()
    assert len(candidates.passages) == 4
    assert 0 < len(candidates.dense.cosines) < 4
    assert all(map(isfinite, candidates.dense.cosines.values()))
