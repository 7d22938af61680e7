"""The same terms for stored texts and questions, in any script."""
# ruff: noqa: RUF001 - letters that look like others are the subject

import random
import re
import threading
import unicodedata

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples

from scrubjay.text.tokens import IRREGULAR, STOP_WORDS, running_terms_of, terms_of

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
        ("C++17, C#12 and .NET8", ("cplusplus", "17", "csharp", "12", "dotnet", "8")),
        ("ASP.NET and example.net", ("asp", "dotnet", *terms_of("example"), "net")),
        ("node.js", terms_of("NodeJS")),
        ("kebab-case-name", ("kebab", "case", "name")),
        ("snake_case_name", (*terms_of("snakecasename"), "snake", "case", "name")),
        ("_private __init__", (*terms_of("private init"),)),
        ("HTTPServer2", ("http", "server", "2", "httpserver2")),
        ("2026-05-31 v2.0", ("2·0", "2026", "05", "31", "v2", "0")),
        ("3.11.2.", ("3·11", "3·11·2", "3", "11", "2")),
        ("1,000 or 1,234,567", ("1000", "1234567")),
        ("1,2,3 and 10,20 and 1,0000", ("1", "2", "3", "10", "20", "1", "0000")),
        ("$2M", ("2m",)),
        ("jo.doe@example.com", ("jo·doe·example·com", "jo", "doe", *terms_of("example"), "com")),
        ("9f86d081a", ("9f86d08", "9f86d081a")),
        ("C:\\Users\\x /etc/nginx/x.conf", ("c", "user", "x", *terms_of("etc nginx"), "x", "conf")),
        ("Zürich café ﬁle \uff21\uff22\uff23", ("zurich", "cafe", "file", "abc")),
        ("Straße STRASSE", ("strass", "strass")),
        ("東京タワー", ("東京", "京タ", "タワ", "ワー", "東", "京", "タ", "ワ", "ー")),
        ("日", ("日",)),
        ("GPT東京4", ("gpt", "東京", "4", "東", "京")),
        ("กาแฟ", ("กา", "าแ", "แฟ")),
        ("ឆ្កែ", ("ឆ្", "្ក", "កែ")),
        ("यह कॉफ़ी है। क्या?", ("यह", *terms_of("कॉफ़ी"), "है", *terms_of("क्या"))),
        ("مُحَمَّد", ("محمد",)),
        ("שָׁלוֹם", ("שלום", "לום")),
        ("٣٫١٤ ۱۲", ("3", "14", "12")),
        ("한국어", ("한국어",)),
        ("🙂 👩\u200d💻 ❤\ufe0f", ("🙂", "👩", "💻", "👩💻", "❤")),
        ("thumbs 👍🏽 up!", ("thumb", "👍")),
        ("🏃\u200d♀\ufe0f 🇩🇪🇫🇷 1\ufe0f\u20e3", ("1", "🏃", "🇩🇪", "🇫🇷")),
        ("a\ud800b", ("b",)),
        ("nul\x00char", ("nul", "char")),
    ],
)
def test_terms(text: str, terms: tuple[str, ...]) -> None:
    assert terms_of(text) == terms


@pytest.mark.parametrize(
    "spellings",
    [
        ("كِتَاب", "كتاب", "الكتاب", "كـــتاب", "والكتاب"),
        ("أحمد", "احمد", "إحمد", "آحمد", "ٱحمد"),
        ("مدرسة", "مدرسه"),
        ("می\u200cخواهم", "میخواهم", "ميخواهم"),
        ("צה״ל", 'צה"ל', "צהל"),
        ("ёлка", "елка", "ЁЛКУ"),
        ("λόγος", "ΛΟΓΟΣ", "λόγου"),
        ("कॉफ़ी", "कॉफी"),
        ("ısı", "ISI", "isi"),
        ("İstanbul", "istanbul", "ISTANBUL"),
        ("Łódź", "lodz"),
        ("smørrebrød", "SMORREBROD"),
        ("foot\u00adball", "football"),
        ("ｐｙｔｈｏｎ", "python"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("¿Qué?", "que"),
    ],
)
def test_spellings_of_one_word_are_one(spellings: tuple[str, ...]) -> None:
    assert len({terms_of(spelling) for spelling in spellings}) == 1, [terms_of(spelling) for spelling in spellings]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("3.11", "We run Python 3.11.2 there"),
        ("192.168.1", "The printer is 192.168.1.40"),
        ("9f86d08", "fixed in 9f86d081884c7d659a2feaa0c55ad015"),
        ("1000", "It costs $1,000"),
        ("maxRetries", "max_retries: 5"),
        ("is_on", "the flag is_on"),
        ("C++", "a C++17 compiler"),
        ("水", "毎日水を飲む"),
        ("の", "猫の名前"),
        ("💻", "she is a 👩🏽\u200d💻"),
        ("👍", "👍🏿!"),
        ("बच्चा", "बच्चे"),
        ("כלב", "הכלב ישן"),
        ("amour", "L'amour"),
        ("oeuvre", "l'œuvre d_une l'a_b"),
        ("été", "l\u2019été"),
    ],
)
def test_a_part_of_it_finds_it(query: str, text: str) -> None:
    assert set(terms_of(query)) & set(terms_of(text))


