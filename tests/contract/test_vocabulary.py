"""The private vocabulary only shrinks: no word of it occurs more often than its bound in vocabulary.txt."""

from pathlib import Path

import pytest

from scripts.vocabulary import Bound, count_words, measure, read_bounds


def test_no_word_occurs_more_often_than_its_bound() -> None:
    bounds = read_bounds()
    over = [
        f"{now.line} (identifiers, prose); the bound is{bound.line}"
        for now, bound in zip(measure(bounds), bounds, strict=True)
        if now.exceeds(bound)
    ]
    assert not over, "use the plain word instead"


def test_every_word_is_listed_once() -> None:
    words = [bound.word for bound in read_bounds()]
    assert sorted(set(words)) == sorted(words)


@pytest.mark.parametrize(
    ("word", "identifiers", "prose"),
    [
        ("drawer", 4, 2),
        ("=drawer", 2, 0),
        ("open drawer", 0, 1),
        ("drawers", 0, 0),
        ("given", 0, 0),
    ],
)
def test_words_are_counted_in_identifiers_and_in_prose(tmp_path: Path, word: str, identifiers: int, prose: int) -> None:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "drawer.py").write_text(
        '"""An open drawer."""\nfrom hypothesis import given\n'
        "class TopDrawer: ...  # a drawer\n"
        "def test_the_drawer() -> None: ...\n"
        'KEY = f"{drawer.top_drawer}"\n',
        encoding="utf-8",
    )
    counts = count_words(tmp_path)
    counted = counts.of(Bound(word=word, identifiers=0, prose=0))
    assert (counted.identifiers, counted.prose) == (identifiers, prose)
