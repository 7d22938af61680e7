"""The record store, by subject."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from scrubjay.lazy import dataclass
from scrubjay.model.change import Change, Origin
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Point, StoredPassage, Vector
from scrubjay.model.query import Facet, Filter
from scrubjay.model.relation import Relation
from scrubjay.model.token import Token
from scrubjay.model.transfer import Progress
from scrubjay.model.version import MemoryHistory, Version
from scrubjay.ports.commit import Commit, Committed, Embedded, StoredAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """The id of a memory and its names."""

    id: str
    name: str
    title: str
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """Statistics of a space for ranking: the number and length of passages, and the frequencies of terms."""

    passages: int
    total_length: int
    frequencies: Mapping[str, int]


class LexicalMatch(NamedTuple):
    """A memory that matches some groups of terms, by one of its passages.

    `groups` counts the groups that match, `weight` adds up their weights.
    """

    passage: int
    groups: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The ids of the memories before and after a memory in its session, nearest first."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One call, or one named series of calls, in the log."""

    id: str
    agent: str
    changes: tuple[Change, ...]
    is_undone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatistics:
    """Sizes, for `status`. Counts are for one space, bytes for the whole store."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Sizes that are known without reading the memories: those of a space by state, and the bytes of the store.

    A store may know `body_bytes` and `stored_bytes`, which tell of the compression, of its newest bodies alone.
    """

    memories: Mapping[str, int]
    body_bytes: int
    stored_bytes: int
    store_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedBody:
    """A version whose stored bytes cannot be read, and why."""

    memory_id: str
    version: int
    why: str

    def __str__(self) -> str:
        return f"memory {self.memory_id} (version {self.version}): {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyCheck:
    """How many versions were read from the disk, and those of them that are damaged."""

    read: int
    damaged: tuple[DamagedBody, ...] = ()


