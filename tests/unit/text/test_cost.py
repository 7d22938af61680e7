"""The estimated tokens of a text, compared with those of a real model."""

import base64
import hashlib
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.surfaces.mcp.expensive_texts import EXPENSIVE
from tests.surfaces.mcp.token_count import count_tokens
from tests.unit.strategies import some_examples

from scrubjay.text.cost import end_within, estimate_tokens

_PROSE = {
    "news": "The city council voted on Tuesday to extend the tram line to the airport, a project that was discussed "
    "for more than twenty years. Construction will begin in March and is expected to take four years. Residents along "
    "the route have asked for noise barriers, and for work to stop at night. Critics doubt the numbers and point out "
    "that the last extension cost twice as much as planned.",
    "notes": "Anna prefers short answers. She works at Northwind since 2024, leads the payments team, and her manager "
    "is Tom Baker. Her dog is called Biscuit. She is allergic to peanuts. Release 2.4 goes out on Monday; do not merge "
    "after Friday noon.",
    "letter": "When I came back to the village the old mill had gone, and nobody could tell me where the family had "
    "moved. I left a note with the baker, who promised to ask around, and took the evening train home again.",
}
any_text = st.text(st.one_of(st.characters(), st.sampled_from('ab cdEF12\n\t",:-=.茶é☕\u0e01')), max_size=60)


@pytest.mark.parametrize("kind", EXPENSIVE)
def test_no_kind_of_text_costs_much_more_than_is_said(kind: str) -> None:
    assert estimate_tokens(EXPENSIVE[kind]) >= 0.94 * count_tokens(EXPENSIVE[kind])
    quoted = json.dumps(EXPENSIVE[kind], ensure_ascii=False)
    assert estimate_tokens(quoted) >= 0.94 * count_tokens(quoted)


@pytest.mark.parametrize("kind", _PROSE)
def test_prose_is_not_said_to_cost_far_too_much(kind: str) -> None:
    assert 1 <= estimate_tokens(_PROSE[kind]) / count_tokens(_PROSE[kind]) <= 1.6


def test_an_id_costs_nearly_a_token_for_each_character_and_a_half() -> None:
    assert 24 <= estimate_tokens("019a3c4e-7b1c-7d20-8e1f-2b3c4d5e6f70") <= 36


def test_secrets_of_any_alphabet_are_not_taken_for_words() -> None:
    chance = random.Random(3)
    for size in (24, 64, 400):
        raw = chance.randbytes(size)
        for text in (raw.hex(), base64.b64encode(raw).decode(), hashlib.sha256(raw).hexdigest()):
            assert estimate_tokens(text) >= 0.9 * count_tokens(text)


@given(any_text)
@some_examples
def test_no_text_costs_nothing_or_more_than_three_tokens_a_character(text: str) -> None:
    assert 1 <= estimate_tokens(text) <= 3 * len(text) + 1


@given(any_text, any_text)
@some_examples
def test_a_longer_text_never_costs_less(text: str, other: str) -> None:
    assert estimate_tokens(text + other) >= estimate_tokens(text)


@given(any_text, st.integers(0, 60), st.integers(0, 80))
@some_examples
def test_reach_is_as_far_as_the_tokens_go(text: str, start: int, count: int) -> None:
    start = min(start, len(text))
    end = end_within(text, start=start, tokens=count)
    assert start <= end <= len(text)
    assert estimate_tokens(text[start:end]) <= count + 1
    if start == 0 and end < len(text):
        assert estimate_tokens(text[: end + 1]) > count


def test_the_rest_of_a_text_that_is_very_long_is_counted_by_its_length() -> None:
    for longer in ("x" * 65_536, "x" * 65_540, "tea " * 100_000):
        assert estimate_tokens(longer + "y" * 3_000) >= estimate_tokens(longer) + 1_000


def test_nothing_hides_behind_much_that_costs_little() -> None:
    hidden = " " * 200_000 + EXPENSIVE["Khmer"] * 5
    assert estimate_tokens(hidden) >= count_tokens(hidden)


def test_control_characters_cost_a_token_each_however_many() -> None:
    for sign in ("\x00", "\x01", "\x7f", "\r"):
        assert estimate_tokens(sign * 60_000) == 60_001
