"""Backups: a copy of the database file, made page by page while writers go on."""

import json
from pathlib import Path

import apsw

from scrubjay.errors import InvalidInput, StoreDamaged
from scrubjay.model.identity import new_id
from scrubjay.ports import DamagedBody, Progress
from scrubjay.storage.body_cache import damaged_backup
from scrubjay.storage.sqlite.bodies import SqliteBodies
from scrubjay.storage.sqlite.connection import connect, make_private, mapped_errors
from scrubjay.storage.sqlite.schema import migrate
from scrubjay.storage.sqlite.upkeep import check, damaged_bodies

_PAGES_PER_STEP = 500
# The key of the damaged bodies that a backup was made with.
_DAMAGED = "damaged_bodies"


def write_backup(source: Path, target: Path, *, key: str, progress: Progress | None) -> None:
    """Copy a database to a new file, then read the copy; raises BodyDamaged for a copy with damaged bodies."""
    if target.exists() or target.is_symlink():
        raise InvalidInput(f"{target} exists already", hint="Choose another name", path=str(target))
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    connection = connect(source, key=key)
    try:
        make_private(partial)
        with mapped_errors(target):
            damaged = _copy(connection, partial, key=key, progress=progress)
        partial.replace(target)
        if damaged:
            raise damaged_backup(target, damaged)
    finally:
        connection.close()
        partial.unlink(missing_ok=True)


def verify_backup(path: Path, *, key: str) -> int:
    """Read a whole backup and return how many memories it has; raise an error if it is damaged or cannot be read."""
    if path.stat().st_size == 0:
        raise StoreDamaged("the backup is empty", hint="Use another backup", path=str(path))
    connection = connect(path, key=key)
    try:
        with mapped_errors(path):
            migrate(connection, path=path)
            expected = _known_damage(connection)
            problems = check(connection, deep=True, bodies=SqliteBodies(), expected=expected)
            if problems:
                raise StoreDamaged(f"the backup is damaged: {problems[0]}", hint="Use another backup", path=str(path))
            return int(connection.execute("SELECT count(*) FROM memories").fetchall()[0][0])
    finally:
        connection.close()


def new_store_id(path: Path, *, key: str) -> None:
    """Give a restored store an id of its own, so that no index of the original store is used for it."""
    connection = connect(path, key=key)
    try:
        with mapped_errors(path):
            connection.execute("UPDATE meta SET value = ? WHERE key = 'store_id'", (new_id(),))
            connection.pragma("journal_mode", "delete")
    finally:
        connection.close()


def _known_damage(connection: apsw.Connection) -> set[str]:
    """Return the damage that the store had when the backup was made: the file has not suffered since."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_DAMAGED,)).fetchone()
    return set(json.loads(str(row[0]))) if row else set()


def _copy(connection: apsw.Connection, target: Path, *, key: str, progress: Progress | None) -> list[DamagedBody]:
    """Copy a database, and return the damaged bodies of the copy; raises StoreDamaged if it has other problems."""
    copy = apsw.Connection(str(target))
    try:
        if key:
            copy.pragma("key", key)
        # A transaction fixes the state to copy: otherwise SQLite starts the copy again after each write.
        connection.execute("BEGIN; SELECT count(*) FROM meta")
        with copy.backup("main", connection, "main") as job:
            while not job.done:
                job.step(_PAGES_PER_STEP)
                if progress is not None:
                    progress(job.page_count - job.remaining, job.page_count)
        # A backup is one file, without a log beside it.
        copy.pragma("journal_mode", "delete")
        ((problem,),) = copy.execute("PRAGMA integrity_check(1)").fetchall()
        if problem != "ok":
            raise StoreDamaged(f"the backup would be damaged: {problem}", hint="Run `scrubjay doctor --deep`")
        damaged = list(damaged_bodies(copy, SqliteBodies()))
        copy.execute("DELETE FROM meta WHERE key = ?", (_DAMAGED,))
        if damaged:
            copy.execute("INSERT INTO meta VALUES(?, ?)", (_DAMAGED, json.dumps([str(body) for body in damaged])))
        return damaged
    finally:
        copy.close()
