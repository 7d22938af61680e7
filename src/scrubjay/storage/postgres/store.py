"""The record store on one PostgreSQL database, for several servers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from copy import copy
from datetime import datetime
from pathlib import Path
from typing import Self

from scrubjay.errors import StoreError
from scrubjay.model.change import Change, Origin
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage, Point, StoredPassage, Vector
from scrubjay.model.query import Facet, Filter
from scrubjay.model.relation import Relation
from scrubjay.model.token import Token
from scrubjay.model.version import Version
from scrubjay.ports import (
    BodyCheck,
    Commit,
    Committed,
    Embedded,
    Footprint,
    Handle,
    LexicalMatch,
    MemoryHistory,
    Neighbours,
    Progress,
    Run,
    StoreStatistics,
    TermStatistics,
)
from scrubjay.ports.cluster import Lease
from scrubjay.ports.commit import StoredAnswer
from scrubjay.storage.body_cache import damaged_backup
from scrubjay.storage.lru import LruCache
from scrubjay.storage.postgres import (
    backup,
    history,
    lexicon,
    log,
    neighbours,
    purge,
    read,
    reindex,
    tokens,
    upkeep,
    vectors,
)
from scrubjay.storage.postgres import documents as collections
from scrubjay.storage.postgres.answers import import_answers, stored_answers
from scrubjay.storage.postgres.bodies import PostgresBodies
from scrubjay.storage.postgres.cluster import CommitNotifier, Leader, RateLeases, listening
from scrubjay.storage.postgres.commit import AppliedCommit, adopt, apply_commit, label, store_vectors, touch
from scrubjay.storage.postgres.connection import Address
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.schema import prepare
from scrubjay.text.passages import passages_of

_CACHED_VECTORS = 4_096


class PostgresStore:
    """The RecordStore port on one database, which other processes use at the same time."""

    is_local = False

    def __init__(self, database: Database, *, store_id: str) -> None:
        self.database = database
        self.vector_tables = vectors.VectorTables(database)
        self._store_id = store_id
        self._bodies = PostgresBodies(database)
        self._upkeep = upkeep.PostgresUpkeep(database, self._bodies)
        self._notifier = CommitNotifier(database)
        self._term_statistics = lexicon.StatisticsCache()
        self._rate_leases = RateLeases(database)
        # A text's vector never changes.
        self._vectors: LruCache[tuple[str, str, bytes], Vector] = LruCache(_CACHED_VECTORS)

    @classmethod
    async def open(cls, address: Address, *, partitions: int = 0) -> Self:
        """Open the database, and set it up if it is empty."""
        await prepare(address, partitions=partitions)
        database = await Database.open(address)
        try:
            rows = await database.rows("SELECT value FROM scrubjay.meta WHERE key = 'store_id'")
        except BaseException:
            await database.close()
            raise
        store = cls(database, store_id=str(rows[0][0]))
        # If this fails, `tidy` indexes them.
        with suppress(StoreError):
            await reindex.reindex_few(database, store._bodies)
        return store

    # ---- records ----

    async def commit(self, commit: Commit) -> Committed:
        applied = await apply_commit(self.database, commit, bodies=self._bodies)
        self._follow_up(commit.space, applied)
        seq = await self.last_seq() if applied.seq is None else applied.seq
        return Committed(seq=seq, answer=applied.answer)

    @asynccontextmanager
    async def transaction(self, space: str) -> AsyncGenerator["PostgresStore"]:
        async with self.database.transaction(space) as database:
            store = copy(self)
            store.database = database
            store._bodies = PostgresBodies(database)  # noqa: SLF001 - its own copy
            store._term_statistics = lexicon.StatisticsCache()  # noqa: SLF001
            yield store
        self._term_statistics.clear()
        self._notifier.notify()

    async def find_answer(self, space: str, key: str, digest: bytes) -> str | None:
        return await read.find_answer(self.database, space, key, digest)

    async def adopt(self, space: str, histories: Sequence[MemoryHistory], *, origin: Origin) -> tuple[str, ...]:
        def prepare() -> list[tuple[MemoryHistory, tuple[Passage, ...]]]:
            return [(memory_history, passages_of(memory_history.memory)) for memory_history in histories]

        prepared = await asyncio.to_thread(prepare)
        applied = await adopt(self.database, space, prepared, origin=origin, bodies=self._bodies)
        self._follow_up(space, applied)
        return applied.adopted

    async def purge(self, space: str, ids: Sequence[str], *, origin: Origin) -> int:
        count = await purge.purge(self.database, space, ids, origin=origin, bodies=self._bodies)
        if count:
            self._notifier.notify(purged=True)
            self._clear_caches()
            await self._upkeep.clean(space)
        return count

    async def label(self, space: str, memory_id: str, number: int, *, before: str, message: str) -> bool:
        return await label(self.database, (space, memory_id, number), before=before, message=message)

    async def touch(self, space: str, ids: Sequence[str], *, at: datetime) -> None:
        await touch(self.database, space, ids, at=at)

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        return await read.get(self.database, space, ids, bodies=self._bodies)

    async def find(self, space: str, ref: str, *, state: State | None = None) -> tuple[Handle, ...]:
        return await read.find(self.database, space, ref, state=state)

    async def nearest(self, space: str, ref: str, *, limit: int) -> tuple[str, ...]:
        return await read.nearest(self.database, space, ref, limit=limit)

    async def labels(self, space: str, field: str, *, prefix: str, limit: int) -> tuple[str, ...]:
        return await read.labels(self.database, space, field, prefix=prefix, limit=limit)

    async def same_content(self, space: str, content: str) -> tuple[str, ...]:
        return await read.same_content(self.database, space, content)

    async def versions(self, space: str, memory_id: str, *, limit: int, before: int | None = None) -> list[Version]:
        value = before or history.LAST_VERSION
        return await history.versions(self.database, space, memory_id, value=value, limit=limit, bodies=self._bodies)

    async def version(self, space: str, memory_id: str, number: int) -> Version | None:
        return await history.version(self.database, space, memory_id, number=number, bodies=self._bodies)

    async def version_at(self, space: str, memory_id: str, *, at: datetime) -> Version | None:
        return await history.version_at(self.database, space, memory_id, at=at, bodies=self._bodies)

    async def versions_at(self, space: str, ids: Sequence[str], *, at: datetime) -> dict[str, Version]:
        return await history.versions_at(self.database, space, ids, at=at, bodies=self._bodies) if ids else {}

    async def relations_at(self, space: str, ids: Sequence[str], *, at: datetime) -> list[Relation]:
        return await history.relations_at(self.database, space, ids, at=at) if ids else []

    async def sizes(self, space: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        return await read.sizes(self.database, space, ids) if ids else {}

    async def relations(self, space: str, ids: Sequence[str]) -> list[Relation]:
        return await read.relations(self.database, space, ids)

    async def list_ids(self, space: str, filter: Filter, *, limit: int, after: str | None = None) -> list[str]:
        return await read.list_ids(self.database, space, filter, limit=limit, after=after)

    async def pinned(self, space: str) -> list[str]:
        return await read.pinned(self.database, space)

    async def unread(self, space: str, *, but: Collection[str] = (), limit: int) -> tuple[int, list[str]]:
        return await read.unread(self.database, space, but=but, limit=limit)

    async def members(self, space: str, group: str) -> list[str]:
        return await read.members(self.database, space, group)

    async def spaces(self) -> list[str]:
        return await read.spaces(self.database)

    async def ids(self, space: str, *, after: str = "", limit: int) -> list[str]:
        return await read.ids(self.database, space, after=after, limit=limit)

    async def histories(self, space: str, ids: Sequence[str], *, most_bytes: int) -> list[MemoryHistory]:
        return await history.histories(self.database, space, ids, most_bytes=most_bytes, bodies=self._bodies)

    async def answers(self, space: str, *, after: str | bytes | None = None, limit: int) -> list[StoredAnswer]:
        return await stored_answers(self.database, space, after=after, limit=limit)

    async def import_answers(self, space: str, answers: Sequence[StoredAnswer], *, origin: Origin) -> int:
        return await import_answers(self.database, space, answers, origin=origin)

    # ---- lexicon ----

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        return await self._term_statistics.candidates(self.database, space, terms, filter, limit=limit)

    async def term_statistics(self, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
        return await self._term_statistics.statistics(self.database, space, terms, state=state)

    async def stored_passages(self, space: str, ids: Sequence[int], *, around: int = 0) -> list[StoredPassage]:
        return await neighbours.stored_passages(self.database, space, ids, around=around) if ids else []

    async def passage_numbers(self, space: str, memory_ids: Sequence[str]) -> list[int]:
        return await neighbours.passage_numbers(self.database, space, memory_ids) if memory_ids else []

    async def session_neighbours(self, space: str, memory_ids: Sequence[str], *, each: int) -> dict[str, Neighbours]:
        return await neighbours.session_neighbours(self.database, space, memory_ids, each=each) if memory_ids else {}

    async def similar_terms(self, space: str, term: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        return await lexicon.similar_terms(self.database, space, term, state=state, limit=limit) if limit > 0 else []

    async def terms_with_prefix(self, space: str, prefix: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        return await lexicon.terms_with_prefix(self.database, space, prefix, state=state, limit=max(limit, 0))

    async def memories_matching(
        self, space: str, groups: Sequence[Sequence[str]], filter: Filter, *, limit: int
    ) -> list[LexicalMatch]:
        return await lexicon.memories_matching(self.database, space, groups, filter, limit=max(limit, 0))

    async def facet_values(self, space: str, field: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        return await read.facet_values(self.database, space, field, state=state, limit=max(limit, 0))

    async def known_facets(self, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
        return await lexicon.known_facets(self.database, space, facets, state=state) if facets else {}

    async def matching_passages(self, space: str, filter: Filter) -> Sequence[int]:
        return await lexicon.matching_passages(self.database, space, filter)

    # ---- vectors ----

    async def vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        cached = {
            digest: vector for digest in hashes if (vector := self._vectors.get((space, model, digest))) is not None
        }
        missing = [digest for digest in hashes if digest not in cached]
        if missing:
            stored = await vectors.vectors(self.database, space, model, missing)
            for digest, vector in stored.items():
                # A copy: a view would keep the memory of the whole batch.
                self._vectors.put((space, model, digest), vector.copy())
            cached |= stored
        return cached

    async def embedded(self, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
        return await vectors.embedded_among(self.database, space, model, hashes) if hashes else set()

    async def store_vectors(self, space: str, embedded: Embedded, *, memory_ids: Sequence[str], origin: Origin) -> None:
        applied = await store_vectors(
            self.database, space, embedded, memory_ids=memory_ids, origin=origin, bodies=self._bodies
        )
        self._follow_up(space, applied)

    async def drop_vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> None:
        await vectors.drop_vectors(self.database, space, model, hashes)
        self._vectors.clear()

    async def without_vectors(self, model: str, *, limit: int, space: str = "") -> list[tuple[str, str]]:
        return await vectors.without_vectors(self.database, model, limit=limit, space=space)

    async def points(self, model: str, *, after: int, limit: int) -> list[Point]:
        return await vectors.points(self.database, model, after=after, limit=limit)

    async def points_of(self, model: str, numbers: Sequence[int]) -> list[Point]:
        return await vectors.points_of(self.database, model, numbers)

    async def point_count(self, model: str) -> int:
        return await vectors.point_count(self.database, model)

    async def models(self) -> dict[str, int]:
        return await vectors.models(self.database)

    async def stored_vectors(self, space: str, model: str, *, after: bytes = b"", limit: int) -> dict[bytes, Vector]:
        return await vectors.stored_vectors(self.database, space, model, after=after, limit=limit)

    # ---- the log ----

    async def changes(self, *, after: int, limit: int) -> list[Change]:
        return await log.changes(self.database, after=after, limit=limit)

    async def changes_in(self, space: str, *, after: int, limit: int) -> list[Change]:
        return await log.changes_in(self.database, space, after=after, limit=limit)

    async def last_place(self, space: str) -> int:
        return await log.last_place(self.database, space)

    async def last_seq(self) -> int:
        return await log.last_seq(self.database)

    async def last_run(self, space: str, *, agent: str) -> Run | None:
        return await log.last_run(self.database, space, agent=agent)

    async def run(self, space: str, run: str) -> Run | None:
        return await log.run_of(self.database, space, run)

    @asynccontextmanager
    async def listening(
        self, hear: Callable[[], None], *, purged: Callable[[], None] = lambda: None
    ) -> AsyncGenerator[None]:
        """Call `hear` soon after a commit of any process; sometimes without one."""

        def forget() -> None:
            self._clear_caches()
            purged()

        async with listening(self.database.address, hear, purged=forget):
            yield

    async def settled_seq(self) -> int:
        return await log.settled_seq(self.database)

    async def lease(self, caller: str, *, count: int, limit: int) -> Lease:
        return await self._rate_leases.lease(caller, count=count, limit=limit)

    def leader(self, name: str) -> Leader:
        """Return a candidate for the leadership of some work among all processes of this database."""
        return Leader(self.database.address, name)

    # ---- documents ----

    async def document(self, space: str, collection: str, key: str) -> Document | None:
        return await collections.document(self.database, space, collection, key)

    async def documents(self, space: str, collection: str, *, after: str = "", limit: int) -> list[Document]:
        return await collections.documents(self.database, space, collection, after=after, limit=limit)

    async def document_count(self, space: str, collection: str) -> int:
        return await collections.document_count(self.database, space, collection)

    async def latest_documents(
        self, space: str, collection: str, *, before: tuple[datetime, str] | None = None, limit: int
    ) -> list[Document]:
        return await collections.latest_documents(self.database, space, collection, before=before, limit=limit)

    async def documents_about(self, space: str, collection: str, ids: Sequence[str], *, limit: int) -> list[Document]:
        return await collections.documents_about(self.database, space, collection, ids, limit=limit) if ids else []

    async def put_document(self, document: Document, *, base: int | None) -> Document:
        return await collections.put_document(self.database, document, base=base)

    async def delete_document(self, space: str, collection: str, key: str) -> bool:
        return await collections.delete_document(self.database, space, collection, key)

    async def due_documents(self, collection: str, *, now: datetime, limit: int) -> list[Document]:
        return await collections.due_documents(self.database, collection, now=now, limit=limit)

    async def all_documents(self, space: str, *, after: tuple[str, str] = ("", ""), limit: int) -> list[Document]:
        return await collections.all_documents(self.database, space, after=after, limit=limit)

    async def import_documents(self, space: str, documents: Sequence[Document], *, renew: bool) -> int:
        return await collections.import_documents(self.database, space, documents, renew=renew)

    # ---- tokens ----

    async def add_token(self, token: Token, digest: bytes) -> None:
        await tokens.add_token(self.database, token, digest)

    async def token_by_digest(self, digest: bytes) -> Token | None:
        return await tokens.token_by_digest(self.database, digest)

    async def token(self, token_id: str) -> Token | None:
        return await tokens.token_by_id(self.database, token_id)

    async def tokens(self) -> list[Token]:
        return await tokens.all_tokens(self.database)

    async def revoke_token(self, token_id: str, *, at: datetime) -> Token | None:
        return await tokens.revoke_token(self.database, token_id, at=at)

    async def token_digests(self) -> dict[str, bytes]:
        return await tokens.token_digests(self.database)

    # ---- upkeep ----

    @property
    def store_id(self) -> str:
        return self._store_id

    async def statistics(self, space: str) -> StoreStatistics:
        return await upkeep.statistics(self.database, space)

    async def footprint(self, space: str) -> Footprint:
        return await upkeep.footprint(self.database, space)

    async def check(self, *, deep: bool = False) -> list[str]:
        return await upkeep.check(self.database, deep=deep, bodies=self._bodies)

    async def check_bodies(self, space: str, ids: Sequence[str]) -> BodyCheck:
        return await upkeep.check_bodies(self.database, space, ids, bodies=self._bodies)

    async def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        await backup.write_backup(self.database.address, target, progress=progress)
        damaged = [body async for body in upkeep.damaged_bodies(self.database, self._bodies)]
        if damaged:
            raise damaged_backup(target, damaged)

    async def tidy(self) -> list[str]:
        done = await self._upkeep.tidy()
        if done:
            self._term_statistics.clear()
            self._notifier.notify()
        return done

    async def close(self) -> None:
        await self._upkeep.wait()
        await self._notifier.wait()
        await self.database.close()

    def _clear_caches(self) -> None:
        """Drop the caches, which may contain purged texts."""
        self._bodies.forget()
        self._term_statistics.clear()
        self._vectors.clear()

    def _follow_up(self, space: str, applied: AppliedCommit) -> None:
        self._term_statistics.clear()
        if applied.seq is not None:
            self._notifier.notify()
            self._upkeep.analyze_soon(applied.first, applied.seq)
        self._upkeep.train_soon(space, due=applied.training_due)
