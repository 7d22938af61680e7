"""The embedded record store: one SQLite file, one writer, a few readers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from copy import copy
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

import apsw

from scrubjay.errors import BodyDamaged, StoreError
from scrubjay.model.change import Change, Origin
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import AROUND, Passage, Point, StoredPassage, Vector
from scrubjay.model.query import Facet, Filter
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import to_micros
from scrubjay.model.token import Token
from scrubjay.model.version import MemoryHistory, Version
from scrubjay.ports import (
    BodyCheck,
    Commit,
    Committed,
    Embedded,
    Footprint,
    Handle,
    LexicalMatch,
    Neighbours,
    Progress,
    Run,
    StoreStatistics,
    TermStatistics,
)
from scrubjay.ports.commit import StoredAnswer
from scrubjay.storage.sqlite import (
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
from scrubjay.storage.sqlite import documents as collections
from scrubjay.storage.sqlite.answers import import_answers, stored_answers
from scrubjay.storage.sqlite.bodies import SqliteBodies
from scrubjay.storage.sqlite.commit import (
    adopt,
    apply_commit,
    creates_only,
    find_answer,
    label,
    make_space,
    store_vectors,
    touch,
)
from scrubjay.storage.sqlite.connection import Readers, connect, mapped_errors
from scrubjay.storage.sqlite.lexicon_cache import LexiconCache, MissingWords, read_postings, read_similar
from scrubjay.storage.sqlite.passage_table import PassageTable
from scrubjay.storage.sqlite.rows import Freshness, RepeatedReads
from scrubjay.storage.sqlite.schema import migrate
from scrubjay.storage.sqlite.writer import OpenTransaction, Writer
from scrubjay.text.passages import passages_of

T = TypeVar("T")
# Up to these limits a query runs on the event loop. So many rows are read in less than a millisecond, and a reading
# thread would take as long to wake up and answer.
_FEW_ROWS = 256
_PASSAGES_PER_MEMORY = 8
# Limits for queries that take longer for each row: unpacking bodies, and looking up words. A thread would work as long
# under the same interpreter lock, and all other tasks would wait for it to change hands.
_FEW_MEMORIES, _SMALL_BODIES = 16, 64 * 1024
_SMALL_VERSION = 16 * 1024
_FEW_PASSAGES = 5_000
# Limits for entries of the lexical index; the second is for a filter that tests each of them.
_FEW_POSTINGS, _FEW_TESTED = 20_000, 2_000
# Each term is a query of its own. No question has as many, but a long statement does.
_FEW_TERMS = 64
# In a transaction the commit of a text of more characters leaves the event loop: indexing it takes a while.
_LONG_COMMIT = 5_000
# Such a commit takes tens of milliseconds, and shares its transaction with no other.
_UNSHARED_COMMIT = 100_000
# Passages for ranking are read row by row in any case, and each row would wait for the interpreter: with a few recalls
# at once a thread takes five times as long as the two or three milliseconds that they all wait for it here.
_FEW_RANKED = 1_500
# Some 25 MB; a full cache is emptied.
_CACHED_VECTORS = 16_384
# The table of passages is filled between requests: a millisecond or two of work, then so many seconds for others.
_FILL_PAUSE = 0.005


class SqliteStore:
    """The RecordStore port on one file. Every method runs a job on the writer or on a reader."""

    is_local = True

    def __init__(
        self, path: Path, connection: apsw.Connection, *, key: str, readers: int, page: reindex.PageSize
    ) -> None:
        self.path = path
        self._key = key
        self._connection = connection
        self._bodies = SqliteBodies()
        # A text's vector never changes.
        self._vectors: dict[tuple[str, str], dict[bytes, Vector]] = {}
        # Used on the event loop alone; a transaction sees what no other connection does, and has none.
        freshness = Freshness()
        self._table: PassageTable | None = PassageTable(freshness)
        self._next_fill: asyncio.TimerHandle | None = None
        self._lexicon: LexiconCache | None = LexiconCache(freshness)
        self._repeated: RepeatedReads | None = RepeatedReads(freshness)
        writer, threads = Writer(connection, path=path), Readers(path, key=key, count=readers)
        self._writer: Writer | OpenTransaction = writer
        self._readers: Readers | OpenTransaction = threads
        self.upkeep = upkeep.SqliteUpkeep(writer, threads, self._bodies, page=page)
        self._store_id = str(connection.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchall()[0][0])

    @classmethod
    async def open(
        cls, path: Path, *, key: str = "", readers: int = 4, page: reindex.PageSize = reindex.PAGE_SIZE,
        upkeep: bool = True,
    ) -> Self:  # fmt: skip
        """Open or create the store; raise an error that explains what is wrong with the file.

        Without `upkeep` nothing is finished that another process has begun: it may still be at work.
        """
        store = await asyncio.to_thread(cls._open, path, key, readers, page)
        if not upkeep:
            return store
        # If an interrupted purge cannot be finished now, the next opening or `tidy` tries again.
        with suppress(StoreError):
            await store.upkeep.finish_purge()
        # The same goes for passages of an older format: until then they are found as before.
        with suppress(StoreError):
            await store.upkeep.reindex_few()
        return store

    @classmethod
    def _open(cls, path: Path, key: str, readers: int, page: reindex.PageSize) -> Self:
        with mapped_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            connection = connect(path, key=key, cache_mb=16)
            try:
                migrate(connection, path=path)
            except BaseException:
                connection.close()
                raise
            return cls(path, connection, key=key, readers=readers, page=page)

    # ---- records ----

    async def commit(self, commit: Commit) -> Committed:
        def job(connection: apsw.Connection) -> tuple[Committed, bool]:
            committed = apply_commit(connection, commit, bodies=self._bodies)
            return committed, self._bodies.take_training_due()

        characters = sum([write.memory.characters for write in commit.writes])
        is_long = characters > (_LONG_COMMIT if isinstance(self._writer, OpenTransaction) else _UNSHARED_COMMIT)
        committed, due = await self._writer.run(job, fails_early=creates_only(commit), is_long=is_long)
        if self._repeated is not None:
            self._repeated.clear()
        self.upkeep.train_soon(commit.space, due=due)
        return committed

    @asynccontextmanager
    async def transaction(self, space: str) -> AsyncGenerator["SqliteStore"]:
        del space
        assert isinstance(self._writer, Writer)
        async with self._writer.transaction() as transaction:
            store = copy(self)
            store._writer = store._readers = transaction  # noqa: SLF001 - its own copy
            store._table = store._lexicon = store._repeated = None  # noqa: SLF001 - its own copy
            yield store

    async def find_answer(self, space: str, key: str, digest: bytes) -> str | None:
        return self._read_one(find_answer, space, key, digest)

    async def adopt(self, space: str, histories: Sequence[MemoryHistory], *, origin: Origin) -> tuple[str, ...]:
        def prepare() -> list[tuple[MemoryHistory, tuple[Passage, ...]]]:
            return [(memory_history, passages_of(memory_history.memory)) for memory_history in histories]

        prepared = await asyncio.to_thread(prepare)

        def job(connection: apsw.Connection) -> tuple[tuple[str, ...], bool]:
            adopted = adopt(connection, space, prepared, origin=origin, bodies=self._bodies)
            return adopted, self._bodies.take_training_due()

        adopted, due = await self._writer.run(job)
        self.upkeep.train_soon(space, due=due)
        return adopted

    async def purge(self, space: str, ids: Sequence[str], *, origin: Origin) -> int:
        job = partial(purge.purge, space=space, ids=ids, origin=origin, bodies=self._bodies)
        count = await self._writer.run(job)
        if count:
            self._bodies.clear_cache()
            self._vectors.clear()
            if self._table is not None and self._lexicon is not None and self._repeated is not None:
                self._table.clear()
                self._lexicon.clear()
                self._repeated.clear()
            await self.upkeep.clean()
        return count

    async def label(self, space: str, memory_id: str, number: int, *, before: str, message: str) -> bool:
        return await self._writer.run(partial(label, key=(space, memory_id, number), before=before, message=message))

    async def touch(self, space: str, ids: Sequence[str], *, at: datetime) -> None:
        touches, numbers = await self._writer.run(partial(touch, space=space, ids=ids, at=to_micros(at)))
        if self._table is not None:
            self._table.count_accesses(numbers, touches=touches)

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        memories = None
        if len(ids) <= _FEW_MEMORIES:
            small = partial(read.get_small, bodies=self._bodies, max_bytes=_SMALL_BODIES, repeated=self._repeated)
            try:
                memories = self._read_one(small, space, ids)
            except BodyDamaged as error:
                # A purge may have replaced a dictionary after its rows were read: a transaction sees both as they were.
                try:
                    memories = self._read_now(small, space, ids)
                except BodyDamaged:
                    raise error from None
        if memories is not None:
            return memories
        return await self._readers.run_long(partial(read.get, space=space, ids=ids, bodies=self._bodies))

    async def find(self, space: str, ref: str, *, state: State | None = None) -> tuple[Handle, ...]:
        return self._read_now(read.find, space, ref, state=state)

    async def nearest(self, space: str, ref: str, *, limit: int) -> tuple[str, ...]:
        return await self._read(read.nearest, space, ref, limit=limit)

    async def labels(self, space: str, field: str, *, prefix: str, limit: int) -> tuple[str, ...]:
        return self._read_one(read.labels, space, field, prefix=prefix, limit=limit)

    async def same_content(self, space: str, content: str) -> tuple[str, ...]:
        return self._read_one(read.same_content, space, content)

    async def versions(self, space: str, memory_id: str, *, limit: int, before: int | None = None) -> list[Version]:
        return await self._read(history.versions, space, memory_id, limit=limit, before=before, bodies=self._bodies)

    async def version(self, space: str, memory_id: str, number: int) -> Version | None:
        query = partial(history.version, space=space, memory_id=memory_id, number=number, bodies=self._bodies)
        is_small, version = self._readers.run_now(partial(query, max_bytes=_SMALL_VERSION))
        return version if is_small else (await self._readers.run_long(query))[1]

    async def version_at(self, space: str, memory_id: str, *, at: datetime) -> Version | None:
        return await self._read(history.version_at, space, memory_id, at=at, bodies=self._bodies)

    async def versions_at(self, space: str, ids: Sequence[str], *, at: datetime) -> dict[str, Version]:
        return await self._read(history.versions_at, space, ids, at=at, bodies=self._bodies) if ids else {}

    async def relations_at(self, space: str, ids: Sequence[str], *, at: datetime) -> list[Relation]:
        return await self._read(history.relations_at, space, ids, at=at)

    async def relations(self, space: str, ids: Sequence[str]) -> list[Relation]:
        return await self._read(read.relations, space, ids)

    async def sizes(self, space: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        return await self._read_rows(read.sizes, space, ids, rows=len(ids))

    async def list_ids(self, space: str, filter: Filter, *, limit: int, after: str | None = None) -> list[str]:
        return await self._read(read.list_ids, space, filter, limit=limit, after=after)

    async def pinned(self, space: str) -> list[str]:
        return [*self._read_once(read.pinned, space)]

    async def unread(self, space: str, *, but: Collection[str] = (), limit: int) -> tuple[int, list[str]]:
        return await self._read(read.unread, space, but=but, limit=limit)

    async def members(self, space: str, group: str) -> list[str]:
        return self._read_now(read.members, space, group)

    async def spaces(self) -> list[str]:
        return await self._read(read.spaces)

    async def ids(self, space: str, *, after: str = "", limit: int) -> list[str]:
        return await self._read(read.ids, space, after=after, limit=limit)

    async def histories(self, space: str, ids: Sequence[str], *, most_bytes: int) -> list[MemoryHistory]:
        return await self._read(history.histories, space, ids, most_bytes=most_bytes, bodies=self._bodies)

    async def answers(self, space: str, *, after: str | bytes | None = None, limit: int) -> list[StoredAnswer]:
        return await self._read(stored_answers, space, after=after, limit=limit)

    async def import_answers(self, space: str, answers: Sequence[StoredAnswer], *, origin: Origin) -> int:
        return await self._writer.run(partial(import_answers, space=space, answers=answers, origin=origin))

    # ---- lexicon ----

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        cache = self._lexicon
        if cache is not None and len(terms) <= _FEW_TERMS:
            candidates = await self._cached_candidates(cache, space, terms, filter, limit=limit)
            if candidates is not None:
                return candidates
        visited = self._read_one(lexicon.postings, space, terms, state=filter.state)
        query = partial(lexicon.lexical_candidates, space=space, terms=terms, filter=filter, limit=limit)
        is_small = len(terms) <= _FEW_TERMS and visited <= (_FEW_POSTINGS if filter.is_empty else _FEW_TESTED)
        return self._readers.run_now(query) if is_small else await self._readers.run_long(query)

    async def term_statistics(self, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
        cache = self._lexicon
        query = lexicon.term_statistics if cache is None else cache.statistics
        return self._read_one(query, space, terms, state=state)

    async def stored_passages(self, space: str, ids: Sequence[int], *, around: int = 0) -> list[StoredPassage]:
        query = partial(neighbours.stored_passages, space=space, ids=ids, around=around)
        is_small = len(ids) * (1 + 2 * around) <= _FEW_RANKED
        if not around and is_small:
            return self._readers.run_one(query)
        if self._table is not None and around == AROUND and is_small:
            passages = self._cached_passages(self._table, space, ids)
            if passages is not None:
                return passages
        return self._readers.run_now(query) if is_small else await self._readers.run_long(query)

    async def passage_numbers(self, space: str, memory_ids: Sequence[str]) -> list[int]:
        rows = _PASSAGES_PER_MEMORY * len(memory_ids)
        return await self._read_rows(neighbours.passage_numbers, space, memory_ids, rows=rows)

    async def session_neighbours(self, space: str, memory_ids: Sequence[str], *, each: int) -> dict[str, Neighbours]:
        return await self._read_rows(
            neighbours.session_neighbours, space, memory_ids, each=each, rows=len(memory_ids) * (1 + 2 * each),
            is_one=False,
        )  # fmt: skip

    async def similar_terms(self, space: str, term: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        cache = self._lexicon
        similar = None if cache is None else self._read_one(cache.similar, space, term, state=state, limit=limit)
        if similar is not None:
            return similar
        # A larger vocabulary has thousands of terms that share a trigram.
        query = partial(read_similar, space=space, term=term, state=state, limit=limit)
        count = self._read_one(lexicon.passage_count, space, state=state)
        compared = self._readers.run_now(query) if count <= _FEW_PASSAGES else await self._readers.run_long(query)
        if cache is not None:
            cache.put_similar(space, term, compared, state=state, limit=limit)
        return compared[1]

    async def terms_with_prefix(self, space: str, prefix: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        query = lexicon.terms_with_prefix
        return await self._read(query, space, prefix, state=state, limit=limit) if limit > 0 else []

    async def memories_matching(
        self, space: str, groups: Sequence[Sequence[str]], filter: Filter, *, limit: int
    ) -> list[LexicalMatch]:
        query = lexicon.memories_matching
        return await self._read(query, space, groups, filter, limit=limit) if limit > 0 else []

    async def facet_values(self, space: str, field: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        return await self._read(lexicon.facet_values, space, field, state=state, limit=limit)

    async def known_facets(self, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
        cache = self._lexicon
        query = lexicon.known_facets if cache is None else cache.facets
        return self._read_one(query, space, facets, state=state)

    async def matching_passages(self, space: str, filter: Filter) -> Sequence[int]:
        return await self._read(lexicon.matching_passages, space, filter)

    # ---- vectors ----

    async def vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        of_model = self._vectors.setdefault((space, model), {})
        cached = {digest: vector for digest in hashes if (vector := of_model.get(digest)) is not None}
        if len(cached) == len(hashes):
            return cached
        missing = [digest for digest in hashes if digest not in cached]
        if not missing:
            return cached
        stored = await self._read_rows(vectors.vectors, space, model, missing, rows=len(missing))
        if sum(map(len, self._vectors.values())) > _CACHED_VECTORS:
            self._vectors.clear()
        # Copies: a view would keep the memory of the whole batch.
        of_model.update({digest: vector.copy() for digest, vector in stored.items()})
        return cached | stored

    async def embedded(self, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
        return await self._read_rows(vectors.embedded_among, space, model, hashes, rows=len(hashes))

    async def store_vectors(self, space: str, embedded: Embedded, *, memory_ids: Sequence[str], origin: Origin) -> None:
        await self._writer.run(
            partial(
                store_vectors, space=space, embedded=embedded, memory_ids=memory_ids, origin=origin, bodies=self._bodies
            )
        )

    async def drop_vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> None:
        await self._writer.run(partial(vectors.drop_vectors, space=space, model=model, hashes=hashes))
        self._vectors.clear()

    async def without_vectors(self, model: str, *, limit: int, space: str = "") -> list[tuple[str, str]]:
        return await self._read(vectors.without_vectors, model, limit=limit, space=space)

    async def points(self, model: str, *, after: int, limit: int) -> list[Point]:
        return await self._read(vectors.points, model, after=after, limit=limit)

    async def points_of(self, model: str, numbers: Sequence[int]) -> list[Point]:
        rows, is_one = _PASSAGES_PER_MEMORY * len(numbers), len(numbers) == 1
        return await self._read_rows(vectors.points_of, model, numbers, rows=rows, is_one=is_one)

    async def point_count(self, model: str) -> int:
        return await self._read(vectors.point_count, model)

    async def models(self) -> dict[str, int]:
        return await self._read(vectors.models)

    async def stored_vectors(self, space: str, model: str, *, after: bytes = b"", limit: int) -> dict[bytes, Vector]:
        return await self._read(vectors.stored_vectors, space, model, after=after, limit=limit)

    # ---- the log ----

    async def changes(self, *, after: int, limit: int) -> list[Change]:
        return await self._read_rows(log.changes, after=after, limit=limit, rows=limit)

    async def changes_in(self, space: str, *, after: int, limit: int) -> list[Change]:
        return await self._read_rows(log.changes_in, space, after=after, limit=limit, rows=limit)

    async def last_place(self, space: str) -> int:
        return self._read_once(log.last_place, space)

    async def last_seq(self) -> int:
        return self._read_once(log.last_seq)

    async def last_run(self, space: str, *, agent: str) -> Run | None:
        return await self._read(log.last_run, space, agent=agent)

    async def run(self, space: str, run: str) -> Run | None:
        return await self._read(log.run_of, space, run)

    # ---- documents ----

    async def document(self, space: str, collection: str, key: str) -> Document | None:
        return self._read_one(collections.document, space, collection, key)

    async def documents(self, space: str, collection: str, *, after: str = "", limit: int) -> list[Document]:
        return await self._read_rows(collections.documents, space, collection, after=after, limit=limit, rows=limit)

    async def document_count(self, space: str, collection: str) -> int:
        return await self._read(collections.document_count, space, collection)

    async def latest_documents(
        self, space: str, collection: str, *, before: tuple[datetime, str] | None = None, limit: int
    ) -> list[Document]:
        query = collections.latest_documents
        return await self._read_rows(query, space, collection, before=before, limit=limit, rows=limit)

    async def documents_about(self, space: str, collection: str, ids: Sequence[str], *, limit: int) -> list[Document]:
        if self._repeated is not None and self._read_once(collections.is_empty, space, collection):
            return []
        rows = max(limit, len(ids))
        query = collections.documents_about
        return await self._read_rows(query, space, collection, ids, limit=limit, rows=rows)

    async def put_document(self, document: Document, *, base: int | None) -> Document:
        def job(connection: apsw.Connection) -> int:
            space_no = make_space(connection, document.space)
            return collections.put_document(connection, document, space_no=space_no, base=base)

        return replace(document, version=await self._writer.run(job))

    async def delete_document(self, space: str, collection: str, key: str) -> bool:
        return await self._writer.run(partial(collections.delete_document, space=space, collection=collection, key=key))

    async def due_documents(self, collection: str, *, now: datetime, limit: int) -> list[Document]:
        return await self._read_rows(collections.due_documents, collection, now=now, limit=limit, rows=limit)

    async def all_documents(self, space: str, *, after: tuple[str, str] = ("", ""), limit: int) -> list[Document]:
        return await self._read(collections.all_documents, space, after=after, limit=limit)

    async def import_documents(self, space: str, documents: Sequence[Document], *, renew: bool) -> int:
        def job(connection: apsw.Connection) -> int:
            space_no = make_space(connection, space)
            return collections.import_documents(connection, documents, space_no=space_no, renew=renew)

        return await self._writer.run(job)

    # ---- tokens ----

    async def add_token(self, token: Token, digest: bytes) -> None:
        await self._writer.run(partial(tokens.add_token, token=token, digest=digest))

    async def token_by_digest(self, digest: bytes) -> Token | None:
        return self._read_now(tokens.token_by_digest, digest)

    async def token(self, token_id: str) -> Token | None:
        return self._read_now(tokens.token_by_id, token_id)

    async def tokens(self) -> list[Token]:
        return await self._read(tokens.all_tokens)

    async def revoke_token(self, token_id: str, *, at: datetime) -> Token | None:
        return await self._writer.run(partial(tokens.revoke_token, token_id=token_id, at=at))

    async def token_digests(self) -> dict[str, bytes]:
        return await self._read(tokens.token_digests)

    # ---- upkeep ----

    @property
    def store_id(self) -> str:
        return self._store_id

    async def statistics(self, space: str) -> StoreStatistics:
        return await self._read(upkeep.statistics, space, path=self.path, encrypted=bool(self._key))

    async def footprint(self, space: str) -> Footprint:
        return await self._read(upkeep.footprint, space, path=self.path)

    async def check(self, *, deep: bool = False) -> list[str]:
        return await self._read(upkeep.check, deep=deep, bodies=self._bodies)

    async def check_bodies(self, space: str, ids: Sequence[str]) -> BodyCheck:
        return await self._read(upkeep.check_bodies, space, ids, bodies=self._bodies)

    async def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        await asyncio.to_thread(backup.write_backup, self.path, target, key=self._key, progress=progress)

    async def tidy(self) -> list[str]:
        return await self.upkeep.tidy()

    async def close(self) -> None:
        if self._next_fill is not None:
            self._next_fill.cancel()
        await self.upkeep.close()

        def close() -> None:
            self.upkeep.writer.close()
            self.upkeep.readers.close()
            self._connection.close()

        try:
            # Until the accepted writes are stored, their callers may read.
            await asyncio.to_thread(self.upkeep.writer.close)
        finally:
            self.upkeep.readers.stop()
            await asyncio.to_thread(close)

    # ---- reading ----

    def _cached_passages(self, table: PassageTable, space: str, ids: Sequence[int]) -> list[StoredPassage] | None:
        try:
            passages = self._readers.run_one(table.passages, space, ids)
            if passages is None:
                passages = self._readers.run_now(table.load, space, ids)
        except MemoryError:
            # Some rows may have been added, and others not.
            table.clear()
            return None
        if table.is_filling and self._next_fill is None:
            self._next_fill = asyncio.get_running_loop().call_later(_FILL_PAUSE, self._fill, table)
        return passages

    def _fill(self, table: PassageTable) -> None:
        """Read more of what recalls will need, a little at a time so that no request waits for it."""
        try:
            self._readers.run_now(table.fill)
        except (MemoryError, StoreError):
            # Recalls read what they need; and a closed store has no more of them.
            table.clear()
        is_more = table.is_filling
        self._next_fill = asyncio.get_running_loop().call_later(_FILL_PAUSE, self._fill, table) if is_more else None

    async def _cached_candidates(
        self, cache: LexiconCache, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]] | None:
        query = partial(cache.candidates, space=space, terms=terms, filter=filter, limit=limit)
        try:
            candidates = self._readers.run_one(query)
            if isinstance(candidates, MissingWords):
                read = partial(read_postings, words=candidates.words)
                is_small = candidates.passages is not None and candidates.passages <= _FEW_POSTINGS
                cache.put(self._readers.run_now(read) if is_small else await self._readers.run_long(read))
                candidates = self._readers.run_one(query)
        except MemoryError:
            cache.clear()
            return None
        return None if isinstance(candidates, MissingWords) else candidates

    def _read_now(self, job: Callable[..., T], *arguments: object, **options: object) -> T:
        return self._readers.run_now(job, *arguments, **options)

    def _read_one(self, job: Callable[..., T], *arguments: object, **options: object) -> T:
        """Read a few rows with one statement."""
        return self._readers.run_one(job, *arguments, **options)

    def _read_once(self, job: Callable[..., T], *arguments: str) -> T:
        """Do the same, once until anything is committed."""
        return (
            self._read_one(job, *arguments)
            if self._repeated is None
            else self._read_one(self._repeated.read, job, *arguments)
        )

    async def _read_rows(
        self, job: Callable[..., T], *arguments: object, rows: int, is_one: bool = True, **options: object
    ) -> T:
        """Read a few rows on the event loop, many rows in a thread. `is_one`: with one statement."""
        if rows > _FEW_ROWS:
            return await self._read(job, *arguments, **options)
        return self._read_one(job, *arguments, **options) if is_one else self._read_now(job, *arguments, **options)

    async def _read(self, job: Callable[..., T], *arguments: object, **options: object) -> T:
        if isinstance(self._readers, OpenTransaction):
            # It shows every statement the same state. For a savepoint, SQLite would write the postings to disk.
            return self._readers.run_now(job, *arguments, **options)
        return await self._readers.run(lambda connection: job(connection, *arguments, **options))
