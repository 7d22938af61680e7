"""A cursor tells what was shown and when the first page was."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START, a_memory
from tests.unit.strategies import some

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter, Question
from scrubjay.recalling.paging import Page, cursor_after, page_of

QUESTION = Question(query="tea")
NOW = START + timedelta(days=1)


def after(page: Page, *told: Memory, question: Question = QUESTION) -> Page:
    return page_of(cursor_after(page, told, question, spaces=("a",), now=NOW), question, spaces=("a",))


def test_the_first_page_has_shown_nothing() -> None:
    page = page_of("", QUESTION, spaces=("a",))
    assert page == Page()
    assert not page.has(a_memory("tea"))
    assert not page.has_id("x")


def test_what_was_shown_on_any_page_before_is_known() -> None:
    first, second, third = (a_memory(f"tea {number}") for number in range(3))
    page = after(after(Page(), first), second)
    assert [page.has(one) for one in (first, second, third)] == [True, True, False]
    assert [page.has_id(one.id) for one in (first, second, third)] == [True, True, False]


def test_a_group_is_shown_as_one() -> None:
    one, other = a_memory("tea", group="g"), a_memory("tea", group="g")
    assert after(Page(), one).has(other)


def test_what_came_after_the_first_page_waits_for_the_next_question() -> None:
    page = after(after(Page(), a_memory("tea")), a_memory("milk"))
    assert page.since == NOW
    assert page.has(a_memory("new", created_at=NOW + timedelta(seconds=1)))
    assert not page.has(a_memory("old", created_at=NOW))


@pytest.mark.parametrize(
    ("question", "spaces"),
    [
        (Question(query="milk"), ("a",)),
        (Question(query="tea", contains="x"), ("a",)),
        (Question(query="tea", filter=Filter(kind="fact")), ("a",)),
        (QUESTION, ("a", "b")),
    ],
)
def test_a_cursor_belongs_to_its_question(question: Question, spaces: tuple[str, ...]) -> None:
    cursor = cursor_after(Page(), [a_memory("tea")], QUESTION, spaces=("a",), now=NOW)
    with pytest.raises(InvalidInput, match="cursor"):
        page_of(cursor, question, spaces=spaces)


def test_how_much_is_asked_for_may_change_from_page_to_page() -> None:
    cursor = cursor_after(Page(), [a_memory("tea")], QUESTION, spaces=("a",), now=NOW)
    assert page_of(cursor, replace(QUESTION, limit=3, max_tokens=9, detail="full"), spaces=("a",)).shown


@given(st.text(max_size=60))
@some
def test_any_other_text_is_refused(cursor: str) -> None:
    if cursor:
        with pytest.raises(InvalidInput) as caught:
            page_of(cursor, QUESTION, spaces=("a",))
        assert caught.value.fields["field"] == "cursor"
