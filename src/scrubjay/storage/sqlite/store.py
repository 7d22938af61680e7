"""The embedded record store: one SQLite file, one writer, a few readers."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

import apsw

from scrubjay.errors import StoreError
from scrubjay.model.change import Change, Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage, Point, StoredPassage, Vector
from scrubjay.model.query import Facet, Filter
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import to_micros
from scrubjay.model.token import Token
from scrubjay.model.version import MemoryHistory
from scrubjay.ports import (
    Commit,
    Committed,
    Embedded,
    Handle,
    Neighbours,
    Progress,
    Run,
    StoreStatistics,
    TermStatistics,
)
from scrubjay.ports.commit import StoredAnswer
from scrubjay.storage.codec import Encoding, train
from scrubjay.storage.lru import Recent
from scrubjay.storage.sqlite import (
    inventory,
    lexicon,
    log,
    meta,
    neighbours,
    purge,
    read,
    records,
    reindex,
    spelling,
    tokens,
    upkeep,
    vectors,
)
from scrubjay.storage.sqlite.bodies import Bodies
from scrubjay.storage.sqlite.connection import connect, mapped_errors
from scrubjay.storage.sqlite.documents_facade import DocumentAccess
from scrubjay.storage.sqlite.history_facade import HistoryReads
from scrubjay.storage.sqlite.prefix_search import PrefixSearch
from scrubjay.storage.sqlite.readers import Readers
from scrubjay.storage.sqlite.schema import migrate
from scrubjay.storage.sqlite.sql_files import read_statements
from scrubjay.storage.sqlite.writer import Writer
from scrubjay.text.passages import passages_of

T = TypeVar("T")
_SQL = read_statements("bodies.sql")
# Up to these limits a query runs on the event loop. So many rows are read in less than a millisecond, and a reading
# thread would take as long to wake up and answer.
_FEW_ROWS = 256
_PASSAGES_PER_MEMORY = 8
# Limits for queries that take longer for each row: unpacking bodies, and looking up words. A thread would work as long
# under the same interpreter lock, and all other tasks would wait for it to change hands.
_FEW_MEMORIES, _SMALL_BODIES = 16, 64 * 1024
_FEW_PASSAGES = 5_000
# Limits for entries of the lexical index; the second is for a filter that tests each of them.
_FEW_POSTINGS, _FEW_TESTED = 20_000, 2_000
# Passages for ranking are read row by row in any case, and each row would wait for the interpreter: with a few recalls
# at once a thread takes five times as long as the two or three milliseconds that they all wait for it here.
_FEW_RANKED = 1_500
_CACHED_VECTORS = 4_096
# So many pages are indexed again while a store is opened, for which the caller waits; the rest follows in the
# background, with a pause after each page, so that other processes can write.
_PAGES_AT_OPENING = 5
_PAUSE = 0.05


class SqliteStore(HistoryReads, DocumentAccess, PrefixSearch):
    """The RecordStore port on one file. Every method runs a job on the writer or on a reader."""

    def __init__(
        self, path: Path, connection: apsw.Connection, *, key: str, readers: int, page: reindex.Page = reindex.PAGE
    ) -> None:
        self.path = path
        self._key = key
        self._connection = connection
        self._bodies = Bodies()
        # A text's vector never changes.
        self._vectors: Recent[tuple[str, str, bytes], Vector] = Recent(_CACHED_VECTORS)
        self._training: set[asyncio.Task[None]] = set()
        self._page = page
        self._rereading: asyncio.Task[int] | None = None
        # Spaces whose bodies are too similar to train a dictionary: not tried again until the store is reopened.
        self._untrainable: set[str] = set()
        self._writer = Writer(connection, path=path)
        self._readers = Readers(path, key=key, count=readers)
        self._store_id = str(connection.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchall()[0][0])

    @classmethod
    async def open(cls, path: Path, *, key: str = "", readers: int = 4, page: reindex.Page = reindex.PAGE) -> Self:
        """Open or create the store; raise an error that explains what is wrong with the file."""
        store = await asyncio.to_thread(cls._open, path, key, readers, page)
        # If an interrupted purge cannot be finished now, the next opening or `tidy` tries again.
        with suppress(StoreError):
            await store.finish_purge()
        # The same goes for passages in an older format: until then they are found as before.
        with suppress(StoreError):
            await store.reread_few()
        return store

    @classmethod
    def _open(cls, path: Path, key: str, readers: int, page: reindex.Page) -> Self:
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
            committed = records.apply_commit(connection, commit, bodies=self._bodies)
            return committed, self._bodies.training_due(connection, commit.space)

        committed, due = await self._writer.run(job)
        self._train_soon(commit.space, due=due)
        return committed

    async def find_answer(self, space: str, key: str, digest: bytes) -> str | None:
        return self._glance(records.find_answer, space, key, digest)

    async def adopt(self, space: str, histories: Sequence[MemoryHistory], *, origin: Origin) -> tuple[str, ...]:
        prepared = await asyncio.to_thread(_with_passages, histories)

        def job(connection: apsw.Connection) -> tuple[tuple[str, ...], bool]:
            adopted = records.adopt(connection, space, prepared, origin=origin, bodies=self._bodies)
            return adopted, self._bodies.training_due(connection, space)

        adopted, due = await self._writer.run(job)
        self._train_soon(space, due=due)
        return adopted

    async def purge(self, space: str, ids: Sequence[str], *, origin: Origin) -> int:
        job = partial(purge.purge, space=space, ids=ids, origin=origin, bodies=self._bodies)
        count = await self._writer.run(job)
        if count:
            self._bodies.forget_unpacked()
            self._vectors.clear()
            await self._clean()
        return count

    async def touch(self, space: str, ids: Sequence[str], *, at: datetime) -> None:
        def job(connection: apsw.Connection) -> None:
            records.touch(connection, records.make_space(connection, space), ids, to_micros(at))

        await self._writer.run(job)

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        memories = None
        if len(ids) <= _FEW_MEMORIES:
            memories = self._glance(read.get_small, space, ids, bodies=self._bodies, most=_SMALL_BODIES)
        return await self._read(read.get, space, ids, bodies=self._bodies) if memories is None else memories

    async def find(self, space: str, ref: str, *, state: State | None = None) -> tuple[Handle, ...]:
        return self._glance(read.find, space, ref, state=state)

    async def nearest(self, space: str, ref: str, *, limit: int) -> tuple[str, ...]:
        return await self._read(read.nearest, space, ref, limit=limit)

    async def labels(self, space: str, field: str, *, prefix: str, limit: int) -> tuple[str, ...]:
        return self._glance(read.labels, space, field, prefix=prefix, limit=limit)

    async def same_content(self, space: str, content: str) -> tuple[str, ...]:
        return self._glance(read.same_content, space, content)

    async def relations(self, space: str, ids: Sequence[str]) -> list[Relation]:
        return await self._read(read.relations, space, ids)

    async def sizes(self, space: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        return await self._look(read.sizes, space, ids, rows=len(ids))

    async def list_ids(self, space: str, filter: Filter, *, limit: int, after: str | None = None) -> list[str]:
        return await self._read(read.list_ids, space, filter, limit=limit, after=after)

    async def pinned(self, space: str) -> list[str]:
        return self._glance(read.pinned, space)

    async def members(self, space: str, group: str) -> list[str]:
        return self._glance(read.members, space, group)

    # ---- lexicon ----

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        visited = self._glance(lexicon.postings, space, terms, state=filter.state)
        query = partial(lexicon.lexical_candidates, space=space, terms=terms, filter=filter, limit=limit)
        is_small = visited <= (_FEW_POSTINGS if filter.is_empty else _FEW_TESTED)
        return self._readers.glance(query) if is_small else await self._readers.run(query)

    async def term_statistics(self, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
        return self._glance(lexicon.term_statistics, space, terms, state=state)

    async def stored_passages(self, space: str, ids: Sequence[int], *, around: int = 0) -> list[StoredPassage]:
        query = partial(neighbours.stored_passages, space=space, ids=ids, around=around)
        is_small = len(ids) * (1 + 2 * around) <= _FEW_RANKED
        return self._readers.glance(query) if is_small else await self._readers.run(query)

    async def passage_numbers(self, space: str, memory_ids: Sequence[str]) -> list[int]:
        rows = _PASSAGES_PER_MEMORY * len(memory_ids)
        return await self._look(neighbours.passage_numbers, space, memory_ids, rows=rows)

    async def session_neighbours(self, space: str, memory_ids: Sequence[str], *, each: int) -> dict[str, Neighbours]:
        return await self._look(
            neighbours.session_neighbours, space, memory_ids, each=each, rows=len(memory_ids) * (1 + 2 * each)
        )

    async def similar_terms(self, space: str, term: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        # A larger vocabulary has thousands of terms that share a trigram.
        query = partial(spelling.similar_terms, space=space, term=term, state=state, limit=limit)
        count = self._glance(lexicon.passage_count, space, state=state)
        return self._readers.glance(query) if count <= _FEW_PASSAGES else await self._readers.run(query)

    async def facet_values(self, space: str, field: str, *, state: State, limit: int) -> list[tuple[str, int]]:
        return await self._read(lexicon.facet_values, space, field, state=state, limit=limit)

    async def known_facets(self, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
        return self._glance(lexicon.known_facets, space, facets, state=state)

    async def matching_passages(self, space: str, filter: Filter) -> Sequence[int]:
        return await self._read(lexicon.matching_passages, space, filter)

    # ---- vectors ----

    async def vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        cached = {
            digest: vector for digest in hashes if (vector := self._vectors.get((space, model, digest))) is not None
        }
        missing = [digest for digest in hashes if digest not in cached]
        if not missing:
            return cached
        stored = await self._look(vectors.vectors, space, model, missing, rows=len(missing))
        for digest, vector in stored.items():
            # A copy: a view would keep the memory of the whole batch.
            self._vectors.put((space, model, digest), vector.copy())
        return cached | stored

    async def embedded(self, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
        return await self._look(vectors.embedded_among, space, model, hashes, rows=len(hashes))

    async def store_vectors(self, space: str, embedded: Embedded, *, memory_ids: Sequence[str], origin: Origin) -> None:
        def job(connection: apsw.Connection) -> None:
            space_no = records.make_space(connection, space)
            run_no = log.run_number(connection, space_no, origin)
            vectors.store_vectors(connection, space_no, run_no, embedded, at=origin.at, memory_ids=memory_ids)

        await self._writer.run(job)

    async def without_vectors(self, model: str, *, limit: int) -> list[tuple[str, str]]:
        return await self._read(vectors.without_vectors, model, limit=limit)

    async def points(self, model: str, *, after: int, limit: int) -> list[Point]:
        return await self._read(vectors.points, model, after=after, limit=limit)

    async def points_of(self, model: str, numbers: Sequence[int]) -> list[Point]:
        return await self._look(vectors.points_of, model, numbers, rows=_PASSAGES_PER_MEMORY * len(numbers))

    async def point_count(self, model: str) -> int:
        return await self._read(vectors.point_count, model)

    # ---- the log ----

    async def changes(self, *, after: int, limit: int) -> list[Change]:
        return await self._look(log.changes, after=after, limit=limit, rows=limit)

    async def changes_in(self, space: str, *, after: int, limit: int) -> list[Change]:
        return await self._look(log.changes_in, space, after=after, limit=limit, rows=limit)

    async def last_place(self, space: str) -> int:
        return self._glance(log.last_place, space)

    async def last_seq(self) -> int:
        return self._glance(log.last_seq)

    async def last_run(self, space: str, *, agent: str) -> Run | None:
        return await self._read(log.last_run, space, agent=agent)

    async def run(self, space: str, run: str) -> Run | None:
        return await self._read(log.run_of, space, run)

    # ---- tokens ----

    async def add_token(self, token: Token, digest: bytes) -> None:
        await self._writer.run(partial(tokens.add, token=token, digest=digest))

    async def token_by_digest(self, digest: bytes) -> Token | None:
        return self._glance(tokens.by_digest, digest)

    async def token(self, token_id: str) -> Token | None:
        return self._glance(tokens.by_id, token_id)

    async def tokens(self) -> list[Token]:
        return await self._read(tokens.every)

    async def revoke_token(self, token_id: str, *, at: datetime) -> Token | None:
        return await self._writer.run(partial(tokens.revoke, token_id=token_id, at=at))

    # ---- inventory ----

    async def spaces(self) -> list[str]:
        return await self._read(inventory.spaces)

    async def ids(self, space: str, *, after: str = "", limit: int) -> list[str]:
        return await self._read(inventory.ids, space, after=after, limit=limit)

    async def histories(self, space: str, ids: Sequence[str], *, most_bytes: int) -> list[MemoryHistory]:
        return await self._read(inventory.histories, space, ids, most_bytes=most_bytes, bodies=self._bodies)

    async def models(self) -> dict[str, int]:
        return await self._read(inventory.models)

    async def stored_vectors(self, space: str, model: str, *, after: bytes = b"", limit: int) -> dict[bytes, Vector]:
        return await self._read(vectors.stored_vectors, space, model, after=after, limit=limit)

    async def answers(self, space: str, *, after: str | bytes | None = None, limit: int) -> list[StoredAnswer]:
        return await self._read(inventory.answers, space, after=after, limit=limit)

    async def import_answers(self, space: str, answers: Sequence[StoredAnswer], *, origin: Origin) -> int:
        return await self._writer.run(partial(inventory.import_answers, space=space, answers=answers, origin=origin))

    async def token_digests(self) -> dict[str, bytes]:
        return await self._read(tokens.digests)

    # ---- upkeep ----

    @property
    def store_id(self) -> str:
        return self._store_id

    async def statistics(self, space: str) -> StoreStatistics:
        return await self._read(upkeep.statistics, space, path=self.path, encrypted=bool(self._key))

    async def check(self, *, deep: bool = False) -> list[str]:
        return await self._read(upkeep.check, deep=deep, bodies=self._bodies)

    async def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        def job() -> None:
            source = connect(self.path, key=self._key)
            try:
                upkeep.backup(source, target, key=self._key, progress=progress)
            finally:
                source.close()

        await asyncio.to_thread(job)

    async def finish_purge(self) -> bool:
        """Clean up after an interrupted purge; return whether there was one."""
        unclean = await self._read(meta.is_unclean)
        if unclean:
            await self._clean()
        return unclean

    async def reread_few(self) -> None:
        """Index some memories again whose passages are in an older format, and the rest in the background."""
        if not await self._read(reindex.is_due):
            return
        count = 0
        after: int | None = 0
        for _ in range(_PAGES_AT_OPENING):
            if after is not None:
                done, after = await self._reread_page(after)
                count += done
        if count or after is not None:
            self._rereading = asyncio.create_task(self._reread_rest(after, before=count))

    async def reread(self) -> int:
        """Index all such memories again; return how many, with those that are just being indexed."""
        count = 0
        if self._rereading is not None and not self._rereading.done():
            count = await asyncio.shield(self._rereading)
        return count + (await self._reread_rest(0) if await self._read(reindex.is_due) else 0)

    async def tidy(self) -> list[str]:
        done: list[str] = []
        if await self.finish_purge():
            done.append("finished an interrupted purge")
        if count := await self.reread():
            done.append(f"indexed {count} memories again that an earlier version had stored")
        if await self._read(_has_bodies_to_repack):
            await self._repack()
            done.append("repacked bodies that were flagged, or whose dictionary a purge had marked")
        return done

    async def close(self) -> None:
        if self._rereading is not None:
            # The rest is indexed when the store is opened again.
            self._rereading.cancel()
            await asyncio.gather(self._rereading, return_exceptions=True)
        if self._training:
            await asyncio.gather(*self._training, return_exceptions=True)
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._writer.close()
        self._readers.close()
        self._connection.close()

    # ---- indexing again ----

    async def _reread_rest(self, after: int | None, *, before: int = 0) -> int:
        count = 0
        while after is not None:
            done, after = await self._reread_page(after)
            count += done
            await asyncio.sleep(_PAUSE)
        if count or before:
            # Every row of the lexical index was replaced; until they are merged, each search visits both.
            await self._writer.run(purge.merge_lexicon)
        return count

    async def _reread_page(self, after: int) -> tuple[int, int | None]:
        return await self._writer.run(partial(reindex.reread, after=after, bodies=self._bodies, page=self._page))

    # ---- dictionaries ----

    def _train_soon(self, space: str, *, due: bool) -> None:
        if due and not self._training and space not in self._untrainable:
            task = asyncio.create_task(self._train(space))
            self._training.add(task)
            task.add_done_callback(self._training.discard)

    async def _train(self, space: str) -> None:
        samples, purges = await self._read(self._bodies.samples, space)
        trained = await asyncio.to_thread(train, samples, number=0)
        if trained is None:
            self._untrainable.add(space)
            return
        await self._writer.run(
            partial(self._bodies.keep_dictionary, space=space, data=trained.data, learned_after=purges)
        )

    async def _clean(self) -> None:
        """Remove the words of a purge from the lexical index, the dictionaries and the files."""
        purges = await self._read(meta.purges)
        await self._writer.run(purge.merge_lexicon)
        await self._repack()
        if await self._writer.run_outside(purge.rewrite):
            await self._writer.run(partial(meta.note_cleaned, purges=purges))

    async def _repack(self) -> None:
        # The new dictionary first, so that the bodies are packed once.
        for space in await self._read(_spaces_to_retrain):
            await self._train(space)
        after: tuple[int, int] | None = (0, 0)
        while after is not None:
            after = await self._writer.run(partial(self._bodies.repack, after=after))
        await self._writer.run(self._bodies.drop_tainted)

    def _glance(self, job: Callable[..., T], *arguments: object, **options: object) -> T:
        return self._readers.glance(lambda connection: job(connection, *arguments, **options))

    async def _look(self, job: Callable[..., T], *arguments: object, rows: int, **options: object) -> T:
        """Read a few rows on the event loop, many in a thread."""
        if rows <= _FEW_ROWS:
            return self._glance(job, *arguments, **options)
        return await self._read(job, *arguments, **options)

    async def _read(self, job: Callable[..., T], *arguments: object, **options: object) -> T:
        return await self._readers.run(lambda connection: job(connection, *arguments, **options))


def _with_passages(histories: Sequence[MemoryHistory]) -> list[tuple[MemoryHistory, tuple[Passage, ...]]]:
    return [(memory_history, passages_of(memory_history.memory)) for memory_history in histories]


def _has_bodies_to_repack(connection: apsw.Connection) -> bool:
    return bool(connection.execute(_SQL["has_bodies_to_repack"], (int(Encoding.FLAGGED),)).fetchall()[0][0])


def _spaces_to_retrain(connection: apsw.Connection) -> list[str]:
    rows = connection.execute(
        "SELECT name FROM spaces WHERE no IN (SELECT space_no FROM dictionaries WHERE tainted = 1)"
    )
    return [str(row[0]) for row in rows]
