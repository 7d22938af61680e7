"""Upkeep: statistics, checks, and the background work on bodies and passages."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import apsw

from scrubjay.cancelling import cancel
from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import State
from scrubjay.ports import BodyCheck, DamagedBody, Footprint, StoreStatistics
from scrubjay.storage.codec import Encoding, train
from scrubjay.storage.rows import STATES, id_text
from scrubjay.storage.sql_files import read_statements
from scrubjay.storage.sqlite import purge, reindex
from scrubjay.storage.sqlite.bodies import MEMORY_COLUMNS, Row, SqliteBodies
from scrubjay.storage.sqlite.connection import Readers
from scrubjay.storage.sqlite.read import slices
from scrubjay.storage.sqlite.rows import is_unclean, lexicon_number, marks, note_cleaned, purges, space_number
from scrubjay.storage.sqlite.writer import Writer

_SQL = read_statements("sqlite/bodies")
_EVERY_VERSION = "versions v JOIN memories m ON m.no = v.memory_no JOIN spaces s ON s.no = m.space_no"
_VERSION_COLUMNS = MEMORY_COLUMNS.replace("m.version", "v.number")
_MAX_PROBLEMS = 50
# The compression is that of the newest bodies, so many of them: a sum over all reads the whole file.
_NEWEST = 2_000
# So many pages are indexed again while a store is opened, for which the caller waits; the rest follows in the
# background, with a pause after each page, so that other processes can write.
_PAGES_AT_OPENING = 5
_PAUSE = 0.05


class SqliteUpkeep:
    """Trains dictionaries, finishes purges, and indexes memories of an older passage format again."""

    def __init__(self, writer: Writer, readers: Readers, bodies: SqliteBodies, *, page: reindex.PageSize) -> None:
        self.writer = writer
        self.training: set[asyncio.Task[None]] = set()
        self.readers = readers
        self._bodies = bodies
        self._page = page
        self._reindexing: asyncio.Task[int] | None = None
        # Spaces whose bodies are too similar to train a dictionary: not tried again until the store is reopened.
        self._untrainable: set[str] = set()

    def train_soon(self, space: str, *, due: bool) -> None:
        """Train a dictionary for a space in the background, one at a time."""
        if due and not self.training and space not in self._untrainable:
            task = asyncio.create_task(self._train(space))
            self.training.add(task)
            task.add_done_callback(self.training.discard)

    async def finish_purge(self) -> bool:
        """Clean up after an interrupted purge; return whether there was one."""
        unclean = await self.readers.run(is_unclean)
        if unclean:
            await self.clean()
        return unclean

    async def clean(self) -> None:
        """Remove the words of a purge from the lexical index, the dictionaries and the files."""
        count = await self.readers.run(purges)
        await self.writer.run(purge.merge_postings)
        await self._repack()
        if await self.writer.run_outside(purge.rewrite_file):
            await self.writer.run(partial(note_cleaned, purges=count))

    async def reindex_few(self) -> None:
        """Index some memories of an older passage format again, and the rest in the background."""
        if not await self.readers.run(reindex.is_due):
            return
        count = 0
        after: int | None = 0
        for _ in range(_PAGES_AT_OPENING):
            if after is not None:
                done, after = await self._reindex_page(after)
                count += done
        if count or after is not None:
            self._reindexing = asyncio.create_task(self._reindex_rest(after, before=count))

    async def reindex_all(self) -> int:
        """Index all such memories again; return how many, with those of a background task that is still running."""
        count = 0
        if self._reindexing is not None and not self._reindexing.done():
            count = await asyncio.shield(self._reindexing)
        return count + (await self._reindex_rest(0) if await self.readers.run(reindex.is_due) else 0)

    async def tidy(self) -> list[str]:
        """Do all upkeep that is due; return a sentence for each thing done."""
        done: list[str] = []
        if await self.finish_purge():
            done.append("completed an interrupted purge")
        ((has_bodies_to_repack,),) = await self.readers.run(
            lambda connection: connection.execute(_SQL["has_bodies_to_repack"], (int(Encoding.FLAGGED),)).fetchall()
        )
        if has_bodies_to_repack:
            await self._repack()
            done.append("repacked bodies that were flagged, or whose dictionary a purge had tainted")
        if count := await self.reindex_all():
            done.append(f"indexed {count} memories of an older passage format again")
        return done

    async def close(self) -> None:
        """Cancel the indexing, which continues when the store is opened again, and wait for the training."""
        if self._reindexing is not None:
            await cancel(self._reindexing)
        if self.training:
            await asyncio.gather(*self.training, return_exceptions=True)

    async def _train(self, space: str) -> None:
        samples, count = await self.readers.run(lambda connection: self._bodies.samples(connection, space))
        trained = await asyncio.to_thread(train, samples, number=0)
        if trained is None:
            self._untrainable.add(space)
            return
        await self.writer.run(
            partial(self._bodies.store_dictionary, space=space, data=trained.data, purges_before=count)
        )

    async def _repack(self) -> None:
        # The new dictionary first, so that the bodies are packed once.
        for space in await self.readers.run(_spaces_to_retrain):
            await self._train(space)
        after: tuple[int, int] | None = (0, 0)
        while after is not None:
            after = await self.writer.run(partial(self._bodies.repack, after=after))
        await self.writer.run(self._bodies.drop_tainted)

    async def _reindex_page(self, after: int) -> tuple[int, int | None]:
        return await self.writer.run(partial(reindex.reindex_page, after=after, bodies=self._bodies, page=self._page))

    async def _reindex_rest(self, after: int | None, *, before: int = 0) -> int:
        count = 0
        while after is not None:
            done, after = await self._reindex_page(after)
            count += done
            await asyncio.sleep(_PAUSE)
        if count or before:
            # Every row of the lexical index was replaced; until they are merged, each search visits both.
            await self.writer.run(purge.merge_postings)
        return count


def statistics(connection: apsw.Connection, space: str, *, path: Path, encrypted: bool) -> StoreStatistics:
    """Return the counts of one space and the sizes of the whole file."""
    space_no = space_number(connection, space) or 0
    versions = connection.execute("SELECT body_count FROM spaces WHERE no = ?", (space_no,)).fetchone()
    relations = connection.execute("SELECT count(*) FROM relations WHERE space_no = ?", (space_no,)).fetchall()[0][0]
    bodies = connection.execute(_SQL["sizes"], (int(Encoding.RAW), int(Encoding.FLAGGED))).fetchall()[0]
    vectors = connection.execute(
        """SELECT m.name, count(*) FROM all_vectors v JOIN models m ON m.no = v.model_no
           WHERE v.space_no = ? GROUP BY m.name""",
        (space_no,),
    ).fetchall()
    facets = connection.execute(
        "SELECT facet, memory_count FROM facets WHERE lexicon_no = ? ORDER BY memory_count DESC LIMIT 1000",
        (lexicon_number(space_no, State.LIVE),),
    ).fetchall()
    return StoreStatistics(
        memories=_memories_by_state(connection, space_no),
        versions=int(versions[0]) if versions else 0,
        relations=int(relations),
        body_bytes=int(bodies[0]),
        stored_bytes=int(bodies[1]),
        raw_bodies=int(bodies[2]),
        flagged_bodies=int(bodies[3]),
        vectors={str(name): int(count) for name, count in vectors},
        facets={str(facet): int(count) for facet, count in facets},
        details=_details(connection, path, encrypted=encrypted),
    )


def footprint(connection: apsw.Connection, space: str, *, path: Path) -> Footprint:
    """Return the counts of one space, the bytes of the newest bodies, and those of the file."""
    space_no = space_number(connection, space) or 0
    body_bytes, stored_bytes = connection.execute(_SQL["newest_sizes"], (_NEWEST,)).fetchall()[0]
    return Footprint(
        memories=_memories_by_state(connection, space_no), body_bytes=int(body_bytes), stored_bytes=int(stored_bytes),
        store_bytes=_file_bytes(path),
    )  # fmt: skip


def check(
    connection: apsw.Connection, *, deep: bool, bodies: SqliteBodies, expected: Collection[str] = ()
) -> list[str]:
    """Return the problems of the file except `expected` ones of bodies; with `deep`, read every body."""
    # Only a search makes FTS5 compare the structure it keeps in memory with the file.
    connection.execute("SELECT rowid FROM postings WHERE postings MATCH 'x' LIMIT 1").fetchall()
    pragma = "integrity_check" if deep else "quick_check"
    problems = [str(row[0]) for row in connection.execute(f"PRAGMA {pragma}({_MAX_PROBLEMS})") if row[0] != "ok"]
    without_body = connection.execute(
        "SELECT count(*) FROM memories WHERE no NOT IN (SELECT memory_no FROM versions WHERE number = version)"
    ).fetchall()[0][0]
    if without_body:
        problems.append(f"{without_body} memories have no body")
    if deep:
        damaged = (str(body) for body in damaged_bodies(connection, bodies))
        problems += islice((problem for problem in damaged if problem not in expected), _MAX_PROBLEMS)
    return problems


def check_bodies(connection: apsw.Connection, space: str, ids: Sequence[str], *, bodies: SqliteBodies) -> BodyCheck:
    """Read every version of some memories."""
    space_no, read = space_number(connection, space), 0
    damaged: list[DamagedBody] = []
    for raw_ids in slices(ids):
        rows = connection.execute(
            f"""SELECT {_VERSION_COLUMNS} FROM {_EVERY_VERSION} WHERE m.space_no = ? AND m.id IN ({marks(raw_ids)})
                ORDER BY v.memory_no, v.number DESC""",
            (space_no, *raw_ids),
        ).fetchall()
        read += len(rows)
        damaged += _damaged_among(connection, rows, bodies)
    return BodyCheck(read=read, damaged=tuple(damaged))


def damaged_bodies(connection: apsw.Connection, bodies: SqliteBodies) -> Iterator[DamagedBody]:
    """Read every body, and yield the damaged ones."""
    # Newest first, since older ones are stored as differences from newer ones.
    rows = connection.execute(
        f"SELECT {_VERSION_COLUMNS} FROM {_EVERY_VERSION} ORDER BY v.memory_no DESC, v.number DESC"
    )
    return _damaged_among(connection, rows, bodies)


def _memories_by_state(connection: apsw.Connection, space_no: int) -> dict[str, int]:
    rows = connection.execute("SELECT state, count(*) FROM memories WHERE space_no = ? GROUP BY state", (space_no,))
    return {STATES[int(number)].value: int(count) for number, count in rows}


def _file_bytes(path: Path) -> int:
    wal = path.with_name(path.name + "-wal")
    return path.stat().st_size + (wal.stat().st_size if wal.exists() else 0)


def _details(connection: apsw.Connection, path: Path, *, encrypted: bool) -> dict[str, str | int | float | bool]:
    return {
        "backend": "sqlite",
        "file": str(path),
        "bytes": _file_bytes(path),
        "free_bytes": int(connection.pragma("freelist_count")) * int(connection.pragma("page_size")),
        "schema": int(connection.pragma("user_version")),
        "encrypted": encrypted,
        "sqlite": apsw.sqlite_lib_version(),
    }


def _damaged_among(connection: apsw.Connection, rows: Iterable[Row], bodies: SqliteBodies) -> Iterator[DamagedBody]:
    for number, raw_id, space, version, accessed, count, *packed in rows:
        try:
            bodies.unpack(
                connection, [version, *packed], memory_no=number, memory_id=id_text(raw_id), space=space,
                accessed=accessed, count=count,
            )  # fmt: skip
        except BodyDamaged as error:
            yield DamagedBody(memory_id=id_text(raw_id), version=version, why=error.message)


def _spaces_to_retrain(connection: apsw.Connection) -> list[str]:
    rows = connection.execute(
        "SELECT name FROM spaces WHERE no IN (SELECT space_no FROM dictionaries WHERE tainted = 1)"
    )
    return [str(row[0]) for row in rows]
