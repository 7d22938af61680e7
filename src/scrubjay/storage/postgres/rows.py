"""Bytes and keys as the tables have them; words of the lexical index are keys that depend on space and state."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache

from scrubjay.model.memory import State
from scrubjay.model.query import Facet
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import from_micros
from scrubjay.storage.rows import STATE_NUMBERS

# Every text that begins with a prefix sorts before the prefix followed by this character.
LAST_CHARACTER = "\U0010ffff"
_TERM, _FACET, _GRAM, _THREAD = b"t", b"f", b"g", b"h"


def to_hex(data: bytes) -> str:
    """Return bytes as the database reads them from JSON."""
    return "\\x" + data.hex()


def from_hex(text: str) -> bytes:
    """Return bytes that the database has written to JSON."""
    return bytes.fromhex(text[2:])


def array(numbers: Iterable[float]) -> str:
    """Return numbers as the database reads an array."""
    # Faster than the driver, which inspects each of them several times.
    return f"{{{','.join(map(repr, numbers))}}}"


def digest_of(text: str) -> bytes:
    """Return a digest that replaces a text of any length in a unique key."""
    return hashlib.blake2b(_bytes(text), digest_size=16).digest()


def words_of(space: str, state: State, terms: Iterable[str]) -> dict[str, int]:
    """Return the words of distinct terms, by term."""
    return {term: _word(space, state, _TERM, term) for term in dict.fromkeys(terms)}


def labels_of(space: str, state: State, facets: Iterable[Facet]) -> list[int]:
    """Return the words of facets."""
    return [_word(space, state, _FACET, facet) for facet in facets]


def grams_for(space: str, state: State, grams: Iterable[str]) -> list[int]:
    """Return the keys of trigrams."""
    return [_gram(space, state, gram) for gram in grams]


def thread_key(space: str, state: State, thread: str) -> int:
    """Return the key of a session, which its passages share."""
    return _word(space, state, _THREAD, thread)


def relation_of(row: Sequence[object]) -> Relation:
    """Return the relation of a row."""
    source, kind, target, text, strength, metadata, created_at = row
    return Relation(
        source=str(source),
        type=str(kind),
        target=str(target),
        text=str(text),
        strength=float(str(strength)),
        metadata=json.loads(str(metadata)),
        created_at=from_micros(int(str(created_at))),
    )


# There are few trigrams, and each occurs in many terms.
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
