"""Slugs: readable handles made from a title or from the words that say what a text is about."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from scrubjay.text.empty_words import empty_words_of
from scrubjay.text.languages import language_of
from scrubjay.text.scripts import ascii_words, fold
from scrubjay.text.tokens import STOP_WORDS

__all__ = ["add_suffix", "bare_slug", "name_of_statement", "remove_suffix", "slug", "slug_of_subject", "whole_slug"]

_MAX_LENGTH = 64
_MAX_TEXT = 1000
# A handle of a text: so many words at most, and letters.
_MAX_WORDS = 3
_MAX_SUBJECT = 32
_SUFFIX_LENGTH = 6
_APOSTROPHES = re.compile("[\u2019']")
_HYPHENS = re.compile("-+")
# The point of "27. March" ends nothing.
_SENTENCE_END = re.compile(r"[.!?;\n](?:(?<=\n)|(?<!\d.)(?=\s|$))")
# Addresses and paths are no words.
_NO_WORD = re.compile(r"\d|.*(?:://|[/\\@=])")


def slug(text: str) -> str:
    """Return a text as a handle: lower case, words joined by hyphens, at most 64 characters."""
    return _unlimited_slug(text[:_MAX_TEXT])[:_MAX_LENGTH].strip("-") if text else ""


def whole_slug(text: str) -> str:
    """Return a text as a handle that does not end inside a word, if its first word is not too long."""
    handle = slug(text)
    if len(handle) < len(longer := _unlimited_slug(text[:_MAX_TEXT])) and longer[len(handle)] != "-":
        return handle.rpartition("-")[0] or handle
    return handle


def slug_of_subject(text: str) -> str:
    """Return a short handle for a text without a title: the first words that say what it is about.

    The last word of a statement is mostly the value, which may change, and so are figures: they are left out.
    """
    return _slug_of_subject(text[:_MAX_TEXT].strip())


def name_of_statement(text: str) -> str:
    """Return a name for a statement: always the same for the same text, and another for any other."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_SUFFIX_LENGTH]
    return f"{slug_of_subject(text) or 'fact'}-{digest}"


# Hundreds of writes at once are composed before they are embedded, and again when they are stored.
@lru_cache(maxsize=512)
def _slug_of_subject(text: str) -> str:
    end = _SENTENCE_END.search(text)
    words = (text[: end.start()] if end and end.start() else text).split()
    if len(words) <= 2:  # noqa: PLR2004
        return whole_slug(" ".join(words))
    # One more than a handle has, since the last word of a statement is left out.
    handles = list(islice(_telling_slugs(words, empty_words_of(language_of(text))), _MAX_WORDS + 1))
    first = handles[: min(_MAX_WORDS, max(len(handles) - 1, 1))] or [slug(word) for word in words[:_MAX_WORDS]]
    while len(first) > 1 and sum(map(len, first)) + len(first) > _MAX_SUBJECT:
        first.pop()
    return whole_slug(" ".join(first))


def _telling_slugs(words: Iterable[str], empty: frozenset[str]) -> Iterator[str]:
    for word in words:
        # Most words are nothing but letters.
        if word.isascii() and word.isalpha() and len(word) <= _MAX_LENGTH:
            handle = word.lower()
        else:
            handle = "" if _NO_WORD.match(word) else slug(word)
        if handle and (handle if handle.isascii() else fold(handle)) not in empty:
            yield handle


def bare_slug(text: str) -> str:
    """Return the handle without stop words: people remember half of a title."""
    return "-".join(word for word in slug(text).split("-") if word not in STOP_WORDS)


def add_suffix(name: str, memory_id: str) -> str:
    """Make a name unique with the last characters of its memory's id."""
    return f"{name}-{memory_id[-_SUFFIX_LENGTH:]}"


def remove_suffix(name: str, memory_id: str) -> str:
    """Return a name without the suffix of its memory's id."""
    return name.removesuffix(add_suffix("", memory_id))


# A write needs the slugs of the same title and name several times.
@lru_cache(maxsize=512)
def _unlimited_slug(text: str) -> str:
    if text.isascii():
        return "-".join(ascii_words(text.replace("'", "").lower()))
    folded = unicodedata.normalize("NFKC", _APOSTROPHES.sub("", text)).casefold()
    return _HYPHENS.sub("-", _hyphenate(folded)).strip("-")


def _hyphenate(text: str) -> str:
    """Keep letters, digits and the marks on them, and replace all else by hyphens."""
    handle = ""
    for character in text:
        # A mark without a letter is the remnant of an emoji.
        is_mark = unicodedata.category(character)[0] == "M" and handle[-1:] not in ("", "-")
        handle += character if character.isalnum() or is_mark else "-"
    return handle
