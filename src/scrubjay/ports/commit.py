"""What goes into a commit, and what comes of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from scrubjay.model.change import Action, Origin
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Passage, Vector
from scrubjay.model.relation import Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """The new state of one memory. `base` is the version it was made from; None means it is new."""

    memory: Memory
    base: int | None
    action: Action
    passages: tuple[Passage, ...]
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A relation to be set or removed."""

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
    """Makes a commit happen once: the same key and request get the first answer again."""

    key: str
    digest: bytes
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """All that one call changes in one space: it happens whole or not at all."""

    space: str
    origin: Origin
    writes: tuple[Write, ...] = ()
    # Memories that it was made from and does not write, by id and version: they must be there as they were.
    expected: tuple[tuple[str, int], ...] = ()
    edges: tuple[Edge, ...] = ()
    embedded: Embedded | None = None
    # Filed whatever was there before under their keys.
    documents: tuple[Document, ...] = ()
    once: IdempotencyRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The log position after a commit; `answer` is the first answer when the key was used before."""

    seq: int
    answer: str | None = None
