"""The words to look for: those of the question, and what stands for those that nothing has."""

import pytest
from tests.fakes.build import START
from tests.unit.write_world import SPACE, Workshop

from scrubjay.model.draft import Draft, Limits
from scrubjay.model.memory import Json, State
from scrubjay.model.query import Filter, Question
from scrubjay.model.ranking import Ranking
from scrubjay.recalling.query_terms import QueryTerms, idf, seek
from scrubjay.recalling.understand import understand


async def sought(shop: Workshop, query: str, *, without: str = "", filter: Filter | None = None) -> QueryTerms:
    ranking = Ranking.parse(without=without)
    question = Question(query=query, filter=filter or Filter())
    asked = understand(question, limits=Limits(), ranking=ranking, now=START)
    return await seek(asked, space=SPACE, store=shop.store, ranking=ranking)


async def test_the_terms_of_the_question_count_in_full(shop: Workshop) -> None:
    await shop.remember("green tea")
    found = await sought(shop, "which tea is green?")
    assert dict(found.worth) == {"tea": 1.0, "green": 1.0}
    assert (found.statistics.passages, found.statistics.frequencies["tea"], found.added) == (1, 1, ())


async def test_a_misspelt_word_is_taken_for_those_that_look_like_it(shop: Workshop) -> None:
    await shop.remember("the receipt is in the drawer")
    found = await sought(shop, "reciept")
    assert 0 < found.worth["receipt"] < 1
    assert found.statistics.frequencies["receipt"] == 1
    assert found.added == ("reciept taken for receipt",)
    assert (await sought(shop, "reciept", without="typos")).added == ()


@pytest.mark.parametrize("query", ["4712", "v1.2.4", "status"])
async def test_numbers_and_words_that_are_spelt_right_are_not_corrected(shop: Workshop, query: str) -> None:
    await shop.remember("the statue has number 4711, version v1.2.3")
    assert (await sought(shop, query)).added == ()


async def test_a_right_word_may_be_a_part_of_a_longer_one(shop: Workshop) -> None:
    await shop.remember("the databases are down")
    assert "databas" in (await sought(shop, "data")).worth


async def test_kin_count_where_the_word_is_missing_less_if_they_are_common(shop: Workshop) -> None:
    await shop.remember("she plays the guitar")
    await shop.remember("he tunes the violin")
    for number in range(8):
        await shop.remember(f"piano lesson {number}")
    found = await sought(shop, "instrument")
    shares = found.kin["instrument"]
    assert 0 < shares["violin"] <= 0.4
    assert 0 < shares["guitar"] <= 0.4
    # A word that nothing has is as rare as its kin are together.
    assert found.statistics.frequencies["instrument"] == 1 + 1 + 8
    await shop.remember("one instrument")
    known = (await sought(shop, "instrument")).kin["instrument"]
    assert known["piano"] < known["violin"]
    assert dict((await sought(shop, "instrument", without="kin")).kin) == {}


async def test_no_kin_of_what_the_question_says_itself(shop: Workshop) -> None:
    await shop.remember("she plays the guitar")
    found = await sought(shop, "which instrument, the guitar?")
    assert "guitar" not in found.kin["instrument"]


async def test_other_names_are_looked_for_too(shop: Workshop) -> None:
    await shop.remember(Draft(text="a company", title="Acme Corporation", metadata={"aliases": ["AWC"]}))
    found = await sought(shop, "what of AWC?")
    # Both words of the other name together are worth one that it stands for, and a little less.
    assert found.worth["corpor"] == found.worth["acm"] == 0.35
    assert any("Acme Corporation" in told for told in found.added)
    assert "corpor" not in (await sought(shop, "what of AWC?", without="names")).worth


async def test_words_of_another_state_or_space_are_not_known(shop: Workshop) -> None:
    receipt = await shop.kept("the receipt")
    await shop.forget(receipt.id)
    assert (await sought(shop, "reciept")).added == ()
    assert (await sought(shop, "reciept", filter=Filter(state=State.TRASHED))).added != ()


def test_the_rarer_the_more_a_term_tells() -> None:
    assert idf(100, 1) > idf(100, 50) > idf(100, 100) > 0
    assert idf(100, 0) == 0.0


async def test_a_tag_that_is_named_counts_more(shop: Workshop) -> None:
    await shop.remember(Draft(text="the token expires", tags=("oauth", "machine learning")))
    found = await sought(shop, "#oauth and machine learning token")
    assert [found.worth[term] for term in ("oauth", "machin", "learn", "token")] == [1.5, 1.5, 1.5, 1.0]
    assert set((await sought(shop, "#oauth", without="names")).worth.values()) == {1.0}


async def test_many_long_names_add_few_words(shop: Workshop) -> None:
    aliases: list[Json] = ["Bob", *(f"{'x' * 20}{number} {'y' * 20}{number} z{number}" for number in range(60))]
    await shop.remember(Draft(text="a person", metadata={"aliases": aliases}))
    found = await sought(shop, "what of Bob?")
    assert len(found.worth) <= 17
    assert sum(map(len, found.added)) < 1000


async def test_what_nothing_has_is_searched_for_by_its_nearest_kin(shop: Workshop) -> None:
    await shop.remember("she plays the guitar")
    await shop.remember("a walk in the park")
    found = await sought(shop, "instrument")
    assert "guitar" in found.terms
    assert found.statistics.frequencies["instrument"] <= found.statistics.passages
