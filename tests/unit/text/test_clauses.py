"""A search query is parsed, matched in texts, and shown in snippets."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.text.clauses import count_matches, find_matches, parse_clauses, stems_with_prefix
from scrubjay.text.scripts import fold, fold_in_place
from scrubjay.text.snippets import snippet_of

more_examples = settings(max_examples=150, deadline=None)
texts = st.text(max_size=300) | st.text(alphabet='ab "*-[]|#é漢字\u0301\u200d🏳🇩🇪\n', max_size=300)


def clauses_in(query: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(clause.text, clause.terms) for clause in parse_clauses(query).included]


def shown(query: str, text: str) -> str:
    clauses = parse_clauses(query).included
    return snippet_of(text, find_matches(text, clauses))


@pytest.mark.parametrize(
    ("query", "included", "excluded"),
    [
        ("Q4 goals", ["Q4", "goals"], []),
        ('"new product" launch', ["new product", "launch"], []),
        ("„deutsch“ «français» “English”", ["deutsch", "français", "English"], []),
        ("rev* -cost -“two words” -be*", ["rev*"], ["cost", "two words", "be*"]),
        ("well-known e-mail --force", ["well-known", "e-mail", "--force"], []),
        ('an "unfinished phrase', ["unfinished", "phrase"], []),
        ("**bold** *light* plan*", ["bold", "light", "plan*"], []),
        ("word word WORD", ["word"], []),
        ("-the the cat", ["cat"], ["the"]),
        ("the of", ["the of"], []),
        ('* ** - "" "  " !', [], []),
    ],
)
def test_a_query_is_parsed(query: str, included: list[str], excluded: list[str]) -> None:
    search = parse_clauses(query)
    assert [clause.text for clause in search.included] == included
    assert [clause.text for clause in search.excluded] == excluded


def test_words_have_the_terms_that_texts_have() -> None:
    assert clauses_in("Meetings") == [("Meetings", ("meet",))]
    assert clauses_in("c++") == [("c++", ("cplusplus",))]
    assert clauses_in("3.11") == [("3.11", ("3·11",))]
    assert clauses_in("東京都") == [("東京都", ("東京", "京都"))]
    assert clauses_in("🎉") == [("🎉", ("🎉",))]
    assert parse_clauses("the cat of us").ignored == ("the", "of", "us")
    assert parse_clauses("the cat").words == "cat"
    assert {"run", "runn"} <= set(stems_with_prefix("runni"))
    assert "stori" in stems_with_prefix("story")


def test_too_many_words_are_cut() -> None:
    search = parse_clauses(" ".join(f"w{number} -v{number}" for number in range(100)))
    assert (len(search.included), len(search.excluded), search.too_many) == (32, 32, True)
    assert not parse_clauses("a few words").too_many


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("goal", "Our Goals: goals!", "Our **Goals**: **goals**!"),
        ("cafe", "Im Café CAFE\u0301 ca\u0301fe", "Im **Café** **CAFE\u0301** **ca\u0301fe**"),
        (
            '"new product"',
            "A new, *product*; newproduct",
            "A **new, *product**\u200b*; newproduct".replace("\u200b", ""),
        ),
        ("東京", "私は東京都に住む", "私は**東京**都に住む"),
        ("c++", "In C++ and c", "In **C++** and c"),
        ("3.11", "Python 3.11.2", "Python **3.11**.2"),
        ("meet*", "Meeting, meets, unmeet", "**Meeting**, **meets**, unmeet"),
        ("wen* go", "She went", "She **went**"),
        ("getUser user", "call getUserName()", "call **getUserName**()"),
        ("bold", "It is **bold** here", "It is **bold** here"),
        ("ﬁne", "ﬁne fine", "**ﬁne** **fine**"),
        ("नमस्ते", "वह नमस्ते कहता है", "वह **नमस्ते** कहता है"),
        ("zebra", "Nothing here", "Nothing here"),
    ],
)
def test_matches_are_shown(query: str, text: str, expected: str) -> None:
    assert shown(query, text) == expected


def test_a_snippet_is_where_the_most_different_words_are() -> None:
    filler = "lorem ipsum dolor sit amet " * 12
    text = f"alpha alpha alpha {filler} alpha and beta {filler} beta beta"
    snippet = shown("alpha beta", text)
    assert "**alpha** and **beta**" in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert len(snippet.replace("*", "")) <= 162
    assert shown("zebra", text).startswith("alpha alpha")
    assert shown("zebra", "  \n short \n ") == "short"


@pytest.mark.parametrize("cluster", ["e\u0301", "👩\u200d🚀", "🇩🇪", "👍🏽", "नि", "ก็"])
def test_nothing_that_belongs_together_is_cut_apart(cluster: str) -> None:
    for before in range(8):
        for needle in ("", " needle "):
            whole = shown("needle", f"{'x' * before}{cluster * 90}{needle}{cluster * 200}")
            inner = whole.strip("…").replace("**needle**", "").replace("x", "").replace(" ", "")
            assert inner == cluster * (len(inner) // len(cluster))


@given(texts, texts)
@more_examples
def test_any_text_is_a_query_and_any_is_searched(query: str, text: str) -> None:
    search = parse_clauses(query)
    clauses = (*search.included, *search.excluded)
    counts, _ = count_matches(text, clauses)
    assert len(counts) == len(clauses)
    places = find_matches(text, clauses)
    assert all(0 <= place.start < place.end <= len(text) for place in places)
    assert all(place.end <= following.start for place, following in pairwise(places))
    snippet = snippet_of(text, places)
    if not places:
        assert snippet.strip("…").strip() in text


@given(texts)
@more_examples
def test_folding_in_place_keeps_positions(text: str) -> None:
    folded = fold_in_place(text)
    assert len(folded.positions) == len(folded.text) + 1
    assert list(folded.positions) == sorted(folded.positions)
    assert folded.positions[-1] == len(text)
    plain = unicodedata.normalize("NFC", text)
    if re.fullmatch(r"[\x00-\x7fé漢字]*", plain):
        assert fold_in_place(plain).text == fold(plain)
