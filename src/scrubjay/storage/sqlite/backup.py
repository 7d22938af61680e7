"""Backups: a copy of the database file, made page by page while writers go on."""

from pathlib import Path

import apsw

from scrubjay.errors import InvalidInput, StoreDamaged
from scrubjay.model.identity import new_id
from scrubjay.ports import Progress
from scrubjay.storage.sqlite.bodies import SqliteBodies
from scrubjay.storage.sqlite.connection import connect, make_private, mapped_errors
from scrubjay.storage.sqlite.schema import migrate
from scrubjay.storage.sqlite.upkeep import check

_PAGES_PER_STEP = 500


def write_backup(source: Path, target: Path, *, key: str, progress: Progress | None) -> None:
    """Copy a database to a new file, then check the copy."""
    if target.exists() or target.is_symlink():
        raise InvalidInput(f"{target} exists already", hint="Choose another name", path=str(target))
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    connection = connect(source, key=key)
    try:
        make_private(partial)
        with mapped_errors(target):
            problem = _copy(connection, partial, key=key, progress=progress)
        if problem != "ok":
            raise StoreDamaged(f"the backup would be damaged: {problem}", hint="Run `scrubjay doctor --deep`")
        partial.replace(target)
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
            problems = check(connection, deep=True, bodies=SqliteBodies())
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


def _copy(connection: apsw.Connection, target: Path, *, key: str, progress: Progress | None) -> str:
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
        return str(copy.execute("PRAGMA integrity_check(1)").fetchall()[0][0])
    finally:
        copy.close()
