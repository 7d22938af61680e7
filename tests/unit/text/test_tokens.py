"""The same terms for what is stored and what is asked, in any script."""

import threading
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.drawing import some

from scrubjay.text.tokens import STOP_WORDS, terms_of

any_text = st.text(max_size=60)
# Capitals inside a word make parts of it, so that case matters there and only there.
plain_text = st.text(st.characters(exclude_categories=["Cs", "Lu", "Lt"]), max_size=60)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("   \n\t", ()),
        ("the and of it", ()),
        ("Sarah's tea", ("sarah", "tea")),
        ("Sarah\u2019s tea", ("sarah", "tea")),
        ("don't rock'n'roll", ("rocknrol",)),
        ("She runs, he ran, they were running", ("run", "run", "run")),
        ("people went", ("person", "go")),
        ("mice and teeth", ("mous", "tooth")),
        ("C++ or C#, F# and .NET", ("cplusplus", "csharp", "fsharp", "dotnet")),
        ("c and cobol", ("c", "cobol")),
        ("node.js", terms_of("NodeJS")[-1:]),
        ("snake_case_name", ("snake", "case", "name")),
        ("2026-05-31 v2.0", ("2026", "05", "31", "v2", "0")),
        ("Zürich café ﬁle \uff21\uff22\uff23", ("zurich", "cafe", "file", "abc")),
        ("Straße STRASSE", ("strass", "strass")),
        ("東京タワー", ("東京", "京タ", "タワ", "ワー")),
        ("日", ("日",)),
        ("GPT東京4", ("gpt", "東京", "4")),
        ("यह कॉफ़ी है। क्या?", ("यह", *terms_of("कॉफ़ी"), "है", "क्या")),
        ("مُحَمَّد", ("محمد",)),
        ("שָׁלוֹם", ("שלום",)),
        ("می\u200cخواهم", ("می\u200cخواهم",)),  # noqa: RUF001 - Persian
        ("한국어", ("한국어",)),
        ("🙂 👩\u200d💻 ❤\ufe0f", ()),
        ("thumbs 👍 up!", ("thumb",)),
        ("a\ud800b", ("b",)),
        ("nul\x00char", ("nul", "char")),
    ],
)
def test_terms(text: str, terms: tuple[str, ...]) -> None:
    assert terms_of(text) == terms


def test_a_name_in_camel_case_is_found_by_its_parts_and_whole() -> None:
    terms = terms_of("parseHTTPResponse")
    assert {"http", *terms_of("parse response"), *terms_of("parsehttpresponse")} == set(terms)


def test_words_of_one_stem_find_each_other() -> None:
    for forms in ("prefers preferring preferred", "write wrote written writing", "child children", "cat cats"):
        assert len(set(terms_of(forms))) == 1, forms


def test_repetition_and_order_are_kept() -> None:
    assert terms_of("tea coffee tea") == ("tea", *terms_of("coffee"), "tea")


def test_an_endless_word_is_cut() -> None:
    assert [len(term) <= 48 for term in terms_of("x" * 10_000 + " " + "東" * 200)].count(False) == 0


@given(plain_text)
@some
def test_case_does_not_matter(text: str) -> None:
    assert terms_of(text.upper().lower()) == terms_of(text.upper().lower().casefold())


@given(plain_text)
@some
def test_the_way_of_composing_letters_does_not_matter(text: str) -> None:
    assert terms_of(unicodedata.normalize("NFD", text)) == terms_of(unicodedata.normalize("NFC", text))


@given(any_text)
@some
def test_a_term_is_one_word_that_cannot_break_a_query(text: str) -> None:
    for term in terms_of(text):
        assert term
        assert len(term.split()) == 1
        assert '"' not in term
        term.encode()


@given(any_text)
@some
def test_the_same_text_has_the_same_terms(text: str) -> None:
    assert terms_of(text) == terms_of(text)
    assert terms_of(f"  {text}\n") == terms_of(text)


@given(any_text, any_text)
@some
def test_terms_of_two_lines_are_those_of_each(one: str, other: str) -> None:
    assert sorted(terms_of(f"{one}\n{other}")) == sorted(terms_of(one) + terms_of(other))


def test_threads_do_not_share_a_stemmer() -> None:
    found: list[tuple[str, ...]] = []
    threads = [threading.Thread(target=lambda: found.append(terms_of("running runners"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {terms_of("running runners")}


def test_stop_words_are_lower_case_words() -> None:
    assert all(word == word.lower() and word.isalpha() for word in STOP_WORDS)
