"""Acme is found where Acme Corp is written, and the other way round."""

import pytest
from tests.unit.write_world import Workshop

from scrubjay.model.draft import Draft
from scrubjay.model.query import Filter, Question
from scrubjay.text.names import spellings_of

WRITTEN = ("Acme", "Acme Corp.", "ACME, Inc.", "Acme Bakery")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("Acme", {"Acme", "Acme Corp.", "ACME, Inc."}),
        ("acme corp.", {"Acme", "Acme Corp."}),
        ("Acme Bakery", {"Acme Bakery"}),
        ("Bakery", set[str]()),
    ],
)
async def test_an_entity_is_found_by_its_other_names(shop: Workshop, asked: str, found: set[str]) -> None:
    for entity in WRITTEN:
        await shop.remember(Draft(text=f"They bake bread, says the one of {entity}", entities=(entity,)))
    answer = await shop.recall(Question(query="bread", filter=Filter(entity=asked)))
    assert {entity for hit in answer.hits for entity in hit.entities} == found


async def test_the_next_page_of_such_a_question_is_told(shop: Workshop) -> None:
    for entity in WRITTEN:
        await shop.remember(Draft(text=f"They bake bread, says the one of {entity}", entities=(entity,)))
    question = Question(query="bread", filter=Filter(entity="Acme"), limit=2)
    first = await shop.recall(question)
    second = await shop.recall(question, cursor=first.cursor)
    assert len({hit.id for hit in (*first.hits, *second.hits)}) == 3


def test_what_is_no_firm_has_one_spelling_more_for_each_ending_at_most() -> None:
    assert spellings_of("Acme Corp") == ("acme",)
    assert spellings_of("  ") == ()
    assert "sarah gmbh" in spellings_of("Sarah")