@pytest.mark.parametrize("quoted", ["max_retries is", "東京タ", "3.11", "HTTPServer2 fails", "👍 from Anna"])
def test_a_quotation_has_its_terms_side_by_side_in_the_whole_text(quoted: str) -> None:
    whole = f"He said that 日本 {quoted} since 1,000 parseArgs 🎉 runs"
    assert f" {' '.join(running_terms_of(quoted))} " in f" {' '.join(terms_of(whole))} "
    assert set(running_terms_of(quoted)) <= set(terms_of(quoted))


def test_hebrew_words_joined_by_a_bar_are_two() -> None:
    assert terms_of("בית\u05beספר") == terms_of("בית ספר")


def test_typographic_signs_do_not_matter() -> None:
    plain = "\"Anna's tea\" - it's fine, isn't it?"
    typographic = "\u201cAnna\u2019s tea\u201d \u2014 it\u2019s fine, isn\u2019t it\u2026"
    assert terms_of(typographic) == terms_of(plain) == ("anna", "tea", "fine")


def test_terms_of_english_prose_are_its_stemmed_words() -> None:
    stemmer = Stemmer.Stemmer("english")
    for sentence in _sentences():
        words = [match[0] for match in re.finditer("[a-z]+", sentence.lower().replace("'s", "").replace("'", ""))]
        telling = [IRREGULAR.get(word, word) for word in words if word not in STOP_WORDS]
        assert terms_of(sentence) == tuple(stemmer.stemWords(telling)), sentence


def _sentences() -> list[str]:
    """A few hundred, put together by chance from the same words every time."""
    chance = random.Random(7)
    subjects = ("My sister", "Nobody", "The children", "Anna's neighbour", "We", "They", "An old friend", "I")
    verbs = ("didn't like", "went running with", "has bought", "will be repairing", "brought", "was thinking about")
    objects = ("a well-known painter", "the teeth of mice", "her guitars", "two e-mails", "that follow-up", "it all")
    ends = (", didn't she?", " on Monday evening.", "; it's sad!", " (again)", " because of the weather...", "")
    parts = (subjects, verbs, objects, ends)
    made = [tuple(chance.choice(part) for part in parts) for _ in range(300)]
    return [f"{subject} {verb} {thing}{end}" for subject, verb, thing, end in made]


def test_a_name_in_camel_case_is_found_by_its_parts_and_whole() -> None:
    terms = terms_of("parseHTTPResponse")
    assert {"http", *terms_of("parse response"), *terms_of("parsehttpresponse")} == set(terms)


def test_words_of_one_stem_find_each_other() -> None:
    for forms in ("prefers preferring preferred", "write wrote written writing", "child children", "cat cats"):
        assert len(set(terms_of(forms))) == 1, forms


def test_repetition_and_order_are_kept() -> None:
    assert terms_of("tea coffee tea") == ("tea", *terms_of("coffee"), "tea")


def test_an_endless_word_is_cut() -> None:
    for endless in ("x" * 10_000, "a_" * 9_000, "1." * 9_000, "1," * 9_000, "aB" * 9_000, "a@" * 9_000, "ab1" * 9_000):
        assert max(map(len, terms_of(endless + " " + "東" * 200))) <= 48


@given(plain_text)
@some_examples
def test_case_does_not_matter(text: str) -> None:
    assert terms_of(text.upper().lower()) == terms_of(text.upper().lower().casefold())


@given(plain_text)
@some_examples
def test_the_way_of_composing_letters_does_not_matter(text: str) -> None:
    assert terms_of(unicodedata.normalize("NFD", text)) == terms_of(unicodedata.normalize("NFC", text))


@given(any_text)
@some_examples
def test_a_term_is_one_word_that_cannot_break_a_query(text: str) -> None:
    for term in terms_of(text):
        assert term
        assert len(term.split()) == 1
        assert len(term) <= 48
        assert not any(sign.isascii() and not sign.isalnum() for sign in term)
        term.encode()


@given(any_text)
@some_examples
def test_the_same_text_has_the_same_terms(text: str) -> None:
    assert terms_of(text) == terms_of(text)
    assert terms_of(f"  {text}\n") == terms_of(text)


@given(any_text, any_text)
@some_examples
def test_terms_of_two_lines_are_those_of_each(line: str, other: str) -> None:
    assert sorted(terms_of(f"{line}\n{other}")) == sorted(terms_of(line) + terms_of(other))


def test_threads_do_not_share_a_stemmer() -> None:
    results: list[tuple[str, ...]] = []
    threads = [threading.Thread(target=lambda: results.append(terms_of("running runners"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results) == {terms_of("running runners")}


def test_stop_words_are_lower_case_words() -> None:
    assert all(word == word.lower() and word.isalpha() for word in STOP_WORDS)
