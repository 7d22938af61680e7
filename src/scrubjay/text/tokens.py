"""Text to search terms: one way for what is stored and what is asked, on every backend."""

import re
import threading

import Stemmer

from scrubjay.text.identifiers import extra_words, spelled
from scrubjay.text.scripts import emoji_of, folded_script, same_letters, split_unspaced, words_of_script
from scrubjay.text.words import IRREGULAR, STOP_WORDS

__all__ = ["STOP_WORDS", "running_terms_of", "terms_of"]

_LONGEST_TERM = 48
_PLAIN_WORD = re.compile("[a-z0-9]+")
# Signs of good typography, which most texts that are not ASCII have and nothing else.
_TYPOGRAPHIC = {"\u2019": "'", **dict.fromkeys("\u2018\u201c\u201d\u2013\u2014\u2026\u2022\u00a0", " ")}
_POSSESSIVE = re.compile(r"'s\b")
# French and Italian articles, written together with what follows.
_ELISION = re.compile(r"(?<![\w'])(?:[ldjnmt]|qu|un|all|dall|dell|nell|sull)'([^\W_]{3,})")
_ENGLISH = "english"
# Endings differ by language, of which only the script is known: the language that most people write in it decides.
_LANGUAGES = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
_local = threading.local()


def terms_of(text: str) -> tuple[str, ...]:
    """The terms a text is found by, with repetition: its words in order, before them other forms, after them signs."""
    extra, running, singles = _words(text)
    return tuple(_stemmed(_telling([*extra, *running, *singles])))


def running_terms_of(text: str) -> tuple[str, ...]:
    """Only the words of a text, in order: as they stand side by side among the terms of whatever quotes it."""
    return tuple(_stemmed(_telling(_words(text)[1])))


def _words(text: str) -> tuple[list[str], list[str], list[str]]:
    """Names and figures in other forms, the words in order, and single signs."""
    if not text.isascii():
        for sign, plain in _TYPOGRAPHIC.items():
            text = text.replace(sign, plain)
    if not text.isascii():
        return _words_of_any_script(text)
    folded = spelled(text.lower())
    extra = _elided(folded)
    folded = _without_apostrophes(folded)
    extra += extra_words(text, folded)
    return extra, _PLAIN_WORD.findall(folded), []


def _words_of_any_script(text: str) -> tuple[list[str], list[str], list[str]]:
    singles = list(emoji_of(text))
    text = folded_script(text)
    folded = spelled(same_letters(text.casefold()))
    extra = _elided(folded)
    folded = _without_apostrophes(folded)
    extra += extra_words(text, folded)
    running: list[str] = []
    for word in words_of_script(folded):
        if word.isascii():
            running.append(word)
        else:
            running += split_unspaced(word, singles=singles)
    return extra, running, singles


def _elided(folded: str) -> list[str]:
    return [found[1] for found in _ELISION.finditer(folded)] if "'" in folded else []


def _without_apostrophes(folded: str) -> str:
    if "'" not in folded:
        return folded
    return _POSSESSIVE.sub("", folded).replace("'", "")


def _telling(words: list[str]) -> list[str]:
    return [IRREGULAR.get(word, word)[:_LONGEST_TERM] for word in words if word not in STOP_WORDS]


def _stemmed(words: list[str]) -> list[str]:
    found = _stemmer(_ENGLISH).stemWords(words)
    if not all(map(str.isascii, words)):
        for at, word in enumerate(words):
            language = _language(word)
            if language != _ENGLISH:
                found[at : at + 1] = _stemmer(language).stemWords([word])
    return found


def _language(word: str) -> str:
    letter = word[0]
    if letter < _LANGUAGES[0][0] or letter > _LANGUAGES[-1][1]:
        return _ENGLISH
    return next((name for first, last, name in _LANGUAGES if first <= letter <= last), _ENGLISH)


def _stemmer(language: str) -> Stemmer.Stemmer:
    # A stemmer keeps a cache of its own and must not be shared between threads.
    known: dict[str, Stemmer.Stemmer] = _local.__dict__
    if language not in known:
        known[language] = Stemmer.Stemmer(language)
    return known[language]
