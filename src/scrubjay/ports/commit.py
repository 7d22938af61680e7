"""Commits: their parts, their result, and answers under idempotency keys."""

import hashlib
from collections.abc import Mapping
from datetime import datetime

from scrubjay.lazy import dataclass
from scrubjay.model.change import Action, Origin
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Passage, Vector
from scrubjay.model.relation import Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """The new state of one memory. `base` is the version it replaces; None means a new memory.

    `at` is when the version was made, if it does not count as an update: curation moves a memory without making it
    newer, and then `updated_at` stays.
    """

    memory: Memory
    base: int | None
    action: Action
    passages: tuple[Passage, ...]
    message: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A relation to set or to remove."""

    relation: Relation
    present: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Vectors by one model, keyed by the hash of the text."""

    model: str
    dimension: int
    vectors: Mapping[bytes, Vector]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyRecord:
    """Makes a commit idempotent: the same key and request return the first answer."""

    key: str
    digest: bytes
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """An answer and its run. The key is a digest if the store keeps no more."""

    key: str | bytes
    digest: bytes
    answer: str
    run: str
    agent: str
    at: datetime

    @property
    def key_digest(self) -> bytes:
        """The digest of the key."""
        return key_digest(self.key) if isinstance(self.key, str) else self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """The changes of one call to one space, applied atomically."""

    space: str
    origin: Origin
    writes: tuple[Write, ...] = ()
    # Memories that it depends on without writing them, by id and version: they must be unchanged.
    expected: tuple[tuple[str, int], ...] = ()
    edges: tuple[Edge, ...] = ()
    embedded: Embedded | None = None
    # They replace the documents under their keys, whatever their version.
    documents: tuple[Document, ...] = ()
    once: IdempotencyRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The log position after a commit; `answer` is the first answer when the key was used before."""

    seq: int
    answer: str | None = None


def key_digest(key: str) -> bytes:
    """Return the digest of an idempotency key, for stores that do not keep the key itself."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
