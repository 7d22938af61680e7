"""What files and store last agreed on, note by note: enough to tell who changed what since then."""

import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Self

import apsw

from scrubjay.model.memory import MAIN
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.notes.files.entries import Seen
from scrubjay.notes.files.ledger_tables import connect, connect_reader, mapped
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.markdown.wiki import key_of

__all__ = ["Ledger", "LedgerEntry", "Problem"]

_COLUMNS = """memory_id, branch, version, path, size, mtime_ns, inode, digest, links, named_by_us, title, category,
    reviewed_at, created_at, aliases"""
_PAGE = 1000
_Value = str | int | bytes | None
_Row = tuple[
    str, str, int, str, int, int, str, bytes, str, int, str, str, int | None, int | None, str
]  # as _COLUMNS has them


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """A note as file and store last had it in common; `links` are ids, with the text of what was linked."""

    memory_id: str
    branch: str = MAIN
    version: int
    path: str
    size: int
    mtime_ns: int
    inode: int
    digest: bytes
    links: tuple[tuple[str, str], ...] = ()
    named_by_us: bool = True
    title: str = ""
    category: str = ""
    reviewed_at: datetime | None = None
    created_at: datetime | None = None
    aliases: tuple[str, ...] = ()

    @property
    def seen(self) -> Seen:
        """The file as it was when they agreed."""
        return Seen(path=self.path, size=self.size, mtime_ns=self.mtime_ns, inode=self.inode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A file that could not be taken, and why; `at` is when it was found."""

    path: str
    what: str
    at: datetime


class Ledger:
    """The ledger of one folder of notes. It blocks, and is used from one thread at a time."""

    def __init__(self, connection: apsw.Connection, *, path: Path, is_new: bool, of: str = "") -> None:
        self.path = path
        self.of = of
        self.is_new = is_new
        # Of whom something was written down, until whoever wants to know clears it.
        self.touched: set[str] = set()
        self._connection = connection

    @classmethod
    def open(cls, path: Path, *, writes: bool = True, of: str = "") -> Self:
        """The ledger in a file, begun anew where it cannot be used; without `writes`, nothing is ever changed.

        `of` says what it is the ledger of: what was agreed on about another folder, or with another store, is nothing.
        """
        if not writes:
            connection = connect_reader(path, of=of)
            return cls(connection, path=path, is_new=connection.filename == "", of=of)
        connection, is_new = connect(path, of=of)
        return cls(connection, path=path, is_new=is_new, of=of)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def batch(self) -> Generator[None]:
        """One transaction around all that is done within; it may stand in another."""
        with mapped(self.path), self._connection:
            yield

    # ---- what was agreed on ----

    def get(self, memory_id: str) -> LedgerEntry | None:
        """What was agreed on about a memory."""
        return next(iter(self._found("memory_id = ?", (memory_id,))), None)

    def get_many(self, memory_ids: Iterable[str]) -> dict[str, LedgerEntry]:
        """The same about several, by their ids; those that are not known are left out."""
        return {one.memory_id: one for one in self._among("memory_id", memory_ids)}

    def at(self, path: str) -> LedgerEntry | None:
        """What was agreed on about the file at a path."""
        return next(iter(self._found("path = ?", (path,))), None)

    def at_many(self, paths: Iterable[str]) -> dict[str, LedgerEntry]:
        """The same about several, by their paths."""
        return {one.path: one for one in self._among("path", paths)}

    def under(self, folder: str) -> list[LedgerEntry]:
        """The files in a folder and in those below it."""
        # All texts that begin with `folder/` come before `folder0`, in the order of their bytes.
        return self._found("path > ? AND path < ? ORDER BY path", (f"{folder}/", f"{folder}0"))

    def all(self) -> Iterator[LedgerEntry]:
        """All of them by path; the ledger may be written meanwhile."""
        last = ""
        while page := self._found(f"path > ? ORDER BY path LIMIT {_PAGE}", (last,)):
            yield from page
            last = page[-1].path

    def count(self) -> int:
        """How many there are."""
        with mapped(self.path):
            return _number(self._connection.execute("SELECT count(*) FROM agreed").fetchone())

    def put(self, *agreed: LedgerEntry) -> None:
        """Write down what is agreed on now. A file shows one note: another that was at the same path is dropped."""
        paths = json.dumps([one.path for one in agreed])
        ids = json.dumps([one.memory_id for one in agreed])
        self.touched |= {one.memory_id for one in agreed}
        with self.batch():
            self._connection.execute(
                """DELETE FROM agreed WHERE memory_id IN (
                     SELECT value FROM json_each(?) UNION
                     SELECT a.memory_id FROM json_each(?) asked JOIN agreed a ON a.path = asked.value)""",
                (ids, paths),
            )
            marks = ", ".join("?" * 19)
            self._connection.executemany(f"INSERT OR REPLACE INTO agreed VALUES({marks})", map(_row, agreed))
            self._connection.execute("DELETE FROM aliases WHERE memory_id IN (SELECT value FROM json_each(?))", (ids,))
            called = [(key, one.memory_id) for one in agreed for name in one.aliases if (key := key_of(name))]
            if called:
                self._connection.executemany("INSERT OR REPLACE INTO aliases VALUES(?, ?)", called)

    def drop(self, *memory_ids: str) -> None:
        """Forget what was agreed on about some memories, and what they wanted to link."""
        self.touched |= set(memory_ids)
        with self.batch():
            for table in ("agreed", "wants", "aliases"):
                self._connection.execute(
                    f"DELETE FROM {table} WHERE memory_id IN (SELECT value FROM json_each(?))",
                    (json.dumps(memory_ids),),
                )

    def due(self, *, before: datetime, limit: int) -> list[LedgerEntry]:
        """Those not reviewed since a moment (nor made after it), longest ago first."""
        return self._found("due_at < ? ORDER BY due_at, memory_id LIMIT ?", (to_micros(before), limit))

    def by_stem(self, keys: Iterable[str]) -> dict[str, list[LedgerEntry]]:
        """Files by the keys of their names without `.md`, or of their whole paths."""
        return self._keyed(keys, ("stem", "place"))

    def by_title(self, keys: Iterable[str]) -> dict[str, list[LedgerEntry]]:
        """Files by the keys of their titles."""
        return self._keyed(keys, ("titled",))

    def by_alias(self, keys: Iterable[str]) -> dict[str, list[LedgerEntry]]:
        """Files by the keys of their notes' other names."""
        with mapped(self.path):
            rows = self._connection.execute(
                "SELECT key, memory_id FROM aliases WHERE key IN (SELECT value FROM json_each(?)) ORDER BY memory_id",
                (json.dumps(sorted(set(keys))),),
            ).fetchall()
        known = self.get_many({str(memory_id) for _, memory_id in rows}) if rows else {}
        found: dict[str, list[LedgerEntry]] = {}
        for key, memory_id in rows:
            if memory_id in known:
                found.setdefault(key, []).append(known[memory_id])
        return found

    # ---- how far the change log was read ----

    @property
    def cursor(self) -> int:
        """The last change of the store that the files have; 0 at the beginning."""
        with mapped(self.path):
            return _number(self._connection.execute("SELECT value FROM meta WHERE key = 'cursor'").fetchone())

    def set_cursor(self, seq: int) -> None:
        """Say that the files have all changes up to that one."""
        with self.batch():
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES('cursor', ?)", (seq,))

    # ---- links to notes that do not exist ----

    def want(self, memory_id: str, targets: Sequence[Link]) -> None:
        """Say what a memory links that is not there, in place of what was said before."""
        with self.batch():
            self._connection.execute("DELETE FROM wants WHERE memory_id = ?", (memory_id,))
            self._connection.executemany(
                "INSERT INTO wants VALUES(?, ?, ?, ?, ?)",
                [(memory_id, place, key_of(one.target), one.target, one.text) for place, one in enumerate(targets)],
            )

    def wanting(self, keys: Iterable[str]) -> list[tuple[str, Link]]:
        """Who links a note of one of these keys that was not there, and how."""
        return self._wants("key IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),))

    def wants_of(self, memory_id: str) -> list[Link]:
        """What one memory links that is not there, in order."""
        return [link for _, link in self._wants("memory_id = ?", (memory_id,))]

    def wanted(self) -> list[tuple[str, Link]]:
        """All links to notes that are not there."""
        return self._wants("1", ())

    # ---- files that could not be taken ----

    def problem(self, path: str, what: str, *, at: datetime) -> None:
        """Note what is wrong with a file, in place of what was wrong before."""
        with self.batch():
            self._connection.execute("INSERT OR REPLACE INTO problems VALUES(?, ?, ?)", (path, what, to_micros(at)))

    def no_problem(self, *paths: str) -> None:
        """Say that nothing is wrong with some files any more."""
        with self.batch():
            self._connection.execute(
                "DELETE FROM problems WHERE path IN (SELECT value FROM json_each(?))", (json.dumps(paths),)
            )

    def problems(self) -> list[Problem]:
        """What is wrong now, by path."""
        with mapped(self.path):
            rows = self._connection.execute("SELECT path, what, at FROM problems ORDER BY path").fetchall()
        return [Problem(path=path, what=what, at=from_micros(at)) for path, what, at in rows]

    def _found(self, where: str, values: tuple[_Value, ...]) -> list[LedgerEntry]:
        with mapped(self.path):
            rows = self._connection.execute(f"SELECT {_COLUMNS} FROM agreed WHERE {where}", values).fetchall()
        return [_agreed(row) for row in rows]

    def _among(self, column: str, values: Iterable[str]) -> list[LedgerEntry]:
        return self._found(f"{column} IN (SELECT value FROM json_each(?))", (json.dumps(list(values)),))

    def _keyed(self, keys: Iterable[str], columns: tuple[str, ...]) -> dict[str, list[LedgerEntry]]:
        asked = json.dumps(sorted(set(keys)))
        found: dict[str, dict[str, LedgerEntry]] = {}
        for column in columns:
            with mapped(self.path):
                rows = self._connection.execute(
                    f"""SELECT {column}, {_COLUMNS} FROM agreed
                        WHERE {column} IN (SELECT value FROM json_each(?)) ORDER BY path""",
                    (asked,),
                ).fetchall()
            for key, *row in rows:
                one = _agreed(tuple(row))
                found.setdefault(key, {})[one.memory_id] = one
        return {key: list(ones.values()) for key, ones in found.items()}

    def _wants(self, where: str, values: tuple[_Value, ...]) -> list[tuple[str, Link]]:
        with mapped(self.path):
            rows = self._connection.execute(
                f"SELECT memory_id, target, text FROM wants WHERE {where} ORDER BY memory_id, place", values
            ).fetchall()
        return [(memory_id, Link(target=target, text=text)) for memory_id, target, text in rows]


def _row(one: LedgerEntry) -> tuple[_Value, ...]:
    due = one.reviewed_at or one.created_at
    return (
        one.memory_id, one.branch, one.version, one.path, one.size, one.mtime_ns,
        # Some file systems number their files with more bits than SQLite's integers have.
        str(one.inode),
        one.digest, json.dumps(one.links, ensure_ascii=False), one.named_by_us, one.title, one.category,
        _micros(one.reviewed_at), _micros(one.created_at), json.dumps(one.aliases, ensure_ascii=False), _micros(due),
        key_of(PurePosixPath(one.path).name), key_of(one.path), key_of(one.title),
    )  # fmt: skip


def _agreed(row: _Row) -> LedgerEntry:
    (
        memory_id, branch, version, path, size, mtime_ns, inode, digest, links, named_by_us, title, category,
        reviewed_at, created_at, aliases,
    ) = row  # fmt: skip
    return LedgerEntry(
        memory_id=memory_id,
        branch=branch,
        version=version,
        path=path,
        size=size,
        mtime_ns=mtime_ns,
        inode=int(inode),
        digest=digest,
        links=tuple((linked, text) for linked, text in json.loads(links)),
        named_by_us=bool(named_by_us),
        title=title,
        category=category,
        reviewed_at=_moment(reviewed_at),
        created_at=_moment(created_at),
        aliases=tuple(json.loads(aliases)),
    )


def _number(row: tuple[int, ...] | None) -> int:
    return 0 if row is None else int(row[0])


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
