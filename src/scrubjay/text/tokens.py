"""Search terms of a text: the same for stored texts and for questions, on every backend."""

import re
import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import Stemmer

from scrubjay.text.languages import LANGUAGES, light_words_of, stop_words_of
from scrubjay.text.scripts import ascii_words, emoji_of, fold_script, merge_letters, split_unspaced, words_of_script
from scrubjay.text.word_lists import WordLists

__all__ = [
    "DOT", "IRREGULAR", "LANGUAGE_TERMS", "PAST_TENSE", "STOP_WORDS", "QuestionTerms", "light_terms", "other_stems",
    "question_terms", "running_terms_of", "stored_terms", "terms_of",
]  # fmt: skip

_WORDS = WordLists("english")
STOP_WORDS = _WORDS.words("stop_words")
PAST_TENSE = _WORDS.words("past_tense")
# Forms that a stemmer misses, each with its base.
IRREGULAR = _WORDS.forms("irregular_forms") | _WORDS.forms("familiar_forms")
# Replaces the dots inside a term: an index takes any ASCII sign for the end of a word.
DOT = "\u00b7"

_MAX_TERM_LENGTH = 48
# A longer text is not kept.
_MAX_CACHED_TEXT = 1_000
_MANY_WORDS = 2_000
# Typographic signs: in most texts that are not ASCII, nothing else is not ASCII.
_TYPOGRAPHIC = {"\u2019": "'", **dict.fromkeys("\u2018\u201c\u201d\u2013\u2014\u2026\u2022\u00a0", " ")}
_POSSESSIVE = re.compile(r"'s\b")
# French and Italian articles, written together with the next word.
_ELISION = re.compile(r"(?<![\w'])(?:[ldjnmt]|qu|un|all|dall|dell|nell|sull)'([^\W_]{3,})")
_ENGLISH = "english"
# Endings differ by language, and only the script is known: the script's most frequent language decides.
_LANGUAGES = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
_FIRST_LETTER, _AFTER_LAST_LETTER = _LANGUAGES[0][0], chr(ord(_LANGUAGES[-1][1]) + 1)
_local = threading.local()
# Marks the passages of a language, so that the languages of a space are known.
LANGUAGE_TERMS = {language: f"{DOT}{language}" for language in LANGUAGES}


class QuestionTerms(NamedTuple):
    """The terms of a question in order, and by a term its stems in other languages, which count where it is missing."""

    terms: tuple[str, ...]
    others: dict[str, tuple[str, ...]]


def terms_of(text: str) -> tuple[str, ...]:
    """Return all terms that find a text, with repetition: other forms first, then its words in order, then signs."""
    return (_cached_terms if len(text) <= _MAX_CACHED_TEXT else _terms)(text)[0]


def stored_terms(text: str, language: str) -> tuple[str, ...]:
    """Return all terms that find a stored text: those of any text, then the stems of its language that differ."""
    terms = terms_of(text)
    if language in LANGUAGE_TERMS:
        words = [word for part in _split(text) for word in part]
        plain = set(terms)
        terms += tuple(stem for _, stem in _stems(words, language) if stem not in plain)
    return terms


def question_terms(text: str, language: str) -> QuestionTerms:
    """Return the terms of a question: the stems of its language, and as others those that any text has."""
    words = [word for part in _split(text) for word in part] if language in LANGUAGE_TERMS else []
    stems = _stems(words, language) if words else []
    if not stems:
        return QuestionTerms(terms_of(text), {})
    others: dict[str, tuple[str, ...]] = {}
    for word, stem in stems:
        plain = tuple(other for other in _stem(_drop_stop_words([word])) if other != stem)
        others[stem] = tuple(dict.fromkeys((*others.get(stem, ()), *plain)))
    return QuestionTerms(tuple(others), {term: plain for term, plain in others.items() if plain})


@lru_cache(maxsize=len(LANGUAGES))
def light_terms(language: str) -> frozenset[str]:
    """Return the terms of a language that say little of what a question is about."""
    return frozenset(question_terms(" ".join(light_words_of(language)), language).terms)


def other_stems(text: str, language: str) -> dict[str, str]:
    """Return, by the terms of a text in any language, their stems in one language where they differ."""
    stems = ((_stem(_drop_stop_words([word])), stem) for word, stem in _stems([*_split(text)[1]], language))
    return {terms[0]: stem for terms, stem in stems if terms and terms[0] != stem}


def _stems(words: list[str], language: str) -> list[tuple[str, str]]:
    """Return each word that has a meaning, with its stem in a language."""
    stop_words = stop_words_of(language)
    words_left = [word[:_MAX_TERM_LENGTH] for word in words if word not in stop_words]
    return list(zip(words_left, _stemmer(language).stemWords(words_left), strict=True))


def running_terms_of(text: str) -> tuple[str, ...]:
    """Return only the terms of the words of a text, in order: a text that quotes it has them side by side."""
    return (_cached_terms if len(text) <= _MAX_CACHED_TEXT else _terms)(text)[1]