class MemoryReader(Protocol):
    """What other packages read of a store: memories, their names and labels, versions and relations."""

    @property
    def store_id(self) -> str:
        """The identity of the store; a restore changes it, so that indexes know they are stale."""
        ...

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories that exist, by id."""
        ...

    async def find(self, space: str, ref: str, *, state: State | None = None) -> tuple[Handle, ...]:
        """Return the memories that a reference names, at the first level that matches: id, name, title, bare slug."""
        ...

    async def nearest(self, space: str, ref: str, *, limit: int) -> tuple[str, ...]:
        """Return names similar to a reference that matches no memory."""
        ...

    async def labels(self, space: str, field: str, *, prefix: str, limit: int) -> tuple[str, ...]:
        """Return the names of live memories, or the values of a facet, that begin with a prefix, in order.

        Values are in lower case, as facets spell them; a name matches as written or in lower case.
        """
        ...

    async def same_content(self, space: str, content: str) -> tuple[str, ...]:
        """Return the ids of live memories with exactly this content."""
        ...

    async def versions(self, space: str, memory_id: str, *, limit: int, before: int | None = None) -> list[Version]:
        """Return versions, newest first."""
        ...

    async def version(self, space: str, memory_id: str, number: int) -> Version | None:
        """Return one version."""
        ...

    async def relations(self, space: str, ids: Sequence[str]) -> list[Relation]:
        """Return every relation of the memories."""
        ...

    async def list_ids(self, space: str, filter: Filter, *, limit: int, after: str | None = None) -> list[str]:
        """Return the ids that pass a filter, most recently updated first, after a given id."""
        ...

    async def pinned(self, space: str) -> list[str]:
        """Return the ids of the live pinned memories, oldest first."""
        ...

    async def facet_values(self, space: str, field: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """Return the values of a facet such as `kind`, and how many memories have each; the most frequent first."""
        ...

    async def known_facets(self, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
        """Return the facets that exist in a space, and how many memories have each."""
        ...


class Records(MemoryReader, Protocol):
    """Memories, their versions and relations."""

    async def commit(self, commit: Commit) -> Committed:
        """Apply a commit; raises StaleVersion, NameTaken, NotFound or KeyReused and then changes nothing."""
        ...

    async def find_answer(self, space: str, key: str, digest: bytes) -> str | None:
        """Return the answer under an idempotency key; raises KeyReused if the request was a different one."""
        ...

    async def adopt(self, space: str, histories: Sequence[MemoryHistory], *, origin: Origin) -> tuple[str, ...]:
        """Store memories with their versions unchanged; returns the ids that are new."""
        ...

    async def purge(self, space: str, ids: Sequence[str], *, origin: Origin) -> int:
        """Destroy memories and every trace of their text; returns their number."""
        ...

    async def label(self, space: str, memory_id: str, number: int, *, before: str, message: str) -> bool:
        """Replace the message of a version; False if it is not `before` any more. Creates no version."""
        ...

    async def touch(self, space: str, ids: Sequence[str], *, at: datetime) -> None:
        """Count a read; creates no version."""
        ...

    async def unread(self, space: str, *, but: Collection[str] = (), limit: int) -> tuple[int, list[str]]:
        """Return how many live memories were never read, besides some, and the ids of the oldest of them."""
        ...

    async def relations_at(self, space: str, ids: Sequence[str], *, at: datetime) -> list[Relation]:
        """Return every relation of the memories at a time, including those that were removed since."""
        ...

    async def version_at(self, space: str, memory_id: str, *, at: datetime) -> Version | None:
        """Return the newest version at a time."""
        ...

    async def versions_at(self, space: str, ids: Sequence[str], *, at: datetime) -> dict[str, Version]:
        """Return the newest version of each memory at a time, by id; later memories are left out."""
        ...

    async def sizes(self, space: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return the current text bytes and stored bytes of each memory that exists."""
        ...

    async def members(self, space: str, group: str) -> list[str]:
        """Return the ids of the records that were made from one text, in any state."""
        ...

    async def spaces(self) -> list[str]:
        """Return the names of all spaces, in order."""
        ...

    async def ids(self, space: str, *, after: str = "", limit: int) -> list[str]:
        """Return the ids of memories in every state, in order, after a given one."""
        ...

    async def histories(self, space: str, ids: Sequence[str], *, most_bytes: int) -> list[MemoryHistory]:
        """Return the first of these memories with all versions, oldest version first, in the requested order.

        Stops at `most_bytes` bytes of text, but returns at least one; missing memories are left out. Raises BodyDamaged
        if a version cannot be read.
        """
        ...

    async def answers(self, space: str, *, after: str | bytes | None = None, limit: int) -> list[StoredAnswer]:
        """Return the answers under idempotency keys, in the order of the keys."""
        ...

    async def import_answers(self, space: str, answers: Sequence[StoredAnswer], *, origin: Origin) -> int:
        """Store answers of another store; returns the number of new ones."""
        ...


