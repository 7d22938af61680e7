"""Handles made from titles and first words."""

import re
import unicodedata

from scrubjay.text.tokens import STOP_WORDS

_LONGEST = 64
_WORDS = 8
_SUFFIX_CHARACTERS = 6
_APOSTROPHES = re.compile("[\u2019']")
_BREAKS = re.compile("-+")
_NOT_ASCII_WORDS = re.compile("[^A-Za-z0-9]")


def slug(text: str) -> str:
    """The text as a handle: lower case, words joined by hyphens, at most 64 characters."""
    folded = unicodedata.normalize("NFKC", _APOSTROPHES.sub("", text[:1000])).casefold()
    return _BREAKS.sub("-", _spelled(folded))[:_LONGEST].strip("-")


def slug_of_first_words(text: str) -> str:
    """A handle for a text without a title; it does not end in the middle of a phrase."""
    words = slug(" ".join(text[:1000].split()[:_WORDS])).split("-")
    while len(words) > 1 and words[-1] in STOP_WORDS:
        words.pop()
    return "-".join(words)


def bare_slug(text: str) -> str:
    """The handle without stop words: what people half remember of a title."""
    return "-".join(word for word in slug(text).split("-") if word not in STOP_WORDS)


def add_suffix(name: str, memory_id: str) -> str:
    """A name that is free because it ends in a piece of its own id."""
    return f"{name}-{memory_id[-_SUFFIX_CHARACTERS:]}"


def remove_suffix(name: str, memory_id: str) -> str:
    """The name without that piece, if it has it."""
    return name.removesuffix(add_suffix("", memory_id))


def _spelled(text: str) -> str:
    """Letters, digits and the marks on them; a hyphen for anything else."""
    if text.isascii():
        return _NOT_ASCII_WORDS.sub("-", text)
    found = ""
    for one in text:
        # A mark without a letter is the remnant of an emoji.
        is_mark = unicodedata.category(one)[0] == "M" and found[-1:] not in ("", "-")
        found += one if one.isalnum() or is_mark else "-"
    return found
