"""The terms to search for: those of the question, and their expansions; and other spellings of a filter."""

import pytest
from tests.fakes.build import START
from tests.unit.harness import SPACE, Harness

from scrubjay.model.draft import Draft, Limits
from scrubjay.model.memory import Json, State
from scrubjay.model.query import Filter
from scrubjay.model.ranking import Ranking
from scrubjay.model.requests import RecallRequest
from scrubjay.recalling.query_terms import QueryTerms, expand_terms, idf
from scrubjay.recalling.understand import understand
from scrubjay.text.names import spellings_of


async def expanded(harness: Harness, query: str, *, without: str = "", filter: Filter | None = None) -> QueryTerms:
    ranking = Ranking.parse(without=without)
    question = RecallRequest(query=query, filter=filter or Filter())
    parsed = understand(question, limits=Limits(), ranking=ranking, now=START)
    return await expand_terms(parsed, space=SPACE, store=harness.store, ranking=ranking)


async def test_the_terms_of_the_question_count_in_full(harness: Harness) -> None:
    await harness.remember("green tea")
    terms = await expanded(harness, "which tea is green?")
    assert dict(terms.weights) == {"tea": 1.0, "green": 1.0}
    assert (terms.statistics.passages, terms.statistics.frequencies["tea"], terms.expansions) == (1, 1, ())


async def test_a_misspelt_word_is_corrected(harness: Harness) -> None:
    await harness.remember("the receipt is in the drawer")
    terms = await expanded(harness, "reciept")
    assert 0 < terms.weights["receipt"] < 1
    assert terms.statistics.frequencies["receipt"] == 1
    assert terms.expansions == ("reciept taken for receipt",)
    assert (await expanded(harness, "reciept", without="typos")).expansions == ()


@pytest.mark.parametrize("query", ["4712", "v1.2.4", "status"])
async def test_numbers_and_words_that_are_spelt_right_are_not_corrected(harness: Harness, query: str) -> None:
    await harness.remember("the statue has number 4711, version v1.2.3")
    assert (await expanded(harness, query)).expansions == ()


async def test_a_correct_word_can_be_a_part_of_a_longer_one(harness: Harness) -> None:
    await harness.remember("the databases are down")
    assert "databas" in (await expanded(harness, "data")).weights


async def test_related_words_count_where_the_word_is_missing_and_less_if_they_are_common(harness: Harness) -> None:
    await harness.remember("she plays the guitar")
    await harness.remember("he tunes the violin")
    for number in range(8):
        await harness.remember(f"piano lesson {number}")
    terms = await expanded(harness, "instrument")
    shares = terms.related["instrument"]
    assert 0 < shares["violin"] <= 0.4
    assert 0 < shares["guitar"] <= 0.4
    # A word that no passage has is as rare as its related words together.
    assert terms.statistics.frequencies["instrument"] == 1 + 1 + 8
    await harness.remember("one instrument")
    related = (await expanded(harness, "instrument")).related["instrument"]
    assert related["piano"] < related["violin"]
    assert dict((await expanded(harness, "instrument", without="kin")).related) == {}


async def test_words_of_the_question_are_no_related_words(harness: Harness) -> None:
    await harness.remember("she plays the guitar")
    terms = await expanded(harness, "which instrument, the guitar?")
    assert "guitar" not in terms.related["instrument"]


async def test_other_names_are_searched_for_too(harness: Harness) -> None:
    await harness.remember(Draft(text="a company", title="Acme Corporation", metadata={"aliases": ["AWC"]}))
    terms = await expanded(harness, "what of AWC?")
    # Both words of the other name together weigh a little less than the word that they replace.
    assert terms.weights["corpor"] == terms.weights["acm"] == 0.35
    assert any("Acme Corporation" in expansion for expansion in terms.expansions)
    assert "corpor" not in (await expanded(harness, "what of AWC?", without="names")).weights


async def test_words_of_another_state_are_unknown(harness: Harness) -> None:
    receipt = await harness.store_draft("the receipt")
    await harness.forget(receipt.id)
    assert (await expanded(harness, "reciept")).expansions == ()
    assert (await expanded(harness, "reciept", filter=Filter(state=State.TRASHED))).expansions != ()


def test_rarer_terms_weigh_more() -> None:
    assert idf(100, 1) > idf(100, 50) > idf(100, 100) > 0
    assert idf(100, 0) == 0.0


async def test_a_tag_in_the_question_counts_more(harness: Harness) -> None:
    await harness.remember(Draft(text="the token expires", tags=("oauth", "machine learning")))
    terms = await expanded(harness, "#oauth and machine learning token")
    assert [terms.weights[term] for term in ("oauth", "machin", "learn", "token")] == [1.5, 1.5, 1.5, 1.0]
    assert set((await expanded(harness, "#oauth", without="names")).weights.values()) == {1.0}


async def test_many_long_names_add_few_words(harness: Harness) -> None:
    aliases: list[Json] = ["Bob", *(f"{'x' * 20}{number} {'y' * 20}{number} z{number}" for number in range(60))]
    await harness.remember(Draft(text="a person", metadata={"aliases": aliases}))
    terms = await expanded(harness, "what of Bob?")
    assert len(terms.weights) <= 17
    assert sum(map(len, terms.expansions)) < 1000


async def test_a_word_that_no_passage_has_is_replaced_by_related_ones(harness: Harness) -> None:
    await harness.remember("she plays the guitar")
    await harness.remember("a walk in the park")
    terms = await expanded(harness, "instrument")
    assert "guitar" in terms.search_terms
    assert terms.statistics.frequencies["instrument"] <= terms.statistics.passages


# ---- other spellings of a filter --------------------------------------------------------------------

WRITTEN = ("Acme", "Acme Corp.", "ACME, Inc.", "Acme Bakery")


@pytest.mark.parametrize(
    ("entity", "expected"),
    [
        ("Acme", {"Acme", "Acme Corp.", "ACME, Inc."}),
        ("acme corp.", {"Acme", "Acme Corp."}),
        ("Acme Bakery", {"Acme Bakery"}),
        ("Bakery", set[str]()),
    ],
)
async def test_an_entity_is_found_by_its_other_names(harness: Harness, entity: str, expected: set[str]) -> None:
    for name in WRITTEN:
        await harness.remember(Draft(text=f"They bake bread, says the one of {name}", entities=(name,)))
    answer = await harness.recall(RecallRequest(query="bread", filter=Filter(entity=entity)))
    assert {name for hit in answer.hits for name in hit.entities} == expected


async def test_an_expanded_filter_has_a_next_page(harness: Harness) -> None:
    for entity in WRITTEN:
        await harness.remember(Draft(text=f"They bake bread, says the one of {entity}", entities=(entity,)))
    question = RecallRequest(query="bread", filter=Filter(entity="Acme"), limit=2)
    first = await harness.recall(question)
    second = await harness.recall(question, cursor=first.cursor)
    assert len({hit.id for hit in (*first.hits, *second.hits)}) == 3


def test_a_name_has_one_spelling_for_each_company_suffix() -> None:
    assert spellings_of("Acme Corp") == ("acme",)
    assert spellings_of("  ") == ()
    assert "sarah gmbh" in spellings_of("Sarah")