class Lexicon(Protocol):
    """Lexical candidates, and the statistics to rank them exactly."""

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        """Return (passage number, weight) of passages that pass the filter and have some of the terms, best first.

        The weight is the sum of log(1 + passages / passages with the term) over the terms that were looked up; a
        store may skip common terms.
        """
        ...

    async def term_statistics(self, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
        """Return the statistics of this space alone."""
        ...

    async def stored_passages(self, space: str, ids: Sequence[int], *, around: int = 0) -> list[StoredPassage]:
        """Return passages by number; missing ones are left out.

        Each names up to `around` neighbours on either side: passages of the same thread and state, ordered by date,
        then by number. Neighbours that were not requested follow at the end and name none themselves. Of those
        that are not adjacent to a requested passage a store need fill in only the id of the memory, the hash, the
        terms, the speaker and `asks`.
        """
        ...

    async def passage_numbers(self, space: str, memory_ids: Sequence[str]) -> list[int]:
        """Return the numbers of all passages of some memories, in order."""
        ...

    async def session_neighbours(self, space: str, memory_ids: Sequence[str], *, each: int) -> dict[str, Neighbours]:
        """Return the memories of the same session and state around each memory, by its id."""
        ...

    async def similar_terms(self, space: str, term: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """Return terms that share the most trigrams with a term, and how many passages have each.

        Ordered by the share of common trigrams, then by frequency, then by spelling.
        """
        ...

    async def terms_with_prefix(self, space: str, prefix: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """Return terms that begin with a prefix, and how many passages have each; the most common first.

        If there are very many, a store may consider only the first of them, in order of spelling.
        """
        ...

    async def memories_matching(
        self, space: str, groups: Sequence[Sequence[str]], filter: Filter, *, limit: int
    ) -> list[LexicalMatch]:
        """Return memories that pass the filter and have a term of some groups, each by its best passage.

        Ordered by the number of groups, then by their weight, then newest first. The weight of a group is
        log(1 + passages / passages with one of its terms), counted term by term. A store may treat a common group as
        missing if it never occurs in a passage together with a rarer one.
        """
        ...


class VectorStore(Protocol):
    """The stored vectors, the source of every index."""

    async def vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return vectors by the hash of their text; those of texts that no memory has now may be less exact."""
        ...

    async def embedded(self, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
        """Return the hashes of texts that have a vector. Writes depend on it: never answer from a cache."""
        ...

    async def store_vectors(self, space: str, embedded: Embedded, *, memory_ids: Sequence[str], origin: Origin) -> None:
        """Store vectors after their texts, and log the change for followers."""
        ...

    async def drop_vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> None:
        """Delete vectors that are of no use, so that their texts can be embedded again."""
        ...

    async def without_vectors(self, model: str, *, limit: int, space: str = "") -> list[tuple[str, str]]:
        """Return (space, memory id) of memories with a passage that the model has not embedded, of one space or all."""
        ...

    async def points(self, model: str, *, after: int, limit: int) -> list[Point]:
        """Return the embedded passages of all spaces by number; the source of an index."""
        ...

    async def points_of(self, model: str, numbers: Sequence[int]) -> list[Point]:
        """Return the embedded passages of memories, by the numbers of the memories."""
        ...

    async def point_count(self, model: str) -> int:
        """Return the number of points of an index of this model."""
        ...

    async def matching_passages(self, space: str, filter: Filter) -> Sequence[int]:
        """Return the numbers of all passages that pass a filter."""
        ...

    async def models(self) -> dict[str, int]:
        """Return the models with stored vectors, and the length of the vectors."""
        ...

    async def stored_vectors(self, space: str, model: str, *, after: bytes = b"", limit: int) -> dict[bytes, Vector]:
        """Return vectors of a space, including those of texts that no memory has now, in the order of their hashes."""
        ...


class ChangeLog(Protocol):
    """The log of changes; each follower reads it from its own cursor."""

    async def changes(self, *, after: int, limit: int) -> list[Change]:
        """Return changes of all spaces, in order."""
        ...

    async def changes_in(self, space: str, *, after: int, limit: int) -> list[Change]:
        """Return changes of one space after a position in its own count."""
        ...

    async def last_place(self, space: str) -> int:
        """Return the number of changes of a space."""
        ...

    async def last_seq(self) -> int:
        """Return the number of the newest change."""
        ...

    async def last_run(self, space: str, *, agent: str) -> Run | None:
        """Return the newest run of an agent that is not undone and is not an undo itself."""
        ...

    async def run(self, space: str, run: str) -> Run | None:
        """Return a run by its id or name."""
        ...


class DocumentStore(Protocol):
    """Documents of a space besides its memories, such as rules and jobs.

    Collections and keys are short texts. A document with a `memory_id` or an `other_id` in its `about` is purged with
    that memory.
    """

    async def document(self, space: str, collection: str, key: str) -> Document | None:
        """Return a document."""
        ...

    async def documents(self, space: str, collection: str, *, after: str = "", limit: int) -> list[Document]:
        """Return the documents of a collection in the order of their keys, after a given key."""
        ...

    async def document_count(self, space: str, collection: str) -> int:
        """Return the number of documents of a collection."""
        ...

    async def latest_documents(
        self, space: str, collection: str, *, before: tuple[datetime, str] | None = None, limit: int
    ) -> list[Document]:
        """Return the documents of a collection before one of them, the latest first, then by descending key."""
        ...

    async def documents_about(self, space: str, collection: str, ids: Sequence[str], *, limit: int) -> list[Document]:
        """Return the documents of a collection whose `about` names one of the memories, in the same order."""
        ...

    async def put_document(self, document: Document, *, base: int | None) -> Document:
        """Store a document as the version after `base`, None for a new one; raises StaleVersion if it has changed."""
        ...

    async def delete_document(self, space: str, collection: str, key: str) -> bool:
        """Delete a document; returns whether it existed."""
        ...

    async def due_documents(self, collection: str, *, now: datetime, limit: int) -> list[Document]:
        """Return the documents of a collection that are due, in all spaces, the longest overdue first."""
        ...

    async def all_documents(self, space: str, *, after: tuple[str, str] = ("", ""), limit: int) -> list[Document]:
        """Return the documents of a space, in the order of collection and key, after a given one."""
        ...

    async def import_documents(self, space: str, documents: Sequence[Document], *, renew: bool) -> int:
        """Store documents of another store, with their versions; returns the number of changes.

        Existing documents stay, unless `renew` is set.
        """
        ...


class Tokens(Protocol):
    """Bearer tokens of the whole store; only the digests of their secrets are stored."""

    async def add_token(self, token: Token, digest: bytes) -> None:
        """Store a new token; raises Conflict if its id or digest exists."""
        ...

    async def token_by_digest(self, digest: bytes) -> Token | None:
        """Return the token of a secret, in any state. Every request calls it: it must be fast and never cached."""
        ...

    async def token(self, token_id: str) -> Token | None:
        """Return a token, in any state; as fast and as fresh as by its digest."""
        ...

    async def tokens(self) -> list[Token]:
        """Return all tokens, oldest first."""
        ...

    async def revoke_token(self, token_id: str, *, at: datetime) -> Token | None:
        """Revoke a token for good; a revoked one keeps its time. Returns None if there is no such token."""
        ...

    async def token_digests(self) -> dict[str, bytes]:
        """Return the digests of the secrets of all tokens, by token id."""
        ...


class Upkeep(Protocol):
    """Health and maintenance of a store."""

    async def statistics(self, space: str) -> StoreStatistics:
        """Return sizes and counts."""
        ...

    async def footprint(self, space: str) -> Footprint:
        """Return sizes without reading the memories: it is called often."""
        ...

    async def check(self, *, deep: bool = False) -> list[str]:
        """Return the problems of the store; empty if there are none. `deep` reads every body."""
        ...

    async def check_bodies(self, space: str, ids: Sequence[str]) -> BodyCheck:
        """Read every version of some memories; missing ones are left out."""
        ...

    async def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        """Copy the store to a file while it is in use, and read the copy.

        Raises BodyDamaged for damaged bodies: the copy is written, and has them as they are.
        """
        ...

    async def tidy(self) -> list[str]:
        """Do the maintenance that is due; returns a list of what was done.

        It also splits memories into passages again if they were stored by an older text splitter.
        """
        ...

    async def close(self) -> None:
        """Finish accepted writes and release all resources."""
        ...


class RecordStore(Records, Lexicon, VectorStore, ChangeLog, DocumentStore, Tokens, Upkeep, Protocol):
    """The primary store: the source of truth for memories, vectors, documents and tokens."""

    @property
    def is_local(self) -> bool:
        """Whether it reads a few rows in this process: two reads at once take as long as one after the other."""
        ...

    def transaction(self, space: str) -> AbstractAsyncContextManager["RecordStore"]:
        """Return a store whose commits to the space are stored together at the end of the block, or none of them.

        It reads its own commits, and one that raises an error changes nothing. No other caller writes to the space
        meanwhile: keep the block short, and do not wait in it for another write.
        """
        ...
