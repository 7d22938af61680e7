"""Who might answer, and what is said when part of the search is not to be had."""

from collections.abc import Sequence

import pytest
from tests.fakes.build import START
from tests.unit.write_world import SPACE, Workshop

from scrubjay.errors import IndexUnavailable
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.memory import Source
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter, Question
from scrubjay.model.ranking import Ranking
from scrubjay.recalling.candidates import Candidates, Library, gather_candidates
from scrubjay.recalling.understand import understand


class Broken:
    """An index that cannot be used."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        raise IndexUnavailable("the index is in pieces", space=space, limit=limit, size=len(vector), kind=filter.kind)


class Behind:
    """An index that still knows passages that are gone."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        del space, vector, filter, limit
        return [(987_654_321, 0.9)]


async def gathered(
    shop: Workshop,
    query: str,
    *,
    filter: Filter | None = None,
    deeper: int = 0,
    among: Sequence[int] | None = None,
) -> Candidates:
    question = Question(query=query, filter=filter or Filter())
    asked = understand(question, limits=Limits(), ranking=Ranking(), now=START)
    recall_context = shop.recall_context
    library = Library(
        space=SPACE,
        store=recall_context.store,
        embedder=recall_context.embedder,
        index=recall_context.index,
        ranking=recall_context.ranking,
    )
    return await gather_candidates(asked, library=library, deeper=deeper, among=among)


async def test_words_and_meaning_both_bring_candidates_each_once(shop: Workshop) -> None:
    tea, jay = await shop.kept("green tea"), await shop.kept("a scrub jay")
    found = await gathered(shop, "tea")
    assert sorted(passage.memory_id for passage in found.passages) == sorted([tea.id, jay.id])
    assert len(found.near.cosines) == 2
    assert (found.sought.statistics.passages, found.sought.statistics.frequencies["tea"]) == (2, 1)
    assert found.near.weight > 0
    assert found.near.degraded == ()


async def test_only_what_passes_the_filter_is_a_candidate(shop: Workshop) -> None:
    await shop.kept("green tea")
    black = await shop.kept(Draft(text="black tea", kind="fact"))
    found = await gathered(shop, "tea", filter=Filter(kind="fact"))
    assert [passage.memory_id for passage in found.passages] == [black.id]


async def test_without_a_model_the_words_alone_are_searched(shop: Workshop) -> None:
    tea, _ = await shop.kept("green tea"), await shop.kept("a scrub jay")
    shop.embedder.failing = True
    found = await gathered(shop, "tea")
    assert [passage.memory_id for passage in found.passages] == [tea.id]
    assert (found.near.cosines, found.near.weight) == ({}, 0.0)
    assert len(found.near.degraded) == 1
    assert found.near.degraded[0].startswith("searched by words only")


async def test_with_a_broken_index_words_are_searched_and_ranked_by_meaning_too(shop: Workshop) -> None:
    tea, _ = await shop.kept("green tea"), await shop.kept("a scrub jay")
    shop.index = Broken()
    found = await gathered(shop, "tea")
    assert [passage.memory_id for passage in found.passages] == [tea.id]
    assert found.near.degraded == ("searched by words only: the index is in pieces",)
    assert len(found.near.cosines) == 1


async def test_what_the_index_knows_and_the_store_does_not_is_dropped(shop: Workshop) -> None:
    await shop.kept("green tea")
    shop.index = Behind()
    assert (await gathered(shop, "jay")).passages == ()


@pytest.mark.parametrize("failing", [False, True])
async def test_of_many_candidates_the_most_promising_are_ranked(quick: Workshop, *, failing: bool) -> None:
    await quick.kept(Draft(text="", observations=("jay tea", *(f"tea {number}" for number in range(230)))))
    quick.embedder.failing = failing
    found = await gathered(quick, "jay tea")
    assert len(found.passages) < 150
    assert any({"jay", "tea"} <= set(passage.terms.split()) for passage in found.passages)


@pytest.mark.parametrize("failing", [False, True])
async def test_it_is_known_whether_there_are_others_to_ask_for(quick: Workshop, *, failing: bool) -> None:
    await quick.kept(Draft(text="", observations=tuple(f"tea {number}" for number in range(230))))
    quick.embedder.failing = failing
    assert not (await gathered(quick, "tea")).complete
    assert (await gathered(quick, "tea", deeper=200)).complete


async def test_among_given_passages_all_are_candidates_and_no_other(shop: Workshop) -> None:
    tea, _, jay = await shop.kept("green tea"), await shop.kept("black tea"), await shop.kept("a scrub jay")
    numbers = await shop.store.passage_numbers(SPACE, [tea.id, jay.id])
    found = await gathered(shop, "tea", among=numbers)
    assert sorted(passage.memory_id for passage in found.passages) == sorted([tea.id, jay.id])
    assert found.complete
    assert set(found.near.cosines) == set(numbers)


async def test_candidates_come_with_what_stands_beside_them(shop: Workshop) -> None:
    told = [
        await shop.kept(Draft(text=text, source=Source(session="monday")))
        for text in ("where shall we meet?", "green tea", "at the harbour")
    ]
    shop.embedder.failing = True
    found = await gathered(shop, "tea")
    (passage,) = found.passages
    assert passage.memory_id == told[1].id
    assert [one.memory_id for one in found.beside] == [told[0].id, told[2].id]
    shop.ranking = Ranking.parse(without="context")
    assert (await gathered(shop, "tea")).beside == ()


async def test_words_or_meaning_can_be_left_out(shop: Workshop) -> None:
    tea, _ = await shop.kept("green tea"), await shop.kept("a scrub jay")
    shop.ranking = Ranking.parse(without="meaning")
    found = await gathered(shop, "tea")
    assert ([passage.memory_id for passage in found.passages], found.near.degraded) == ([tea.id], ())
    shop.ranking = Ranking.parse(without="words,meaning")
    assert (await gathered(shop, "tea")).passages == ()
