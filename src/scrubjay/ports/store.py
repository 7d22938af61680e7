"""The record store: what the engine asks of it, by subject."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from scrubjay.model.change import Change, Origin
from scrubjay.model.document import Document
from scrubjay.model.idempotency import StoredAnswer
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Point, StoredPassage, Vector
from scrubjay.model.progress import Progress
from scrubjay.model.query import Facet, Filter
from scrubjay.model.relation import Relation
from scrubjay.model.token import Token
from scrubjay.model.version import MemoryHistory, Version
from scrubjay.ports.commit import Commit, Committed, Embedded
from scrubjay.ports.matches import Handle, LexicalMatch, Neighbours, Run, StoreStatistics, TermStatistics


class Records(Protocol):
    """Memories, their versions and relations."""

    async def commit(self, commit: Commit) -> Committed:
        """Apply a commit; raises StaleVersion, NameTaken, NotFound or KeyReused and then changes nothing."""
        ...

    async def answered(self, space: str, key: str, digest: bytes) -> str | None:
        """The answer given under an idempotency key; raises KeyReused when the request was another."""
        ...

    async def adopt(self, space: str, histories: Sequence[MemoryHistory], *, origin: Origin) -> tuple[str, ...]:
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

    async def list_ids(self, space: str, filter: Filter, *, limit: int, after: str | None = None) -> list[str]:
        """Ids that pass a filter, most recently updated first, from after the given id on."""
        ...

    async def relations_at(self, space: str, ids: Sequence[str], *, at: datetime) -> list[Relation]:
        """Every relation that touched one of the memories at a moment, also those that were removed since."""
        ...

    async def version_at(self, space: str, memory_id: str, *, at: datetime) -> Version | None:
        """The newest version that there was at a moment."""
        ...

    async def versions_at(self, space: str, ids: Sequence[str], *, at: datetime) -> dict[str, Version]:
        """The newest version of each that there was at a moment, by id; those that were not there are left out."""
        ...

    async def sizes(self, space: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Of each memory that exists, how many bytes it says and in how many it is stored, as it is now."""
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
        self, space: str, terms: Sequence[str], filter: Filter, *, limit: int
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

    async def beside(self, space: str, memory_ids: Sequence[str], *, each: int) -> dict[str, Neighbours]:
        """The memories of the same session and state around each, by its id."""
        ...

    async def similar_terms(self, space: str, term: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """Terms of the space that share the most trigrams with one, and how many passages have each.

        First those with the largest share of the trigrams of both, then the more common, then by spelling.
        """
        ...

    async def terms_with_prefix(self, space: str, prefix: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """Terms of the space that begin with a prefix, and how many passages have each; the most common first.

        Where very many do, a store may look at the first of them alone, in the order of their spelling.
        """
        ...

    async def memories_matching(
        self, space: str, groups: Sequence[Sequence[str]], filter: Filter, *, limit: int
    ) -> list[LexicalMatch]:
        """Memories that pass the filter and have a term of some of the groups, each by the passage that has the most.

        First those with the most groups, then those whose groups tell the most, then the newest. What a group tells is
        log(1 + passages / passages with one of its terms), these counted term by term. A store may take a common group
        as missing where it stands in no passage together with a rarer one.
        """
        ...

    async def facet_values(self, space: str, field: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        """The values of a facet such as `kind`, as facets spell them, and how many memories have each; most first."""
        ...

    async def known_facets(self, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
        """Which of some facets there are in a space, and how many memories have each."""
        ...


class VectorStore(Protocol):
    """The vectors themselves, which every index is built from."""

    async def vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """Stored vectors by text hash; those of texts that no memory has now may be less exact."""
        ...

    async def embedded(self, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
        """Which texts have a vector. Whoever writes goes by it: never from a cache."""
        ...

    async def store_vectors(self, space: str, embedded: Embedded, *, memory_ids: Sequence[str], origin: Origin) -> None:
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

    async def passing(self, space: str, filter: Filter) -> Sequence[int]:
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


class DocumentStore(Protocol):
    """What a space keeps beside its memories: its rules, and what is still to be done.

    Drawers and keys are short texts. A paper that tells in its `about` of a `memory_id`, or of an `other_id`, is
    purged with that memory.
    """

    async def document(self, space: str, collection: str, key: str) -> Document | None:
        """One paper, as it is now."""
        ...

    async def documents(self, space: str, collection: str, *, after: str = "", limit: int) -> list[Document]:
        """The papers of a drawer in the order of their keys, from after the given key on."""
        ...

    async def latest_documents(
        self, space: str, collection: str, *, before: tuple[datetime, str] | None = None, limit: int
    ) -> list[Document]:
        """The papers of a drawer, the latest first, of one moment by their keys backwards; from before one of them."""
        ...

    async def documents_about(self, space: str, collection: str, ids: Sequence[str], *, limit: int) -> list[Document]:
        """The papers of a drawer that tell in their `about` of one of some memories, in the same order."""
        ...

    async def put_document(self, document: Document, *, base: int | None) -> Document:
        """Keep a paper as the version after `base`, None for a new one; raises StaleVersion when it is another now."""
        ...

    async def delete_document(self, space: str, collection: str, key: str) -> bool:
        """Throw a paper away; tells whether there was one."""
        ...

    async def due_documents(self, collection: str, *, now: datetime, limit: int) -> list[Document]:
        """The papers of all spaces in a drawer that are due, the longest first."""
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

    async def histories(self, space: str, ids: Sequence[str], *, most_bytes: int) -> list[MemoryHistory]:
        """The first of these memories with their whole past, oldest version first, in the order asked for.

        As many as have no more than so many bytes of text together, but at least one; those that are gone are left
        out. Raises BodyDamaged when a version of one cannot be read.
        """
        ...

    async def models(self) -> dict[str, int]:
        """The models that have embedded something, and the length of their vectors."""
        ...

    async def stored_vectors(self, space: str, model: str, *, after: bytes = b"", limit: int) -> dict[bytes, Vector]:
        """Vectors of a space, also of texts that no memory has now, in the order of their hashes."""
        ...

    async def answers(self, space: str, *, after: str | bytes | None = None, limit: int) -> list[StoredAnswer]:
        """What was answered under idempotency keys, in the order of the keys."""
        ...

    async def import_answers(self, space: str, answers: Sequence[StoredAnswer], *, origin: Origin) -> int:
        """Keep answers that another store has given; returns how many were not there yet."""
        ...

    async def all_documents(self, space: str, *, after: tuple[str, str] = ("", ""), limit: int) -> list[Document]:
        """The papers of a space, in the order of their drawers and keys, from after the given ones on."""
        ...

    async def import_documents(self, space: str, documents: Sequence[Document], *, renew: bool) -> int:
        """Keep papers of another store as they are there, versions too; returns how many that has changed.

        What is there already under their keys stays, unless it is to be renewed.
        """
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


class RecordStore(Records, Lexicon, VectorStore, ChangeLog, DocumentStore, Tokens, Inventory, Upkeep, Protocol):
    """The truth: all that the engine asks of a store."""
