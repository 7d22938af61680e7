"""Costs, cuts and fitting of entries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.budget import ListEntry, cost_of, drop_empty, find_cut, fit, room_for, shorten, trim_lists
from scrubjay.text.cost import estimate_tokens

_ID = "019a3c4e-7b1c-7d20-8e1f-2b3c4d5e6f70"


@pytest.mark.parametrize(
    ("max_tokens", "room"),
    [(None, 1_470), (1, 270), (300, 270), (2_000, 1_970), (8_000, 7_970), (10**9, 7_970), (True, 1_470)],
)
def test_room_is_the_requested_size_within_bounds(max_tokens: Json, room: int) -> None:
    assert room_for(max_tokens) == room


def test_an_id_costs_more_than_words_of_its_length() -> None:
    assert cost_of(_ID) >= 32
    assert cost_of(f"{_ID} {_ID}") >= 2 * 32
    assert cost_of("a", {"id": _ID}) > cost_of("a")


@given(st.text(), st.integers(min_value=1, max_value=200), st.integers(min_value=0, max_value=50))
def test_a_cut_never_costs_more_and_always_goes_on(text: str, tokens: int, start: int) -> None:
    start = min(start, len(text))
    end = find_cut(text, start=start, tokens=tokens)
    assert start <= end <= len(text)
    assert end > start or start == len(text)
    assert end == start + 1 or estimate_tokens(text[start:end]) <= tokens + 1


def test_a_cut_prefers_paragraphs_then_lines_then_sentences_then_words() -> None:
    assert find_cut("one two. three\nfour five\n\nsix seven", tokens=12) == len("one two. three\nfour five\n\n")
    assert find_cut("one two. three\nfour five six seven", tokens=12) == len("one two. three\nfour five six ")
    assert find_cut("aaaa bbbb cccc. dddd eeee", tokens=9) == len("aaaa bbbb cccc. ")
    assert find_cut("x" * 100, tokens=10) == 20


def test_a_beginning_says_that_it_is_one() -> None:
    assert shorten("short", tokens=9) == "short"
    assert shorten("one two three four five six", tokens=6) == "one two three…"


def test_lines_are_shortened_before_entries_are_left_out() -> None:
    entries = [ListEntry(structured={"n": number}, line="x" * 300, short="x") for number in range(5)]
    assert [entry.line for entry in fit(entries, room=10_000)] == ["x" * 300] * 5
    assert [entry.line for entry in fit(entries, room=50)] == ["x"] * 5
    assert len(fit(entries, room=27)) == 3
    assert fit(entries, room=0) == []


def test_empty_fields_are_left_out() -> None:
    assert drop_empty({"a": None, "b": "", "c": [], "d": {}, "e": 0, "f": False, "g": "x"}) == {
        "e": 0,
        "f": False,
        "g": "x",
    }


def test_lists_lose_their_ends() -> None:
    first: list[Json] = ["aaa"] * 10
    second: list[Json] = ["bbb"] * 10
    whole: dict[str, Json] = {"name": "x", "first": first, "second": second}
    assert trim_lists(whole, room=1_000) == whole
    trimmed = trim_lists(whole, room=80)
    assert (trimmed["first"], cost_of("", trimmed) <= 80) == (["aaa"] * 10, True)
    assert len(str(trimmed["second"])) < len(str(whole["second"]))
    assert trim_lists(whole, room=0) == {"name": "x", "first": [], "second": []}
