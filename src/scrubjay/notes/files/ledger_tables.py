"""The ledger's file: opened if it is sound and ours, else set aside and begun anew, for it can always be rebuilt."""

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from scrubjay.errors import VaultUnavailable

__all__ = ["connect", "connect_reader", "mapped"]

_log = logging.getLogger(__name__)
_APPLICATION = 0x53_4A_4C_47  # "SJLG"
_SCHEMA = 2
_PATIENCE_MS = 30_000
_ASIDE = ".set-aside"
_ELSEWHERE = "Check the folder's permissions, or choose another with --index_path"
# SQLite would take what is shorter for an empty file, and write over it.
_SMALLEST_PAGE = 512

# `stem`, `place` and `titled` are keys, as links are compared; `due_at` is when it was reviewed, else made.
_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE agreed(
  memory_id TEXT PRIMARY KEY,
  branch TEXT NOT NULL,
  version INTEGER NOT NULL,
  path TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  inode TEXT NOT NULL,
  digest BLOB NOT NULL,
  links TEXT NOT NULL,
  named_by_us INTEGER NOT NULL,
  title TEXT NOT NULL,
  category TEXT NOT NULL,
  reviewed_at INTEGER,
  created_at INTEGER,
  aliases TEXT NOT NULL,
  due_at INTEGER,
  stem TEXT NOT NULL,
  place TEXT NOT NULL,
  titled TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX agreed_stem ON agreed(stem);
CREATE INDEX agreed_place ON agreed(place);
CREATE INDEX agreed_titled ON agreed(titled);
CREATE INDEX agreed_due ON agreed(due_at, memory_id);
CREATE TABLE aliases(key TEXT NOT NULL, memory_id TEXT NOT NULL, PRIMARY KEY(key, memory_id)) WITHOUT ROWID;
CREATE INDEX aliases_memory ON aliases(memory_id);
CREATE TABLE wants(
  memory_id TEXT NOT NULL, place INTEGER NOT NULL, key TEXT NOT NULL, target TEXT NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY(memory_id, place)
) WITHOUT ROWID;
CREATE INDEX wants_key ON wants(key);
CREATE TABLE problems(path TEXT PRIMARY KEY, what TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
"""


def connect(path: Path, *, of: str = "") -> tuple[apsw.Connection, bool]:
    """A connection for whoever writes, and whether the ledger is new; what is there and unusable is set aside."""
    try:
        with mapped(path):
            connection, is_new = _sound(path)
            if not of or _is_of(connection, of):
                return connection, is_new
            if not is_new:
                _log.info("the ledger of notes %s is another folder's, or another store's, and begun anew", path)
            _begin(connection, of)
            return connection, True
    except OSError as error:
        raise _unusable(path, f"it cannot be made ({error.strerror})", "read_only", _ELSEWHERE) from error


def connect_reader(path: Path, *, of: str = "") -> apsw.Connection:
    """A connection for whoever only reads; an empty one in memory where there is no sound ledger."""
    with mapped(path):
        connection = None
        with suppress(apsw.CantOpenError, apsw.NotADBError, apsw.CorruptError):
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            connection.set_busy_timeout(_PATIENCE_MS)
            if _is_ours(connection) and _is_sound(connection) and (not of or _is_of(connection, of)):
                return connection
        if connection is not None:
            connection.close()
        empty = apsw.Connection(":memory:")
        empty.execute(_TABLES)
        return empty


@contextmanager
def mapped(path: Path) -> Generator[None]:
    """Every driver error leaves as one of ours."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise _unusable(path, "another process has been writing to it for too long", "busy", "Try again") from error
    except apsw.FullError as error:
        raise _unusable(path, "no room is left", "full", "Free some space and try again") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        hint = "Remove the file: it is made anew from the notes and the store"
        raise _unusable(path, f"it is damaged ({error})", "damaged", hint) from error
    except apsw.Error as error:
        raise _unusable(path, f"it cannot be opened or written ({error})", "read_only", _ELSEWHERE) from error


class _Foreign(Exception):
    """A database that is none of ours, or of another version."""


def _sound(path: Path) -> tuple[apsw.Connection, bool]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_new = not path.exists() or path.stat().st_size == 0
    try:
        return _opened(path), is_new
    except (apsw.NotADBError, apsw.CorruptError, _Foreign) as error:
        _log.warning("the ledger of notes %s is set aside and begun anew: %s", path, error)
    _set_aside(path)
    return _opened(path), True


def _opened(path: Path) -> apsw.Connection:
    if path.is_file() and 0 < path.stat().st_size < _SMALLEST_PAGE:
        raise _Foreign("it is cut short")
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(_PATIENCE_MS)
        _set_up(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: apsw.Connection) -> None:
    is_empty = connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None
    if not is_empty and not _is_ours(connection):
        raise _Foreign("it is of another program, or of another version")
    connection.pragma("journal_mode", "wal")
    # A crash loses nothing; a power failure may take the last rows, which are found out again.
    for name, value in (("synchronous", "normal"), ("temp_store", "memory"), ("trusted_schema", "off")):
        connection.pragma(name, value)
    if is_empty:
        with connection:
            connection.execute(_TABLES)
            connection.pragma("application_id", _APPLICATION)
            connection.pragma("user_version", _SCHEMA)
    elif not _is_sound(connection):
        raise _Foreign("it is damaged")


def _is_ours(connection: apsw.Connection) -> bool:
    return (connection.pragma("application_id"), connection.pragma("user_version")) == (_APPLICATION, _SCHEMA)


def _is_of(connection: apsw.Connection, of: str) -> bool:
    return connection.execute("SELECT value FROM meta WHERE key = 'of'").fetchone() == (of,)


def _begin(connection: apsw.Connection, of: str) -> None:
    with connection:
        for table in ("agreed", "aliases", "wants", "problems", "meta"):
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours
        connection.execute("INSERT INTO meta VALUES('of', ?)", (of,))


def _is_sound(connection: apsw.Connection) -> bool:
    return connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)


def _set_aside(path: Path) -> None:
    # Only the last is kept; what belongs to a damaged file would be played into the new one.
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    path.replace(path.with_name(path.name + _ASIDE))


def _unusable(path: Path, why: str, reason: str, hint: str) -> VaultUnavailable:
    return VaultUnavailable(f"the ledger of notes {path}: {why}", hint=hint, path=str(path), reason=reason)
