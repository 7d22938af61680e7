"""Fuzzy comparison of terms and labels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples

from scrubjay.text.fuzzy import close_labels, grams_of, likeness

terms = st.text(st.sampled_from("abcde19茶é"), min_size=1, max_size=12)


def test_trigrams_mark_where_a_term_begins_and_ends() -> None:
    assert grams_of("tea") == {" te", "tea", "ea "}
    assert grams_of("a") == {" a "}
    assert grams_of("茶") == {" 茶 "}
    assert grams_of("") == frozenset()


@pytest.mark.parametrize(
    ("written", "existing"),
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
def test_a_misspelt_or_partial_term_means_an_existing_one(written: str, existing: str) -> None:
    assert 0 < likeness(written, existing) < 1


@pytest.mark.parametrize(
    ("written", "existing"),
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
def test_another_term_is_not_meant(written: str, existing: str) -> None:
    assert likeness(written, existing) == 0


def test_one_typing_error_is_likelier_than_two_and_than_a_part() -> None:
    last_letter, inner_letter = likeness("kubernetez", "kubernetes"), likeness("kubernatez", "kubernetes")
    first, beginning, inner = likeness("cuitar", "guitar"), likeness("recei", "receipt"), likeness("base", "database")
    assert 1 > last_letter > inner_letter > inner
    assert last_letter > first > beginning > inner > 0


@given(terms, terms)
@some_examples
def test_likeness_is_a_share_and_only_of_the_same_whole(written: str, existing: str) -> None:
    share = likeness(written, existing)
    assert 0 <= share <= 1
    assert (share == 1) == (written == existing)


LABELS = ["system architecture", "sarah chen", "invoice", "invoices"]


def test_a_letter_or_two_may_be_wrong() -> None:
    assert close_labels("sistem architecure", LABELS, limit=3) == ["system architecture"]
    assert close_labels("sarha chen", LABELS, limit=3) == ["sarah chen"]
    assert close_labels("invoise", LABELS, limit=3) == ["invoice", "invoices"]
    assert close_labels("invoise", LABELS, limit=1) == ["invoice"]


def test_another_word_is_another_word() -> None:
    assert close_labels("harbour", LABELS, limit=3) == []
