"""Three-way merge of two texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples

from scrubjay.versions.merge_text import TextClash, merge_text

BASE = "One is here. Two is here. Three is here.\nFour is a line.\nFive is a line."


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (("One is", "One was"), ("Five is", "Five was")),
        # Changes of neighbouring sentences do not clash.
        (("One is", "One was"), ("Two is", "Two was")),
        # The same change on both sides is no clash.
        (("Two is", "Two was"), ("Two is", "Two was")),
        ((" Two is here.", ""), ("\nFive is a line.", "")),
        (("One is", "One was"), ("a line.\nFive", "a line.\nMore.\nFive")),
    ],
)
def test_a_change_of_one_side_is_taken(ours: tuple[str, str], theirs: tuple[str, str]) -> None:
    merged = BASE.replace(*ours).replace(*theirs)
    assert merge_text(BASE, BASE.replace(*ours), BASE.replace(*theirs)) == (merged, ())


def test_a_sentence_that_both_changed_differently_is_a_clash() -> None:
    ours, theirs = BASE.replace("Two is", "Two was"), BASE.replace("Two is", "Two will be")
    merged, differing = merge_text(BASE, ours, theirs)
    assert merged == ours
    assert differing == (TextClash(" Two is here.", " Two was here.", " Two will be here."),)
    assert merge_text(BASE, ours, theirs, prefer="theirs") == (theirs, differing)
    assert merge_text(BASE, ours, theirs, prefer="ours") == (ours, differing)


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        # Two additions at the same place: their order would be a guess.
        ("One.", "One. Two.", "One. Three."),
        ("", "Two.", "Three."),
        # One side removes a sentence that the other changes.
        ("One. Two. Three.", "One. Three.", "One. Two and a half. Three."),
        # One side changes the last sentence, the other appends to it.
        ("One.\nTwo.", "One.\nTwo!", "One.\nTwo.\nThree."),
        ("One. Two.", "", "One. Two. Three."),
    ],
)
def test_an_ambiguous_merge_is_a_clash(base: str, ours: str, theirs: str) -> None:
    merged, differing = merge_text(base, ours, theirs)
    assert differing
    assert merged == ours
    assert merge_text(base, theirs, ours)[1]


def test_a_preference_decides_only_clashes() -> None:
    base = "One. Two. Three. Four. Five."
    ours, theirs = "Uno. Two. Drei. Four. Five.", "One. Two. Tre. Four. Fem."
    assert merge_text(base, ours, theirs, prefer="theirs")[0] == "Uno. Two. Tre. Four. Fem."
    assert merge_text(base, ours, theirs, prefer="ours")[0] == "Uno. Two. Drei. Four. Fem."


def test_changes_of_a_long_text_are_taken_one_by_one() -> None:
    base = "".join(f"Line {number}.\n" for number in range(5_000))
    ours = base.replace("Line 0.", "First.").replace("Line 4900.", "Late.")
    theirs = base.replace("Line 4950.", "Later.")
    assert merge_text(base, ours, theirs) == (ours.replace("Line 4950.", "Later."), ())
    assert merge_text(base, ours, base.replace("Line 2000.", "Middle.")) == (ours.replace("Line 2000.", "Middle."), ())


sentences = st.lists(st.sampled_from(["Tea.", "Jay?", "No", "Oslo!", "1.5", ""]), max_size=6)
texts = st.one_of(sentences.map(" ".join), sentences.map("\n".join), sentences.map("\n\n".join))


@given(texts, texts)
@some_examples
def test_changes_of_one_side_are_taken_whole(base: str, other: str) -> None:
    assert merge_text(base, other, base) == (other, ())
    assert merge_text(base, base, other) == (other, ())
    assert merge_text(base, other, other) == (other, ())


@given(texts, texts, texts)
@some_examples
def test_both_directions_agree(base: str, ours: str, theirs: str) -> None:
    merged, differing = merge_text(base, ours, theirs)
    back, other = merge_text(base, theirs, ours)
    assert [(clash.base, clash.ours, clash.theirs) for clash in differing] == [
        (clash.base, clash.theirs, clash.ours) for clash in other
    ]
    if not differing:
        assert merged == back
    assert merge_text(base, ours, theirs, prefer="theirs")[0] == merge_text(base, theirs, ours, prefer="ours")[0]
