"""What the engine needs of the outside world, as narrow protocols that show no backend's type."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from scrubjay.model.answer import Answer
from scrubjay.model.change import Action, Change, Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage, Point, StoredPassage, Vector
from scrubjay.model.query import Facet, Filter
from scrubjay.model.relation import Relation
from scrubjay.model.token import Token
from scrubjay.model.version import Dossier, Version

Progress = Callable[[int, int], None]
"""Told how much of how much is done."""


# ---- what goes into a commit ----------------------------------------------------------------------


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
class Once:
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
    edges: tuple[Edge, ...] = ()
    embedded: Embedded | None = None
    once: Once | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The log position after a commit; `answer` is the first answer when the key was used before."""

    seq: int
    answer: str | None = None


# ---- what comes out -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """A memory's id and what people call it."""

    id: str
    name: str
    title: str
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """What ranking needs to know of a space: how many passages, how long, and how many have each term."""

    passages: int
    total_length: int
    frequencies: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The ids of the memories before and after one in its session, nearest first."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One call, or one named series of calls, as the log remembers it."""

    id: str
    agent: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatistics:
    """Sizes, for `status`. Counts are of one space; bytes are of the whole store."""

    memories: Mapping[str, int]
    versions: int
    relations: int
    body_bytes: int
    stored_bytes: int
    raw_bodies: int
    flagged_bodies: int
    vectors: Mapping[str, int]
    facets: Mapping[str, int] = field(default_factory=dict[str, int])
    details: Mapping[str, str | int | float | bool] = field(default_factory=dict[str, str | int | float | bool])


# ---- the record store -----------------------------------------------------------------------------


class Records(Protocol):
    """Memories, their versions and relations."""

    async def commit(self, commit: Commit) -> Committed:
        """Apply a commit; raises StaleVersion, NameTaken, NotFound or KeyReused and then changes nothing."""
        ...

    async def answered(self, space: str, key: str, digest: bytes) -> str | None:
        """The answer given under an idempotency key; raises KeyReused when the request was another."""
        ...

    async def adopt(self, space: str, dossiers: Sequence[Dossier], *, origin: Origin) -> tuple[str, ...]:
        """Take in memories with their past as they are; returns the ids that were not there yet."""
        ...

    async def purge(self, space: str, ids: Sequence[str], *, origin: Origin) -> int:
        """Destroy memories and every trace of their text; returns how many there were."""
        ...

    async def touch(self, space: str, ids: Sequence[str], *, at: datetime) -> None:
        """Count a reading; makes no version."""
        ...

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """The memories that exist, by id."""
        ...

    async def find(self, space: str, ref: str, *, state: State | None = None) -> tuple[Handle, ...]:
        """Who answers to a reference, at the first level with an answer: id, name, title, bare slug."""
        ...

    async def nearest(self, space: str, ref: str, *, limit: int) -> tuple[str, ...]:
        """Names that look like a reference nobody answers to."""
        ...

    async def labels(self, space: str, field: str, *, prefix: str, limit: int) -> tuple[str, ...]:
        """Names of live memories, or values of a facet, in order: those that begin with a prefix.

        A value is told as facets spell it, in lower case; a name matches as written or in lower case.
        """
        ...

    async def same_content(self, space: str, content: str) -> tuple[str, ...]:
        """Ids of live memories with exactly this content."""
        ...

    async def versions(self, space: str, memory_id: str, *, limit: int, before: int | None = None) -> list[Version]:
        """Versions, newest first."""
        ...

    async def version(self, space: str, memory_id: str, number: int) -> Version | None:
        """One version."""
        ...

    async def relations(self, space: str, ids: Sequence[str]) -> list[Relation]:
        """Every relation that touches one of the memories."""
        ...

    async def list_ids(self, space: str, wanted: Filter, *, limit: int, after: str | None = None) -> list[str]:
        """Ids that pass a filter, most recently updated first, from after the given id on."""
        ...

    async def pinned(self, space: str) -> list[str]:
        """Ids of the live pinned memories, oldest first."""
        ...

    async def members(self, space: str, group: str) -> list[str]:
        """Ids of the records that were made from one text, whatever their state."""
        ...


