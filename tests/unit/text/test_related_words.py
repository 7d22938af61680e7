"""Words of like meaning, from a table that comes with the package."""

import pytest

from scrubjay.text.related_words import is_word, related_terms
from scrubjay.text.tokens import terms_of


def term(word: str) -> str:
    (found,) = terms_of(word)
    return found


@pytest.mark.parametrize(
    ("word", "other"), [("instrument", "guitar"), ("furniture", "sofa"), ("car", "vehicle"), ("illness", "disease")]
)
def test_words_of_like_meaning_are_kin(word: str, other: str) -> None:
    closeness = {one.term: one.closeness for one in related_terms(term(word))}
    assert closeness[term(other)] >= 0.5


def test_the_nearest_come_first_and_nobody_is_his_own_kin() -> None:
    found = related_terms(term("instrument"))
    assert 0 < len(found) <= 20
    assert [one.closeness for one in found] == sorted((one.closeness for one in found), reverse=True)
    assert all(0.49 < one.closeness <= 1 for one in found)
    assert term("instrument") not in {one.term for one in found}


@pytest.mark.parametrize("unknown", ["", "reciept", "4711", "茶", "snakecas"])
def test_what_is_no_common_word_has_none(unknown: str) -> None:
    assert related_terms(unknown) == ()
    assert not is_word(unknown)


def test_common_words_are_known() -> None:
    assert all(is_word(term(word)) for word in ("status", "guitar", "went", "children"))
