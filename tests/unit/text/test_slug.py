"""Handles: short, in lower case, and found by half a title."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples

from scrubjay.model.identity import new_id
from scrubjay.text.slug import add_suffix, bare_slug, slug, slug_of_subject, whole_slug


@pytest.mark.parametrize(
    ("text", "handle"),
    [
        ("Meeting with John", "meeting-with-john"),
        ("  --Hello,   World!!--", "hello-world"),
        ("snake_case", "snake-case"),
        ("Sarah's & John\u2019s tea", "sarahs-johns-tea"),
        ("Zürich Café", "zürich-café"),
        ("\uff21\uff22\uff23 ﬁle", "abc-file"),
        ("東京 タワー", "東京-タワー"),
        ("हिन्दी है।", "हिन्दी-है"),
        ("İstanbul", "i\u0307stanbul"),
        ("❤\ufe0f", ""),
        ("I ❤\ufe0f tea", "i-tea"),
        ("…", ""),
        ("", ""),
    ],
)
def test_a_text_becomes_a_handle(text: str, handle: str) -> None:
    assert slug(text) == handle


@given(st.text(max_size=120))
@some_examples
def test_a_slug_is_short_tidy_and_stable(text: str) -> None:
    made = slug(text)
    assert len(made) <= 64
    assert made == made.strip("-")
    assert "--" not in made
    assert not any(letter.isspace() for letter in made)


@given(st.lists(st.text("abz09é東", min_size=1, max_size=9), max_size=9).map("-".join))
@some_examples
def test_a_handle_of_a_handle_is_the_same(made: str) -> None:
    assert slug(slug(made)) == slug(made)


def test_a_long_title_is_cut_without_a_hyphen_at_its_end() -> None:
    assert slug("a" * 63 + " " + "b" * 10) == "a" * 63


@pytest.mark.parametrize(
    ("text", "handle"),
    [
        ("Sarah prefers tea in the morning and at the office", "sarah-prefers-tea"),
        ("Deploys happen on Thursdays.", "deploys"),
        ("payout-worker goes out Mondays after the bank cut-off, around 17:30.", "payout-worker-mondays-bank"),
        ("Production traffic reaches booking-api at https://api.booking.internal.", "production-traffic-reaches"),
        ("Der Server hei\u00dft seit Mai Falke.", "server-heisst-mai"),
        ("Root cause of the double payout: the key contained the counter.", "root-cause-double"),
        ("green tea", "green-tea"),
        ("the", "the"),
        ("  ", ""),
        ("and so it was", "and-so-it"),
    ],
)
def test_a_text_without_a_title_gets_a_short_handle_of_its_subject(text: str, handle: str) -> None:
    assert slug_of_subject(text) == handle


def test_a_handle_does_not_end_inside_a_word() -> None:
    title = "The production traffic of the booking service reaches the internal network"
    assert whole_slug(title) == "the-production-traffic-of-the-booking-service-reaches-the"
    assert whole_slug("a" * 70) == "a" * 64
    assert len(slug_of_subject("internationalisation internationalisation internationalisation")) <= 32


def test_half_a_title_has_the_same_bare_handle() -> None:
    title = "Meeting with John about Q4 goals"
    assert bare_slug(title) == "meeting-john-q4-goals"
    assert bare_slug("meeting-john-q4-goals") == bare_slug(title)
    assert bare_slug("the who") == ""


def test_a_suffix_is_a_piece_of_the_id() -> None:
    memory_id = new_id()
    assert add_suffix("note", memory_id) == f"note-{memory_id[-6:]}"
