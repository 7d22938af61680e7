"""Labels are found as a look at all of them would find them."""

import random
from collections.abc import Iterator

import pytest
from rapidfuzz import fuzz

from scrubjay.graph.labels import APART, Labels
from scrubjay.text.fuzzy import close_labels, close_lengths

_LETTERS = "aeiou bcdrst-_é漢"
_MANY = 5_000


def _word(source: random.Random, *, least: int = 1, most: int = 12) -> str:
    return "".join(source.choices(_LETTERS, k=source.randint(least, most)))


def _slips(label: str, source: random.Random) -> Iterator[str]:
    """One letter left out, one doubled, one wrong, two exchanged."""
    at = source.randrange(1, len(label) - 1)
    yield label[:at] + label[at + 1 :]
    yield label[:at] + label[at] + label[at:]
    yield f"{label[:at]}x{label[at + 1 :]}"
    yield label[:at] + label[at + 1] + label[at] + label[at + 2 :]


def _crowd() -> tuple[Labels, dict[str, str]]:
    """More labels than are all scored, and who has each."""
    source = random.Random(7)
    words = ["".join(source.choices("abcdefghiklmnoprstuvz", k=source.randint(4, 9))) for _ in range(800)]
    owners: dict[str, str] = {}
    while len(owners) < _MANY:
        owners.setdefault(" ".join(source.sample(words, k=2)), f"id {len(owners)}")
    labels = Labels()
    for label, owner in owners.items():
        labels.put(owner, APART.join((label, "thing")))
    return labels, owners


@pytest.mark.parametrize("seed", range(5))
def test_the_same_and_parts_are_found_whatever_was_changed_before(seed: int) -> None:
    source = random.Random(seed)
    labels, known = Labels(), dict[str, str]()
    for _ in range(3_000):
        owner = f"id {source.randrange(300)}"
        text = None if source.random() < 0.2 else APART.join(_word(source) for _ in range(source.randint(1, 3)))
        labels.put(owner, text)
        known.pop(owner, None)
        known |= {} if text is None else {owner: text}
    assert sorted(labels.ids) == sorted(known)
    for _ in range(200):
        sought = _word(source, most=5)
        assert labels.same(sought) == {owner for owner, text in known.items() if sought in text.split(APART)}
        assert labels.containing(sought) == {owner for owner, text in known.items() if sought in text}


def test_of_few_labels_each_is_scored() -> None:
    source, labels = random.Random(3), Labels()
    known = {_word(source, least=4): f"id {number}" for number in range(1_500)}
    for label, owner in known.items():
        labels.put(owner, label)
    for label in list(known)[:200]:
        found = labels.nearly(label, but=set(), limit=1_500)
        assert set(found) == {known[one] for one in close_labels(label, list(known), limit=1_500)}


def test_of_many_labels_the_one_that_was_meant_comes_first() -> None:
    labels, owners = _crowd()
    source = random.Random(5)
    for label in source.sample(list(owners), k=100):
        for slip in _slips(label, source):
            best = close_labels(slip, list(owners), limit=1)[0]
            assert labels.nearly(slip, but=set(), limit=1) == [owners[best]]


def test_a_type_is_found_with_a_slip_among_many_names() -> None:
    labels, owners = _crowd()
    assert set(labels.nearly("thnig", but=set(), limit=1)) == set(owners.values())


def test_who_is_known_already_takes_no_place() -> None:
    labels = Labels()
    labels.put("first", "architecture")
    labels.put("second", "architectures")
    assert labels.nearly("architectur", but={"first"}, limit=1) == ["second"]
    assert labels.nearly("architectur", but={"first", "second"}, limit=1) == []


def test_what_nobody_has_any_more_leaves_nothing_behind() -> None:
    labels = Labels()
    empty = labels.size
    for turn in range(3):
        for number in range(3_000):
            labels.put(f"id {number}", f"label {turn} {number}")
    full = labels.size
    assert labels.containing("label 1") == set()
    assert labels.nearly("labl 0 2999", but=set(), limit=1) == labels.nearly("label 2 2999", but=set(), limit=1)
    for number in range(3_000):
        labels.put(f"id {number}", None)
    assert (labels.size, labels.ids, labels.containing("label")) == (empty, [], set())
    assert full > 3_000 * len("label 2 2999")


@pytest.mark.parametrize("length", range(1, 60))
def test_labels_of_another_length_are_never_nearly_the_same(length: int) -> None:
    shortest, longest = close_lengths(length)
    for other in range(1, 120):
        # No two labels of these lengths are more alike than those of which one is the beginning of the other.
        is_near = fuzz.ratio("x" * length, "x" * other) >= 78
        assert is_near == (shortest <= other <= longest)
