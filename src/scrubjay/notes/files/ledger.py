"""The ledger: the last state of each note that file and store had in common, so that we can tell which has changed.

It can always be rebuilt from the notes and the store; an unusable ledger is set aside and replaced by a new one.
"""

import json
import logging
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Self

import apsw

from scrubjay.errors import VaultUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.memory import MAIN
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.notes.files.tree import FileInfo
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.markdown.wiki import key_of

__all__ = ["FileProblem", "Ledger", "LedgerEntry"]

_log = logging.getLogger(__name__)
_APPLICATION_ID = 0x53_4A_4C_47  # "SJLG"
_SCHEMA = 4
_BUSY_TIMEOUT_MS = 30_000
_REPLACED_SUFFIX = ".set-aside"
_PATH_HINT = "Check the folder's permissions, or choose another with --index_path"
# SQLite takes a shorter file for an empty one and overwrites it.
_MIN_FILE_BYTES = 512
_PAGE = 1000

# `file_key`, `path_key` and `title_key` are the normalized texts by which links are compared; `due_at` is the time of
# the last review, else of creation. `links` also holds the dirty marks, see `scrubjay.notes.sync.dirty`.
_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE notes(
  memory_id TEXT PRIMARY KEY,
  branch TEXT NOT NULL,
  version INTEGER NOT NULL,
  path TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  inode TEXT NOT NULL,
  digest BLOB NOT NULL,
  links TEXT NOT NULL,
  auto_named INTEGER NOT NULL,
  title TEXT NOT NULL,
  category TEXT NOT NULL,
  reviewed_at INTEGER,
  created_at INTEGER,
  aliases TEXT NOT NULL,
  plain INTEGER NOT NULL,
  due_at INTEGER,
  file_key TEXT NOT NULL,
  path_key TEXT NOT NULL,
  title_key TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX notes_file_key ON notes(file_key);
CREATE INDEX notes_path_key ON notes(path_key);
CREATE INDEX notes_title_key ON notes(title_key);
CREATE INDEX notes_digest ON notes(digest);
CREATE INDEX notes_inode ON notes(inode);
CREATE INDEX notes_due ON notes(due_at, memory_id);
CREATE TABLE aliases(key TEXT NOT NULL, memory_id TEXT NOT NULL, PRIMARY KEY(key, memory_id)) WITHOUT ROWID;
CREATE INDEX aliases_memory ON aliases(memory_id);
CREATE TABLE missing_links(
  memory_id TEXT NOT NULL, position INTEGER NOT NULL, key TEXT NOT NULL, target TEXT NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY(memory_id, position)
) WITHOUT ROWID;
CREATE INDEX missing_links_key ON missing_links(key);
CREATE TABLE problems(path TEXT PRIMARY KEY, message TEXT NOT NULL, found_at INTEGER NOT NULL) WITHOUT ROWID;
"""
_COLUMNS = """memory_id, branch, version, path, size, mtime_ns, inode, digest, links, auto_named, title, category,
    reviewed_at, created_at, aliases, plain"""
_Value = str | int | bytes | None
_Row = tuple[
    str, str, int, str, int, int, str, bytes, str, int, str, str, int | None, int | None, str, int
]  # in the order of _COLUMNS


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """The last state of a note that file and store had in common.

    `links` are the ids of linked notes with the links that the file shows. `auto_named`: we chose the file's name, so
    we rename it when the title changes. `plain`: it is a user's own file, see `scrubjay.notes.sync.plain`.
    """

    memory_id: str
    branch: str = MAIN
    version: int
    path: str
    size: int
    mtime_ns: int
    inode: int
    digest: bytes
    links: tuple[tuple[str, str], ...] = ()
    auto_named: bool = True
    title: str = ""
    category: str = ""
    reviewed_at: datetime | None = None
    created_at: datetime | None = None
    aliases: tuple[str, ...] = ()
    plain: bool = False

    @property
    def file_info(self) -> FileInfo:
        """The file's metadata at that time."""
        return FileInfo(path=self.path, size=self.size, mtime_ns=self.mtime_ns, inode=self.inode)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """A file that could not be synchronized, and why."""

    path: str
    message: str
    found_at: datetime


class Ledger:
    """The ledger of one folder of notes. Its methods block; use it from one thread at a time."""

    def __init__(
        self, connection: apsw.Connection, *, path: Path, is_new: bool, owner: str = "", key: str = ""
    ) -> None:
        self.path = path
        self.owner = owner
        self.key = key
        self.is_new = is_new
        # The ids whose entries were written; a reader that cares clears it.
        self.changed_ids: set[str] = set()
        self._connection = connection

    @classmethod
    def open(cls, path: Path, *, writable: bool = True, owner: str = "", key: str = "") -> Self:
        """Open the ledger in a file, or start a new one if it is unusable; without `writable`, change nothing.

        `owner` identifies the folder and the store; the entries of another owner are discarded. With the `key` of the
        store, the file is encrypted.
        """
        if not writable:
            connection = _connect_reader(path, owner=owner, key=key)
            return cls(connection, path=path, is_new=connection.filename == "", owner=owner, key=key)
        connection, is_new = _connect(path, owner=owner, key=key)
        return cls(connection, path=path, is_new=is_new, owner=owner, key=key)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def erase_removed(self) -> None:
        """Rewrite the file, and empty its log, so that no file of the ledger has a title that was removed."""
        _replaced_file(self.path).unlink(missing_ok=True)
        with _map_errors(self.path):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Run a block in one transaction; blocks may be nested."""
        with _map_errors(self.path), self._connection:
            yield

    # ---- entries ----

    def get(self, memory_id: str) -> LedgerEntry | None:
        """Return the entry of a memory."""
        return next(iter(self._select("memory_id = ?", (memory_id,))), None)

    def get_many(self, memory_ids: Iterable[str]) -> dict[str, LedgerEntry]:
        """Return the entries of several memories by their ids, without those that have none."""
        return {entry.memory_id: entry for entry in self._select_in("memory_id", memory_ids)}

    def at_path(self, path: str) -> LedgerEntry | None:
        """Return the entry of the file at a path."""
        return next(iter(self._select("path = ?", (path,))), None)

    def at_paths(self, paths: Iterable[str]) -> dict[str, LedgerEntry]:
        """Return the entries of several files by their paths, without those that have none."""
        return {entry.path: entry for entry in self._select_in("path", paths)}

    def same_file(self, *, digest: bytes, inode: int) -> list[LedgerEntry]:
        """Return the entries of files with these bytes, or else with this inode: a moved file is among them."""
        return self._select("digest = ?", (digest,)) or self._select("inode = ?", (str(inode),))

    def in_folder(self, folder: str) -> list[LedgerEntry]:
        """Return the entries of the files in a folder and its subfolders."""
        # Every text that begins with `folder/` sorts before `folder0`, in byte order.
        return self._select("path > ? AND path < ? ORDER BY path", (f"{folder}/", f"{folder}0"))

    def all(self) -> Iterator[LedgerEntry]:
        """Yield all entries by path; the ledger may be written meanwhile."""
        last = ""
        while page := self._select(f"path > ? ORDER BY path LIMIT {_PAGE}", (last,)):
            yield from page
            last = page[-1].path

    def count(self) -> int:
        """Return the number of entries."""
        with _map_errors(self.path):
            return _number(self._connection.execute("SELECT count(*) FROM notes").fetchone())

    def put(self, *entries: LedgerEntry) -> None:
        """Write entries. A file shows one note: another entry with the same path is removed."""
        paths = json.dumps([entry.path for entry in entries])
        ids = json.dumps([entry.memory_id for entry in entries])
        self.changed_ids |= {entry.memory_id for entry in entries}
        with self.transaction():
            self._connection.execute(
                """DELETE FROM notes WHERE memory_id IN (
                     SELECT value FROM json_each(?) UNION
                     SELECT n.memory_id FROM json_each(?) p JOIN notes n ON n.path = p.value)""",
                (ids, paths),
            )
            placeholders = ", ".join("?" * 20)
            self._connection.executemany(f"INSERT OR REPLACE INTO notes VALUES({placeholders})", map(_to_row, entries))
            self._connection.execute("DELETE FROM aliases WHERE memory_id IN (SELECT value FROM json_each(?))", (ids,))
            aliases = [(key, entry.memory_id) for entry in entries for alias in entry.aliases if (key := key_of(alias))]
            if aliases:
                self._connection.executemany("INSERT OR REPLACE INTO aliases VALUES(?, ?)", aliases)

    def remove(self, *memory_ids: str) -> None:
        """Remove the entries of memories, with their missing links."""
        self.changed_ids |= set(memory_ids)
        with self.transaction():
            for table in ("notes", "missing_links", "aliases"):
                self._connection.execute(
                    f"DELETE FROM {table} WHERE memory_id IN (SELECT value FROM json_each(?))",
                    (json.dumps(memory_ids),),
                )

    def due(self, *, before: datetime, limit: int) -> list[LedgerEntry]:
        """Return the entries last reviewed, or else created, before a moment; the oldest first."""
        return self._select("due_at < ? ORDER BY due_at, memory_id LIMIT ?", (to_micros(before), limit))

    def by_file_name(self, keys: Iterable[str]) -> dict[str, list[LedgerEntry]]:
        """Return entries by the keys of their file names without `.md`, or of their whole paths."""
        return self._select_by_key(keys, ("file_key", "path_key"))

    def by_title(self, keys: Iterable[str]) -> dict[str, list[LedgerEntry]]:
        """Return entries by the keys of their titles."""
        return self._select_by_key(keys, ("title_key",))

    def by_alias(self, keys: Iterable[str]) -> dict[str, list[LedgerEntry]]:
        """Return entries by the keys of their aliases."""
        with _map_errors(self.path):
            rows = self._connection.execute(
                "SELECT key, memory_id FROM aliases WHERE key IN (SELECT value FROM json_each(?)) ORDER BY memory_id",
                (json.dumps(sorted(set(keys))),),
            ).fetchall()
        entries = self.get_many({str(memory_id) for _, memory_id in rows}) if rows else {}
        by_key: dict[str, list[LedgerEntry]] = {}
        for key, memory_id in rows:
            if memory_id in entries:
                by_key.setdefault(key, []).append(entries[memory_id])
        return by_key

    # ---- the position in the change log ----

    @property
    def cursor(self) -> int:
        """The last change of the store that the files contain; 0 at the beginning."""
        with _map_errors(self.path):
            return _number(self._connection.execute("SELECT value FROM meta WHERE key = 'cursor'").fetchone())

    def set_cursor(self, seq: int) -> None:
        """Record that the files contain all changes up to this one."""
        with self.transaction():
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES('cursor', ?)", (seq,))

    # ---- links to notes that do not exist ----

    def set_missing_links(self, memory_id: str, links: Sequence[Link]) -> None:
        """Replace the links of a memory to notes that do not exist."""
        with self.transaction():
            self._connection.execute("DELETE FROM missing_links WHERE memory_id = ?", (memory_id,))
            self._connection.executemany(
                "INSERT INTO missing_links VALUES(?, ?, ?, ?, ?)",
                [(memory_id, number, key_of(link.target), link.target, link.text) for number, link in enumerate(links)],
            )

    def missing_links_to(self, keys: Iterable[str]) -> list[tuple[str, Link]]:
        """Return the missing links to any of these keys, with the ids of the notes that contain them."""
        return self._select_missing_links("key IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),))

    def missing_links_of(self, memory_id: str) -> list[Link]:
        """Return the missing links of one memory, in order."""
        return [link for _, link in self._select_missing_links("memory_id = ?", (memory_id,))]

    def missing_links(self) -> list[tuple[str, Link]]:
        """Return all missing links, with the ids of the notes that contain them."""
        return self._select_missing_links("1", ())

    # ---- problems ----

    def record_problem(self, path: str, message: str, *, at: datetime) -> None:
        """Record a problem with a file, in place of an earlier one."""
        with self.transaction():
            self._connection.execute("INSERT OR REPLACE INTO problems VALUES(?, ?, ?)", (path, message, to_micros(at)))

    def clear_problems(self, *paths: str) -> None:
        """Remove the problems of files."""
        with self.transaction():
            self._connection.execute(
                "DELETE FROM problems WHERE path IN (SELECT value FROM json_each(?))", (json.dumps(paths),)
            )

    def problems(self) -> list[FileProblem]:
        """Return the present problems, by path."""
        with _map_errors(self.path):
            rows = self._connection.execute("SELECT path, message, found_at FROM problems ORDER BY path").fetchall()
        return [FileProblem(path=path, message=message, found_at=from_micros(micros)) for path, message, micros in rows]

    def _select(self, where: str, values: tuple[_Value, ...]) -> list[LedgerEntry]:
        with _map_errors(self.path):
            rows = self._connection.execute(f"SELECT {_COLUMNS} FROM notes WHERE {where}", values).fetchall()
        return [_from_row(row) for row in rows]

    def _select_in(self, column: str, values: Iterable[str]) -> list[LedgerEntry]:
        return self._select(f"{column} IN (SELECT value FROM json_each(?))", (json.dumps(list(values)),))

    def _select_by_key(self, keys: Iterable[str], columns: tuple[str, ...]) -> dict[str, list[LedgerEntry]]:
        parameter = json.dumps(sorted(set(keys)))
        by_key: dict[str, dict[str, LedgerEntry]] = {}
        for column in columns:
            with _map_errors(self.path):
                rows = self._connection.execute(
                    f"""SELECT {column}, {_COLUMNS} FROM notes
                        WHERE {column} IN (SELECT value FROM json_each(?)) ORDER BY path""",
                    (parameter,),
                ).fetchall()
            for key, *row in rows:
                entry = _from_row(tuple(row))
                by_key.setdefault(key, {})[entry.memory_id] = entry
        return {key: list(entries.values()) for key, entries in by_key.items()}

    def _select_missing_links(self, where: str, values: tuple[_Value, ...]) -> list[tuple[str, Link]]:
        with _map_errors(self.path):
            rows = self._connection.execute(
                f"SELECT memory_id, target, text FROM missing_links WHERE {where} ORDER BY memory_id, position", values
            ).fetchall()
        return [(memory_id, Link(target=target, text=text)) for memory_id, target, text in rows]


def _to_row(entry: LedgerEntry) -> tuple[_Value, ...]:
    due = entry.reviewed_at or entry.created_at
    return (
        entry.memory_id, entry.branch, entry.version, entry.path, entry.size, entry.mtime_ns,
        # The inodes of some file systems have more bits than SQLite's integers.
        str(entry.inode),
        entry.digest, json.dumps(entry.links, ensure_ascii=False), entry.auto_named, entry.title, entry.category,
        _to_micros(entry.reviewed_at), _to_micros(entry.created_at), json.dumps(entry.aliases, ensure_ascii=False),
        entry.plain, _to_micros(due), key_of(PurePosixPath(entry.path).name), key_of(entry.path), key_of(entry.title),
    )  # fmt: skip


def _from_row(row: _Row) -> LedgerEntry:
    (
        memory_id, branch, version, path, size, mtime_ns, inode, digest, links, auto_named, title, category,
        reviewed_at, created_at, aliases, plain,
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
        links=tuple((linked_id, text) for linked_id, text in json.loads(links)),
        auto_named=bool(auto_named),
        title=title,
        category=category,
        reviewed_at=_from_micros(reviewed_at),
        created_at=_from_micros(created_at),
        aliases=tuple(json.loads(aliases)),
        plain=bool(plain),
    )


def _number(row: tuple[int, ...] | None) -> int:
    return 0 if row is None else int(row[0])


def _to_micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _from_micros(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


class _UnusableFile(Exception):
    """A file that is not a ledger of this version."""


def _connect(path: Path, *, owner: str, key: str) -> tuple[apsw.Connection, bool]:
    """Open the ledger for writing, and return whether it is new; set aside an unusable file."""
    try:
        with _map_errors(path):
            connection, is_new = _open_or_recreate(path, key=key)
            if not owner or _has_owner(connection, owner):
                return connection, is_new
            if not is_new:
                _log.info("the ledger of notes %s belongs to another folder or store, and is emptied", path)
            with connection:
                for table in ("notes", "aliases", "missing_links", "problems", "meta"):
                    connection.execute(f"DELETE FROM {table}")
                connection.execute("INSERT INTO meta VALUES('owner', ?)", (owner,))
            return connection, True
    except OSError as error:
        raise _unavailable(path, f"it cannot be created ({error.strerror})", "read_only", _PATH_HINT) from error


def _connect_reader(path: Path, *, owner: str, key: str) -> apsw.Connection:
    """Open the ledger for reading; return an empty one in memory if the file is unusable."""
    with _map_errors(path):
        connection = None
        with suppress(apsw.CantOpenError, apsw.NotADBError, apsw.CorruptError):
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
            if key:
                connection.pragma("key", key)
            if _is_ledger(connection) and _is_intact(connection) and (not owner or _has_owner(connection, owner)):
                return connection
        if connection is not None:
            connection.close()
        empty = apsw.Connection(":memory:")
        empty.execute(_TABLES)
        return empty


@contextmanager
def _map_errors(path: Path) -> Generator[None]:
    """Raise every driver error as VaultUnavailable."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        problem = "another process has been writing to it for too long"
        raise _unavailable(path, problem, "busy", "Try again") from error
    except apsw.FullError as error:
        raise _unavailable(path, "the disk is full", "full", "Free some space and try again") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        hint = "Remove the file: it is rebuilt from the notes and the store"
        raise _unavailable(path, f"it is damaged ({error})", "damaged", hint) from error
    except apsw.Error as error:
        raise _unavailable(path, f"it cannot be opened or written ({error})", "read_only", _PATH_HINT) from error


def _open_or_recreate(path: Path, *, key: str) -> tuple[apsw.Connection, bool]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_new = not path.exists() or path.stat().st_size == 0
    try:
        return _open_file(path, key=key), is_new
    except (apsw.NotADBError, apsw.CorruptError, _UnusableFile) as error:
        _log.warning("the ledger of notes %s is set aside and replaced by a new one: %s", path, error)
    # Only the last file is kept; the write-ahead log of a damaged file would be applied to the new one.
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    if key:
        # A ledger from before the key would reveal the titles of an encrypted store.
        path.unlink()
    else:
        path.replace(_replaced_file(path))
    return _open_file(path, key=key), True


def _replaced_file(path: Path) -> Path:
    return path.with_name(path.name + _REPLACED_SUFFIX)


def _open_file(path: Path, *, key: str) -> apsw.Connection:
    if path.is_file() and 0 < path.stat().st_size < _MIN_FILE_BYTES:
        raise _UnusableFile("it is truncated")
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
        if key:
            connection.pragma("key", key)
        _set_up(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: apsw.Connection) -> None:
    is_empty = connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None
    if not is_empty and not _is_ledger(connection):
        raise _UnusableFile("it belongs to another program or version")
    connection.pragma("journal_mode", "wal")
    # A crash loses nothing; a power failure may lose the last rows, which the next scan restores.
    for name, value in (("synchronous", "normal"), ("temp_store", "memory"), ("trusted_schema", "off")):
        connection.pragma(name, value)
    if is_empty:
        with connection:
            connection.execute(_TABLES)
            connection.pragma("application_id", _APPLICATION_ID)
            connection.pragma("user_version", _SCHEMA)
    elif not _is_intact(connection):
        raise _UnusableFile("it is damaged")


def _is_ledger(connection: apsw.Connection) -> bool:
    return (connection.pragma("application_id"), connection.pragma("user_version")) == (_APPLICATION_ID, _SCHEMA)


def _has_owner(connection: apsw.Connection, owner: str) -> bool:
    return connection.execute("SELECT value FROM meta WHERE key = 'owner'").fetchone() == (owner,)


def _is_intact(connection: apsw.Connection) -> bool:
    return connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)


def _unavailable(path: Path, problem: str, reason: str, hint: str) -> VaultUnavailable:
    return VaultUnavailable(f"the ledger of notes {path}: {problem}", hint=hint, path=str(path), reason=reason)
