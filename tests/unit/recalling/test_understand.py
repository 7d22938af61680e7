"""Parsing of questions; every text is a valid one."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START
from tests.unit.strategies import some_examples

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.draft import Limits
from scrubjay.model.query import Filter
from scrubjay.model.ranking import Ranking
from scrubjay.model.requests import RecallRequest
from scrubjay.recalling.understand import ParsedQuery, understand
from scrubjay.text.tokens import terms_of

LIMITS = Limits(query_bytes=5000, results=50)


def parse(text: str, **fields: object) -> ParsedQuery:
    return understand(replace(RecallRequest(query=text), **fields), limits=LIMITS, ranking=Ranking(), now=START)


def test_words_become_terms_each_once() -> None:
    parsed = parse("Which tea, which TEAS does Sarah drink?")
    assert parsed.terms == ("tea", "sarah", "drink")
    assert parsed.text == "Which tea, which TEAS does Sarah drink?"


def test_nothing_asked_is_no_text_and_no_terms() -> None:
    for query in ("", "  \n", "\x00", "?!…", "--- *** ///"):
        assert (parse(query).text, parse(query).terms) == ("", ())


@given(st.text(max_size=80))
@some_examples
def test_any_text_is_a_question(query: str) -> None:
    parsed = parse(query)
    parsed.text.encode()
    assert "\x00" not in parsed.text
    if parsed.language in ("", "english"):
        assert set(parsed.terms) <= set(terms_of(parsed.text)) | set(terms_of(query))


def test_adjacent_terms_are_pairs_and_quotations_are_phrases() -> None:
    parsed = parse('did Sarah say "green tea with milk" or \u201cblack tea\u201d? ""')
    assert parsed.pairs[:3] == ("sarah say", "say green", "green tea")
    assert parsed.phrases == ("green tea milk", "black tea")


def test_days_are_counted_from_today() -> None:
    (today,) = parse("what did I do yesterday?").spans
    assert today.end == START.replace(hour=0, minute=0, second=0, microsecond=0)
    (other,) = parse("what did I do yesterday?", today=START - timedelta(days=10)).spans
    assert other.end == today.end - timedelta(days=10)


@pytest.mark.parametrize(("stage", "field"), [("pairs", "pairs"), ("phrases", "phrases"), ("dates", "spans")])
def test_a_stage_can_be_left_out(stage: str, field: str) -> None:
    question = RecallRequest(query='was it "green tea" yesterday?')
    whole = understand(question, limits=LIMITS, ranking=Ranking(), now=START)
    less = understand(question, limits=LIMITS, ranking=Ranking.parse(without=stage), now=START)
    assert getattr(whole, field)
    assert replace(whole, **{field: ()}) == less


@pytest.mark.parametrize("query", ['"tea" AND (milk OR', "tea* NEAR/2 milk", "{terms}: x", "-tea", "'; DROP TABLE"])
def test_operators_are_words(query: str) -> None:
    assert parse(query).text == query


def test_a_page_of_text_is_searched_by_its_first_and_last_words() -> None:
    parsed = parse(" ".join(f"word{number}" for number in range(300)))
    assert len(parsed.terms) == 64
    assert len(parsed.text) <= 2000


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
        ({"today": "someday"}, InvalidInput, "today"),
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
        parse("tea", **fields)
    assert type(caught.value) is error
    assert caught.value.fields["field"] == field


def test_half_open_times_are_fine() -> None:
    assert parse("tea", filter=Filter(since=START))
    assert parse("tea", filter=Filter(until=START))
    assert parse("tea", filter=Filter(since=START, until=START + timedelta(microseconds=1)))
