"""No word of the private vocabulary occurs; vocabulary.txt lists them."""

from pathlib import Path

import pytest

from scripts.vocabulary import Vocabulary, find_words

WORDS = Vocabulary(
    parts=frozenset({"drawer"}), variables=frozenset({"given"}), prose=frozenset({"drawer"}), phrases=("lets in",)
)


def test_no_word_occurs() -> None:
    assert [str(place) for place in find_words()] == [], "use the plain word instead"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("class TopDrawer: ...  # a drawer", ["TopDrawer", "drawer"]),
        ("given = 1", ["given"]),
        ("for given in result.given:", ["given"]),
        ("result = Result(given=1)", []),
        ("    given: int = 1", []),
        ("def test_the_drawer() -> None: ...", []),
        ('KEY = f"{top_drawer} lets in"', ["top_drawer", "lets in"]),
        ("drawers = 1", []),
    ],
)
def test_words_are_found_in_identifiers_and_in_prose(tmp_path: Path, line: str, words: list[str]) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "module.py").write_text(f"first = 1\n{line}\n", encoding="utf-8")
    places = find_words(tmp_path, WORDS)
    assert [place.word for place in places] == words
    assert {place.line for place in places} <= {2}


def test_pages_are_read_without_their_code(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("`drawer`\n```\ndrawer\n```\nA drawer.\n", encoding="utf-8")
    assert [str(place) for place in find_words(tmp_path, WORDS)] == ["README.md:5: drawer"]
