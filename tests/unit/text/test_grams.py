"""Which known term was meant by a misspelt or partial one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import some

from scrubjay.text.grams import grams_of, likeness

terms = st.text(st.sampled_from("abcde19茶é"), min_size=1, max_size=12)


def test_trigrams_mark_where_a_term_begins_and_ends() -> None:
    assert grams_of("tea") == {" te", "tea", "ea "}
    assert grams_of("a") == {" a "}
    assert grams_of("茶") == {" 茶 "}
    assert grams_of("") == frozenset()


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("guitr", "guitar"),
        ("giutar", "guitar"),
        ("postgers", "postgres"),
        ("kubernates", "kubernetes"),
        ("kuberentes", "kubernetes"),
        ("recei", "receipt"),
        ("base", "database"),
        ("postgresql", "postgres"),
        ("python", "python3"),
        ("한국", "한국어를"),
        ("학교에서", "학교에"),
    ],
)
def test_what_was_meant(asked: str, known: str) -> None:
    assert 0 < likeness(asked, known) < 1


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("cat", "car"),
        ("tea", "teapot"),
        ("bas", "database"),
        ("guitar", "violin"),
        ("gutr", "guitar"),
        ("2023", "2024"),
        ("2023", "20231"),
        ("python2", "python3"),
        ("room101", "room102"),
        ("3·11", "3·12"),
        ("", "tea"),
        ("tea", ""),
    ],
)
def test_what_was_not(asked: str, known: str) -> None:
    assert likeness(asked, known) == 0


def test_a_slip_is_likelier_than_two_and_than_a_part() -> None:
    one, two = likeness("kubernetez", "kubernetes"), likeness("kubernatez", "kubernetes")
    first, beginning, inner = likeness("cuitar", "guitar"), likeness("recei", "receipt"), likeness("base", "database")
    assert 1 > one > two > inner
    assert one > first > beginning > inner > 0


@given(terms, terms)
@some
def test_likeness_is_a_share_and_only_of_the_same_whole(asked: str, known: str) -> None:
    share = likeness(asked, known)
    assert 0 <= share <= 1
    assert (share == 1) == (asked == known)
