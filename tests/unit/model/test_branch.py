"""Names of branches."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples

from scrubjay.errors import InvalidInput
from scrubjay.model.branch import MAX_BRANCH_NAME, require_branch_name


@pytest.mark.parametrize(
    "name",
    [
        "draft",
        "Draft",
        "a",
        "sarah/2026-plan",
        "v1.2",
        "a_b",
        "entwurf-ä",
        "черновик",
        "हिन्दी",
        "草稿",
        "x" * MAX_BRANCH_NAME,
    ],
)
def test_words_with_separators_are_names(name: str) -> None:
    assert require_branch_name(name) == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "no name"),
        ("main", "every memory has"),
        ("MAIN", "every memory has"),
        ("x" * (MAX_BRANCH_NAME + 1), "101 characters"),
        ("two words", "' ' is neither"),
        ("tab\there", "neither"),
        ("line\nbreak", "neither"),
        ("nul\x00", "neither"),
        ("bell\x07", "neither"),
        ("right\u202eleft", "neither"),
        ("zero\u200bwidth", "neither"),
        ("a:b", "':' is neither"),
        ("../up", "begin and end"),
        ("-draft", "begin and end"),
        ("draft/", "begin and end"),
        ("7", "no letter"),
        ("2026-11", "no letter"),
        (7, "must be a text"),
        (None, "must be a text"),
        ("\ud800", "surrogate"),
    ],
)
def test_an_invalid_name_is_refused_with_a_reason(name: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as caught:
        require_branch_name(name)
    assert caught.value.fields["field"] == "branch"
    assert "for example" in caught.value.hint or "text" in why or why == "surrogate"


def test_two_spellings_of_one_name_are_one() -> None:
    assert require_branch_name("cafe\u0301") == "caf\u00e9"


@given(st.text(max_size=12))
@some_examples
def test_an_accepted_name_does_not_change_again(name: str) -> None:
    try:
        accepted = require_branch_name(name)
    except InvalidInput:
        return
    assert require_branch_name(accepted) == accepted == unicodedata.normalize("NFC", name)
    assert accepted.isprintable()
    assert not accepted.isdecimal()