def _terms(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return all terms of a text, and those of its words in order, which are among them."""
    extra, running, singles = map(_drop_stop_words, _split(text))
    words = [*extra, *running, *singles]
    if len(words) > _MANY_WORDS:
        # Most words of a long text are there more than once.
        distinct = list(set(words))
        stems = dict(zip(distinct, _stem(distinct), strict=True))
        terms = tuple([stems[word] for word in words])
    else:
        terms = tuple(_stem(words))
    start = len(extra)
    return terms, terms if len(running) == len(terms) else terms[start : start + len(running)]


# The stages of one write ask for the terms of the same text, and those of its neighbours are asked for again.
_cached_terms = lru_cache(maxsize=2_048)(_terms)


def _split(text: str) -> tuple[list[str], list[str], list[str]]:
    """Return other forms of names and figures, the words in order, and single signs."""
    if not text.isascii():
        for sign, plain in _TYPOGRAPHIC.items():
            text = text.replace(sign, plain)
    if not text.isascii():
        return _split_any_script(text)
    folded = _spell_symbols(text.lower())
    extra = _elided_words(folded)
    folded = _drop_apostrophes(folded)
    extra += _extra_words(text, folded)
    return extra, ascii_words(folded), []


def _split_any_script(text: str) -> tuple[list[str], list[str], list[str]]:
    singles = list(emoji_of(text))
    text = fold_script(text)
    folded = _spell_symbols(merge_letters(text.casefold()))
    extra = _elided_words(folded)
    folded = _drop_apostrophes(folded)
    extra += _extra_words(text, folded)
    return extra, split_unspaced(words_of_script(folded), singles=singles), singles


def _elided_words(folded: str) -> list[str]:
    return [match[1] for match in _ELISION.finditer(folded)] if "'" in folded else []


def _drop_apostrophes(folded: str) -> str:
    return _POSSESSIVE.sub("", folded).replace("'", "") if "'" in folded else folded


def _drop_stop_words(words: list[str]) -> list[str]:
    if len(words) <= _MANY_WORDS:
        return [IRREGULAR.get(word, word)[:_MAX_TERM_LENGTH] for word in words if word not in STOP_WORDS]
    terms = {word: IRREGULAR.get(word, word)[:_MAX_TERM_LENGTH] for word in set(words) - STOP_WORDS}
    return [terms[word] for word in words if word in terms]


def _stem(words: list[str]) -> list[str]:
    stems = _stemmer(_ENGLISH).stemWords(words)
    if all(map(str.isascii, words)):
        return stems
    # A word is compared by its first letter.
    others = [at for at, word in enumerate(words) if _FIRST_LETTER <= word < _AFTER_LAST_LETTER]
    for first, last, language in _LANGUAGES if others else ():
        after = chr(ord(last) + 1)
        if own := [at for at in others if first <= words[at] < after]:
            for at, stem in zip(own, _stemmer(language).stemWords([words[at] for at in own]), strict=True):
                stems[at] = stem
    return stems


def _stemmer(language: str) -> Stemmer.Stemmer:
    # A stemmer has a cache of its own: threads must not share one.
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(language)
    return stemmers[language]


# Names that punctuation would destroy, spelt as words before the text is split.
_SYMBOLIC = {
    "c++": "cplusplus ",
    "g++": "gplusplus ",
    "c#": "csharp ",
    "f#": "fsharp ",
    ".net": "dotnet ",
    "asp.net": "asp dotnet ",
    "node.js": "node js nodejs ",
}
_SYMBOLIC_PATTERN = re.compile(r"(?<!\w)(?:[cg]\+\+|[cf]#|(?:asp)?\.net|node\.js)(?![^\W\d]|\+)")
_THOUSANDS = re.compile(r"(?<![\w,.])\d{1,3}(?:,\d{3})+(?!\d|,\d)")
_HAS_CAMEL = re.compile("[A-Z](?:(?<=[a-z][A-Z])|[A-Z]{2}[a-z]{2})")
_CAMEL_NAME = re.compile(r"\b\w*(?:[a-z][A-Z]|[A-Z]{3}[a-z]{2})\w*")
_CAMEL_PART = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])|\d+")
_SNAKE_NAME = re.compile(r"\b\w*[^\W_]_[^\W_]\w*")
_DIGIT = re.compile(r"[0-9]")
# Each of the longer patterns needs one of these, which are quick to find: most texts have none of them.
_COMMA_IN_FIGURE = re.compile(r"\d,\d")
_DOT_IN_FIGURE = re.compile(r"[0-9]\.[0-9]")
_LONG_HEX = re.compile(r"[0-9a-f]{8}")
_VERSION = re.compile(r"(?<![\d.])[0-9]{1,9}(?:\.[0-9]{1,9}){1,5}(?!\d)")
# People quote a long hash by its first digits.
_HASH = re.compile(r"(?<![^\W_])(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{8,}(?![^\W_])")
_SHORT_HASH_LENGTH = 7
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_EMAIL_SIGNS = re.compile(r"[.+@_-]+")


def _spell_symbols(folded: str) -> str:
    """Spell names with signs and figures with commas as words, and change nothing else."""
    if "++" in folded or "#" in folded or ".net" in folded or "node.js" in folded:
        folded = _SYMBOLIC_PATTERN.sub(lambda match: _SYMBOLIC[match[0]], folded)
    if "," in folded and _COMMA_IN_FIGURE.search(folded):
        folded = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), folded)
    return folded


def _extra_words(text: str, folded: str) -> Iterator[str]:
    """Return the parts of names, versions, hashes and addresses, which splitting at signs does not give."""
    if _HAS_CAMEL.search(text):
        for name in _CAMEL_NAME.findall(text):
            yield from (part.lower() for part in _CAMEL_PART.findall(name))
    if "_" in folded:
        yield from (name.replace("_", "") for name in _SNAKE_NAME.findall(folded))
    if "@" in folded:
        yield from (_EMAIL_SIGNS.sub(DOT, address) for address in _EMAIL.findall(folded))
    if _DIGIT.search(folded):
        if _DOT_IN_FIGURE.search(folded):
            for version in _VERSION.findall(folded):
                parts = version.split(".")
                # A search for 3.11 finds 3.11.2 as well.
                yield from (DOT.join(parts[:count]) for count in range(2, len(parts) + 1))
        if _LONG_HEX.search(folded):
            yield from (digits[:_SHORT_HASH_LENGTH] for digits in _HASH.findall(folded))
