"""Keys for texts, and the words of the lexical index: numbers that mean something in one space and state alone."""

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from scrubjay.model.memory import State
from scrubjay.model.query import Facet
from scrubjay.storage.rows import STATE_NUMBERS

_TERM, _FACET, _GRAM, _THREAD = b"t", b"f", b"g", b"h"


def digest_of(text: str) -> bytes:
    """What stands for a text of any length where it must be unique."""
    return hashlib.blake2b(_bytes(text), digest_size=16).digest()


def words_of(space: str, state: State, terms: Iterable[str]) -> dict[str, int]:
    """The words that terms are found by, each once."""
    return {term: _word(space, state, _TERM, term) for term in dict.fromkeys(terms)}


def labels_of(space: str, state: State, facets: Iterable[Facet]) -> list[int]:
    """The words that facets are found by."""
    return [_word(space, state, _FACET, facet) for facet in facets]


def grams_for(space: str, state: State, grams: Iterable[str]) -> list[int]:
    """The keys of trigrams."""
    return [_gram(space, state, gram) for gram in grams]


def thread_key(space: str, state: State, thread: str) -> int:
    """The key of a row of passages that belong together."""
    return _word(space, state, _THREAD, thread)


# There are few, and many terms have each.
@lru_cache(maxsize=20_000)
def _gram(space: str, state: State, gram: str) -> int:
    return _word(space, state, _GRAM, gram)


def _word(space: str, state: State, kind: bytes, text: str) -> int:
    person = kind + bytes((STATE_NUMBERS[state],))
    digest = hashlib.blake2b(_bytes(text), digest_size=8, key=_key(space), person=person).digest()
    return int.from_bytes(digest, "big", signed=True)


@lru_cache(maxsize=1000)
def _key(space: str) -> bytes:
    return hashlib.blake2b(_bytes(space), digest_size=32).digest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