class Lexicon(Protocol):
    """Lexical candidates and the statistics to rank them exactly."""

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], wanted: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        """(passage number, weight) of passages that pass the filter and have some of the terms, best first.

        The weight is the sum of log(1 + passages / passages with the term) over the terms that were looked up: a
        store may leave common ones out.
        """
        ...

    async def term_statistics(self, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
        """Statistics of this space alone."""
        ...

    async def stored_passages(self, space: str, ids: Sequence[int], *, around: int = 0) -> list[StoredPassage]:
        """Passages by number; those that are gone are left out.

        Each names up to `around` neighbours on either side: passages of the same thread and state, in the order of
        their dates, then of their numbers. The neighbours that were not asked for follow at the end; they name none. Of
        those that stand right beside none that was asked for, a store need tell no more than what was said by whom.
        """
        ...

    async def passage_numbers(self, space: str, memory_ids: Sequence[str]) -> list[int]:
        """The numbers of all passages of some memories, in order."""
        ...

    async def beside(self, space: str, memory_ids: Sequence[str], *, each: int) -> dict[str, Beside]:
        """The memories of the same session and state around each, by its id."""
        ...

    async def similar_terms(self, space: str, term: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """Terms of the space that share the most trigrams with one, and how many passages have each.

        First those with the largest share of the trigrams of both, then the more common, then by spelling.
        """
        ...

    async def known_facets(self, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
        """Which of some facets there are in a space, and how many memories have each."""
        ...


class VectorShelf(Protocol):
    """The vectors themselves, which every index is built from."""

    async def vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """Stored vectors by text hash."""
        ...

    async def embedded(self, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
        """Which texts have a vector. Whoever writes goes by it: never from a cache."""
        ...

    async def shelve(self, space: str, embedded: Embedded, *, memory_ids: Sequence[str], origin: Origin) -> None:
        """Store vectors that were made later than their texts, and tell the followers."""
        ...

    async def without_vectors(self, model: str, *, limit: int) -> list[tuple[str, str]]:
        """(space, memory id) of memories that have a passage the model has not embedded."""
        ...

    async def points(self, model: str, *, after: int, limit: int) -> list[Point]:
        """All embedded passages of all spaces by number; the source of an index."""
        ...

    async def points_of(self, model: str, numbers: Sequence[int]) -> list[Point]:
        """The embedded passages of some memories, by the memories' numbers."""
        ...

    async def point_count(self, model: str) -> int:
        """How many points an index of this model has."""
        ...

    async def passing(self, space: str, wanted: Filter) -> Sequence[int]:
        """Numbers of all passages that pass a filter."""
        ...


class ChangeLog(Protocol):
    """The log that followers read from their own cursor."""

    async def changes(self, *, after: int, limit: int) -> list[Change]:
        """Changes of all spaces, in order."""
        ...

    async def changes_in(self, space: str, *, after: int, limit: int) -> list[Change]:
        """Changes of one space from after a place in its own count."""
        ...

    async def last_place(self, space: str) -> int:
        """How many changes a space has seen."""
        ...

    async def last_seq(self) -> int:
        """The number of the newest change."""
        ...

    async def last_run(self, space: str, *, agent: str) -> Run | None:
        """The newest run of an agent that has not been undone and is not itself an undo."""
        ...

    async def run(self, space: str, run: str) -> Run | None:
        """A run by its id or name."""
        ...


class Tokens(Protocol):
    """Who may enter: bearer tokens of the whole store, known by the digest of their secrets alone."""

    async def add_token(self, token: Token, digest: bytes) -> None:
        """Keep a new token; raises Conflict when there is one with its id or digest."""
        ...

    async def token_by(self, digest: bytes) -> Token | None:
        """The token of a secret, in whatever state. It is asked for every request: never from a cache, never slow."""
        ...

    async def token(self, token_id: str) -> Token | None:
        """One token, in whatever state; as quick and as true as by its digest."""
        ...

    async def tokens(self) -> list[Token]:
        """All tokens, oldest first."""
        ...

    async def revoke_token(self, token_id: str, *, at: datetime) -> Token | None:
        """End a token for good; one that was revoked before keeps that moment. None when there is no such token."""
        ...


class Inventory(Protocol):
    """All that a store holds, page by page and in a fixed order: for whoever moves it elsewhere or compares it."""

    async def spaces(self) -> list[str]:
        """The names of all spaces, in order."""
        ...

    async def ids(self, space: str, *, after: str = "", limit: int) -> list[str]:
        """Ids of memories in every state, in order, from after the given one on."""
        ...

    async def dossiers(self, space: str, ids: Sequence[str], *, most_bytes: int) -> list[Dossier]:
        """The first of these memories with their whole past, oldest version first, in the order asked for.

        As many as have no more than so many bytes of text together, but at least one; those that are gone are left
        out. Raises BodyDamaged when a version of one cannot be read.
        """
        ...

    async def models(self) -> dict[str, int]:
        """The models that have embedded something, and the length of their vectors."""
        ...

    async def shelved(self, space: str, model: str, *, after: bytes = b"", limit: int) -> dict[bytes, Vector]:
        """Vectors of a space, also of texts that no memory has now, in the order of their hashes."""
        ...

    async def answers(self, space: str, *, after: str | bytes | None = None, limit: int) -> list[Answer]:
        """What was answered under idempotency keys, in the order of the keys."""
        ...

    async def keep_answers(self, space: str, answers: Sequence[Answer], *, origin: Origin) -> int:
        """Keep answers that another store has given; returns how many were not there yet."""
        ...

    async def token_digests(self) -> dict[str, bytes]:
        """The digests of all tokens' secrets, by the tokens' ids."""
        ...


class Upkeep(Protocol):
    """What keeps a store healthy."""

    @property
    def store_id(self) -> str:
        """Changes when the store is restored from elsewhere, so that indexes know they are stale."""
        ...

    async def statistics(self, space: str) -> StoreStatistics:
        """Sizes and counts."""
        ...

    async def check(self, *, deep: bool = False) -> list[str]:
        """What is wrong with the store; empty when nothing is. `deep` reads every body."""
        ...

    async def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        """Copy the store to a file while it is in use."""
        ...

    async def tidy(self) -> list[str]:
        """Do the upkeep that is due; returns what was done.

        Also reads anew the passages of memories that were stored when texts were taken apart in another way.
        """
        ...

    async def close(self) -> None:
        """Finish accepted writes and let go of everything."""
        ...


class RecordStore(Records, Lexicon, VectorShelf, ChangeLog, Tokens, Inventory, Upkeep, Protocol):
    """The truth: all that the engine asks of a store."""


# ---- the followers and helpers --------------------------------------------------------------------


class VectorIndex(Protocol):
    """Finds the points nearest to a vector. It can always be rebuilt from the store."""

    @property
    def cursor(self) -> int:
        """The last change it has applied."""
        ...

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        """Remove the stale points, put the new ones, and remember the log position they bring it to."""
        ...

    async def search(self, space: str, vector: Vector, wanted: Filter, *, limit: int) -> list[tuple[int, float]]:
        """(passage number, cosine), best first; never fewer than pass the filter, up to the limit."""
        ...

    async def close(self) -> None:
        """Make what was applied durable and let go."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """All that belongs to an embedding model.

    `weight` is what one unit of cosine is worth in BM25; above a cosine of `same` two texts say the same. `measured`
    names those of the two that were found with this very model; the others are taken over from models like it.
    """

    model: str
    dimension: int
    weight: float = 4.0
    query_prefix: str = ""
    text_prefix: str = ""
    pooling: str = "mean"
    same: float = 0.96
    measured: tuple[str, ...] = ()


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    async def profile(self) -> Profile:
        """The model's profile; loads the model if need be, raises EmbeddingUnavailable."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors of texts to be stored, in order."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        ...

    async def close(self) -> None:
        """Let go of the model or connection."""
        ...


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Now, in UTC."""
        ...


class Reranker(Protocol):
    """Reads a question and a text together, which says more than their vectors, and takes longer."""

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, in order; higher is better. Raises RerankingUnavailable."""
        ...

    async def close(self) -> None:
        """Let go of the model."""
        ...
