"""Who might answer, and what is said when part of the search is not to be had."""

import pytest
from tests.unit.workshop import SPACE, Workshop

from scrubjay.errors import IndexUnavailable
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter, Question
from scrubjay.recalling.candidates import Candidates, gather_candidates
from scrubjay.recalling.understand import understand


class Broken:
    """An index that cannot be used."""

    async def search(self, space: str, vector: Vector, wanted: Filter, *, limit: int) -> list[tuple[int, float]]:
        raise IndexUnavailable("the index is in pieces", space=space, limit=limit, size=len(vector), kind=wanted.kind)


class Behind:
    """An index that still knows passages that are gone."""

    async def search(self, space: str, vector: Vector, wanted: Filter, *, limit: int) -> list[tuple[int, float]]:
        del space, vector, wanted, limit
        return [(987_654_321, 0.9)]


async def gathered(shop: Workshop, query: str, *, wanted: Filter | None = None, deeper: int = 0) -> Candidates:
    asked = understand(Question(query=query, filter=wanted or Filter()), limits=Limits())
    shelf = shop.shelf
    return await gather_candidates(
        asked, space=SPACE, store=shelf.store, embedder=shelf.embedder, index=shelf.index, deeper=deeper
    )


async def test_words_and_meaning_both_bring_candidates_each_once(shop: Workshop) -> None:
    tea, jay = await shop.kept("green tea"), await shop.kept("a scrub jay")
    found = await gathered(shop, "tea")
    assert sorted(one.memory_id for one in found.passages) == sorted([tea.id, jay.id])
    assert len(found.cosines) == 2
    assert (found.statistics.passages, found.statistics.frequencies["tea"]) == (2, 1)
    assert found.weight > 0
    assert found.degraded == ()


async def test_only_what_passes_the_filter_is_a_candidate(shop: Workshop) -> None:
    await shop.kept("green tea")
    black = await shop.kept(Draft(text="black tea", kind="fact"))
    found = await gathered(shop, "tea", wanted=Filter(kind="fact"))
    assert [one.memory_id for one in found.passages] == [black.id]


async def test_without_a_model_the_words_alone_are_searched(shop: Workshop) -> None:
    tea, _ = await shop.kept("green tea"), await shop.kept("a scrub jay")
    shop.embedder.failing = True
    found = await gathered(shop, "tea")
    assert [one.memory_id for one in found.passages] == [tea.id]
    assert (found.cosines, found.weight) == ({}, 0.0)
    assert len(found.degraded) == 1
    assert found.degraded[0].startswith("searched by words only")


async def test_with_a_broken_index_words_are_searched_and_ranked_by_meaning_too(shop: Workshop) -> None:
    tea, _ = await shop.kept("green tea"), await shop.kept("a scrub jay")
    shop.index = Broken()
    found = await gathered(shop, "tea")
    assert [one.memory_id for one in found.passages] == [tea.id]
    assert found.degraded == ("searched by words only: the index is in pieces",)
    assert len(found.cosines) == 1


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
    assert any({"jay", "tea"} <= set(one.terms) for one in found.passages)


@pytest.mark.parametrize("failing", [False, True])
async def test_it_is_known_whether_there_are_others_to_ask_for(quick: Workshop, *, failing: bool) -> None:
    await quick.kept(Draft(text="", observations=tuple(f"tea {number}" for number in range(230))))
    quick.embedder.failing = failing
    assert not (await gathered(quick, "tea")).complete
    assert (await gathered(quick, "tea", deeper=200)).complete
