"""Words of related meaning, from a table that comes with the package."""

import pytest

from scrubjay.text.related_words import is_word, related_terms
from scrubjay.text.tokens import terms_of


def term(word: str) -> str:
    (term,) = terms_of(word)
    return term


@pytest.mark.parametrize(
    ("word", "other"), [("instrument", "guitar"), ("furniture", "sofa"), ("car", "vehicle"), ("illness", "disease")]
)
def test_words_of_like_meaning_are_related(word: str, other: str) -> None:
    closeness = {related.term: related.closeness for related in related_terms(term(word))}
    assert closeness[term(other)] >= 0.5


def test_the_closest_come_first_and_no_term_is_related_to_itself() -> None:
    related = related_terms(term("instrument"))
    closeness = [each.closeness for each in related]
    assert 0 < len(related) <= 20
    assert closeness == sorted(closeness, reverse=True)
    assert all(0.49 < value <= 1 for value in closeness)
    assert term("instrument") not in {each.term for each in related}


@pytest.mark.parametrize("unknown", ["", "reciept", "4711", "茶", "snakecas"])
def test_a_word_that_is_not_common_has_none(unknown: str) -> None:
    assert related_terms(unknown) == ()
    assert not is_word(unknown)


def test_common_words_are_known() -> None:
    assert all(is_word(term(word)) for word in ("status", "guitar", "went", "children"))
