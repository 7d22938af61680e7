"""A cursor records which memories were shown, and when the first position was made."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START, a_memory
from tests.unit.strategies import some_examples

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.model.requests import RecallRequest
from scrubjay.recalling.paging import PagePosition, next_cursor, parse_cursor

QUESTION = RecallRequest(query="tea")
NOW = START + timedelta(days=1)


def after(position: PagePosition, *shown: Memory, question: RecallRequest = QUESTION) -> PagePosition:
    return parse_cursor(next_cursor(position, shown, question, spaces=("a",), now=NOW), question, spaces=("a",))


def test_the_first_page_has_shown_nothing() -> None:
    position = parse_cursor("", QUESTION, spaces=("a",))
    assert position == PagePosition()
    assert not position.excludes(a_memory("tea"))
    assert not position.excludes_id("x")


def test_memories_of_all_earlier_pages_are_excluded() -> None:
    first, second, third = (a_memory(f"tea {number}") for number in range(3))
    position = after(after(PagePosition(), first), second)
    assert [position.excludes(memory) for memory in (first, second, third)] == [True, True, False]
    assert [position.excludes_id(memory.id) for memory in (first, second, third)] == [True, True, False]


def test_a_group_is_shown_as_one() -> None:
    first, second = a_memory("tea", group="g"), a_memory("tea", group="g")
    assert after(PagePosition(), first).excludes(second)


def test_newer_memories_wait_for_the_next_question() -> None:
    position = after(after(PagePosition(), a_memory("tea")), a_memory("milk"))
    assert position.since == NOW
    assert position.excludes(a_memory("new", created_at=NOW + timedelta(seconds=1)))
    assert not position.excludes(a_memory("old", created_at=NOW))


@pytest.mark.parametrize(
    ("question", "spaces"),
    [
        (RecallRequest(query="milk"), ("a",)),
        (RecallRequest(query="tea", contains="x"), ("a",)),
        (RecallRequest(query="tea", filter=Filter(kind="fact")), ("a",)),
        (QUESTION, ("a", "b")),
    ],
)
def test_a_cursor_belongs_to_its_question(question: RecallRequest, spaces: tuple[str, ...]) -> None:
    cursor = next_cursor(PagePosition(), [a_memory("tea")], QUESTION, spaces=("a",), now=NOW)
    with pytest.raises(InvalidInput, match="cursor"):
        parse_cursor(cursor, question, spaces=spaces)


def test_the_limits_may_change_from_page_to_page() -> None:
    cursor = next_cursor(PagePosition(), [a_memory("tea")], QUESTION, spaces=("a",), now=NOW)
    assert parse_cursor(cursor, replace(QUESTION, limit=3, max_tokens=9, detail="full"), spaces=("a",)).shown


@given(st.text(max_size=60))
@some_examples
def test_any_other_text_is_refused(cursor: str) -> None:
    if cursor:
        with pytest.raises(InvalidInput) as caught:
            parse_cursor(cursor, QUESTION, spaces=("a",))
        assert caught.value.fields["field"] == "cursor"
