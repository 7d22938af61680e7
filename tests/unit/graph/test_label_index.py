"""The label index finds the same labels as a full scan."""

import random
from collections.abc import Iterator

import pytest
from rapidfuzz import fuzz

from scrubjay.graph.search import SEPARATOR, LabelIndex
from scrubjay.text.fuzzy import close_labels, close_lengths

_LETTERS = "aeiou bcdrst-_é漢"
_MANY = 5_000


def _word(source: random.Random, *, least: int = 1, most: int = 12) -> str:
    return "".join(source.choices(_LETTERS, k=source.randint(least, most)))


def _slips(label: str, source: random.Random) -> Iterator[str]:
    """Yield typos: a letter left out, doubled, replaced, and two exchanged."""
    at = source.randrange(1, len(label) - 1)
    yield label[:at] + label[at + 1 :]
    yield label[:at] + label[at] + label[at:]
    yield f"{label[:at]}x{label[at + 1 :]}"
    yield label[:at] + label[at + 1] + label[at] + label[at + 2 :]


def _crowd() -> tuple[LabelIndex, dict[str, str]]:
    """Return more labels than are all scored, and the owner of each."""
    source = random.Random(7)
    words = ["".join(source.choices("abcdefghiklmnoprstuvz", k=source.randint(4, 9))) for _ in range(800)]
    owners: dict[str, str] = {}
    while len(owners) < _MANY:
        owners.setdefault(" ".join(source.sample(words, k=2)), f"id {len(owners)}")
    labels = LabelIndex()
    for label, owner in owners.items():
        labels.put(owner, SEPARATOR.join((label, "thing")))
    return labels, owners


@pytest.mark.parametrize("seed", range(5))
def test_exact_and_partial_labels_are_found_after_any_changes(seed: int) -> None:
    source = random.Random(seed)
    labels, existing = LabelIndex(), dict[str, str]()
    for _ in range(3_000):
        owner = f"id {source.randrange(300)}"
        text = None if source.random() < 0.2 else SEPARATOR.join(_word(source) for _ in range(source.randint(1, 3)))
        labels.put(owner, text)
        existing.pop(owner, None)
        existing |= {} if text is None else {owner: text}
    assert sorted(labels.ids) == sorted(existing)
    for _ in range(200):
        query = _word(source, most=5)
        assert labels.find_exact(query) == {owner for owner, text in existing.items() if query in text.split(SEPARATOR)}
        assert labels.find_containing(query) == {owner for owner, text in existing.items() if query in text}


def test_of_few_labels_each_is_scored() -> None:
    source, labels = random.Random(3), LabelIndex()
    owner_of = {_word(source, least=4): f"id {number}" for number in range(1_500)}
    for label, owner in owner_of.items():
        labels.put(owner, label)
    for label in list(owner_of)[:200]:
        owners = labels.find_similar(label, excluded=set(), limit=1_500)
        assert set(owners) == {owner_of[close] for close in close_labels(label, list(owner_of), limit=1_500)}


def test_of_many_labels_the_most_similar_comes_first() -> None:
    labels, owners = _crowd()
    source = random.Random(5)
    for label in source.sample(list(owners), k=100):
        for slip in _slips(label, source):
            best = close_labels(slip, list(owners), limit=1)[0]
            assert labels.find_similar(slip, excluded=set(), limit=1) == [owners[best]]


def test_a_misspelt_type_is_found_among_many_names() -> None:
    labels, owners = _crowd()
    assert set(labels.find_similar("thnig", excluded=set(), limit=1)) == set(owners.values())


def test_excluded_entities_take_no_place() -> None:
    labels = LabelIndex()
    labels.put("first", "architecture")
    labels.put("second", "architectures")
    assert labels.find_similar("architectur", excluded={"first"}, limit=1) == ["second"]
    assert labels.find_similar("architectur", excluded={"first", "second"}, limit=1) == []


def test_unused_labels_leave_nothing_behind() -> None:
    labels = LabelIndex()
    empty = labels.size
    for turn in range(3):
        for number in range(3_000):
            labels.put(f"id {number}", f"label {turn} {number}")
    full = labels.size
    assert labels.find_containing("label 1") == set()
    assert labels.find_similar("labl 0 2999", excluded=set(), limit=1) == labels.find_similar(
        "label 2 2999", excluded=set(), limit=1
    )
    for number in range(3_000):
        labels.put(f"id {number}", None)
    assert (labels.size, labels.ids, labels.find_containing("label")) == (empty, [], set())
    assert full > 3_000 * len("label 2 2999")


@pytest.mark.parametrize("length", range(1, 60))
def test_labels_of_another_length_are_never_similar(length: int) -> None:
    shortest, longest = close_lengths(length)
    for other in range(1, 120):
        # A prefix is the most similar label of another length.
        is_near = fuzz.ratio("x" * length, "x" * other) >= 78
        assert is_near == (shortest <= other <= longest)
