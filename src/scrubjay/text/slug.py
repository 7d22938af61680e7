"""Slugs: readable handles made from a title or from the first words of a text."""

import re
import unicodedata
from functools import lru_cache

from scrubjay.text.tokens import STOP_WORDS

__all__ = ["add_suffix", "bare_slug", "remove_suffix", "slug", "slug_of_first_words"]

_MAX_LENGTH = 64
_MAX_TEXT = 1000
_MAX_WORDS = 8
_SUFFIX_LENGTH = 6
_APOSTROPHES = re.compile("[\u2019']")
_HYPHENS = re.compile("-+")
_NOT_ASCII_WORDS = re.compile("[^A-Za-z0-9]")


def slug(text: str) -> str:
    """Return a text as a handle: lower case, words joined by hyphens, at most 64 characters."""
    return _slug(text[:_MAX_TEXT]) if text else ""


# A write needs the slugs of the same title and name several times.
@lru_cache(maxsize=512)
def _slug(text: str) -> str:
    folded = unicodedata.normalize("NFKC", _APOSTROPHES.sub("", text)).casefold()
    return _HYPHENS.sub("-", _hyphenate(folded))[:_MAX_LENGTH].strip("-")


def slug_of_first_words(text: str) -> str:
    """Return a handle for a text without a title that does not end in the middle of a phrase."""
    words = slug(" ".join(text[:_MAX_TEXT].split()[:_MAX_WORDS])).split("-")
    while len(words) > 1 and words[-1] in STOP_WORDS:
        words.pop()
    return "-".join(words)


def bare_slug(text: str) -> str:
    """Return the handle without stop words: people remember half of a title."""
    return "-".join(word for word in slug(text).split("-") if word not in STOP_WORDS)


def add_suffix(name: str, memory_id: str) -> str:
    """Make a name unique with the last characters of its memory's id."""
    return f"{name}-{memory_id[-_SUFFIX_LENGTH:]}"


def remove_suffix(name: str, memory_id: str) -> str:
    """Return a name without the suffix of its memory's id."""
    return name.removesuffix(add_suffix("", memory_id))


def _hyphenate(text: str) -> str:
    """Keep letters, digits and the marks on them, and replace all else by hyphens."""
    if text.isascii():
        return _NOT_ASCII_WORDS.sub("-", text)
    handle = ""
    for character in text:
        # A mark without a letter is the remnant of an emoji.
        is_mark = unicodedata.category(character)[0] == "M" and handle[-1:] not in ("", "-")
        handle += character if character.isalnum() or is_mark else "-"
    return handle
