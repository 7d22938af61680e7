"""What is asked, in the terms of the index; any text is a question."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START
from tests.unit.strategies import some

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.draft import Limits
from scrubjay.model.query import Filter, Question
from scrubjay.model.ranking import Ranking
from scrubjay.recalling.understand import Understood, understand
from scrubjay.text.tokens import terms_of

LIMITS = Limits(query_bytes=5000, results=50)


def understood(asked: str, **fields: object) -> Understood:
    return understand(replace(Question(query=asked), **fields), limits=LIMITS, ranking=Ranking(), now=START)


def test_words_become_terms_each_once() -> None:
    asked = understood("Which tea, which TEAS does Sarah drink?")
    assert asked.terms == ("tea", "sarah", "drink")
    assert asked.text == "Which tea, which TEAS does Sarah drink?"


def test_nothing_asked_is_no_text_and_no_terms() -> None:
    for query in ("", "  \n", "\x00", "?!…", "--- *** ///"):
        assert (understood(query).text, understood(query).terms) == ("", ())


@given(st.text(max_size=80))
@some
def test_any_text_is_a_question(query: str) -> None:
    asked = understood(query)
    asked.text.encode()
    assert "\x00" not in asked.text
    assert set(asked.terms) <= set(terms_of(asked.text)) | set(terms_of(query))


def test_terms_side_by_side_are_pairs_and_quotations_are_phrases() -> None:
    asked = understood('did Sarah say "green tea with milk" or \u201cblack tea\u201d? ""')
    assert asked.pairs[:3] == ("sarah say", "say green", "green tea")
    assert asked.phrases == ("green tea milk", "black tea")


def test_days_are_counted_from_the_day_that_is_given() -> None:
    (today,) = understood("what did I do yesterday?").spans
    assert today.end == START.replace(hour=0, minute=0, second=0, microsecond=0)
    (other,) = understood("what did I do yesterday?", today=START - timedelta(days=10)).spans
    assert other.end == today.end - timedelta(days=10)


@pytest.mark.parametrize(("stage", "field"), [("pairs", "pairs"), ("phrases", "phrases"), ("dates", "spans")])
def test_a_stage_can_be_left_out(stage: str, field: str) -> None:
    question = Question(query='was it "green tea" yesterday?')
    whole = understand(question, limits=LIMITS, ranking=Ranking(), now=START)
    less = understand(question, limits=LIMITS, ranking=Ranking.parse(without=stage), now=START)
    assert getattr(whole, field)
    assert replace(whole, **{field: ()}) == less


@pytest.mark.parametrize("query", ['"tea" AND (milk OR', "tea* NEAR/2 milk", "{terms}: x", "-tea", "'; DROP TABLE"])
def test_operators_are_words(query: str) -> None:
    assert understood(query).text == query


def test_a_page_of_text_is_looked_for_by_its_first_words() -> None:
    asked = understood(" ".join(f"word{number}" for number in range(300)))
    assert len(asked.terms) == 64
    assert len(asked.text) <= 2000


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"query": 5}, InvalidInput, "query"),
        ({"query": None}, InvalidInput, "query"),
        ({"query": "ä" * 2501}, TooLarge, "query"),
        ({"limit": 0}, InvalidInput, "limit"),
        ({"limit": 51}, InvalidInput, "limit"),
        ({"limit": "8"}, InvalidInput, "limit"),
        ({"max_tokens": 0}, InvalidInput, "max_tokens"),
        ({"max_tokens": 1.5}, InvalidInput, "max_tokens"),
        ({"explain": "yes"}, InvalidInput, "explain"),
        ({"around": -1}, InvalidInput, "around"),
        ({"around": 11}, InvalidInput, "around"),
        ({"around": True}, InvalidInput, "around"),
        ({"contains": 7}, InvalidInput, "contains"),
        ({"contains": "x" * 5001}, TooLarge, "contains"),
        ({"today": "2023-05-07"}, InvalidInput, "today"),
        ({"today": datetime(2023, 5, 7)}, InvalidInput, "today"),  # noqa: DTZ001 - that it has no zone is the point
        ({"detail": "everything"}, InvalidInput, "detail"),
        ({"filter": Filter(since=START, until=START)}, InvalidInput, "since"),
        ({"filter": Filter(since=START + timedelta(seconds=1), until=START)}, InvalidInput, "since"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_by_name(
    fields: dict[str, object], error: type[InvalidInput], field: str
) -> None:
    with pytest.raises(InvalidInput, match=field) as caught:
        understood("tea", **fields)
    assert type(caught.value) is error
    assert caught.value.fields["field"] == field


def test_half_open_times_are_fine() -> None:
    assert understood("tea", filter=Filter(since=START))
    assert understood("tea", filter=Filter(until=START))
    assert understood("tea", filter=Filter(since=START, until=START + timedelta(microseconds=1)))
