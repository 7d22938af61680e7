"""Statistics, checks and backups."""

from pathlib import Path

import apsw

from scrubjay.errors import BodyDamaged, InvalidInput, StoreDamaged
from scrubjay.model.identity import new_id
from scrubjay.model.memory import State
from scrubjay.ports import Progress, StoreStatistics
from scrubjay.storage.codec import Encoding
from scrubjay.storage.rows import STATES
from scrubjay.storage.sqlite.bodies import MEMORY_COLUMNS, Bodies
from scrubjay.storage.sqlite.connection import connect, make_private, mapped_errors
from scrubjay.storage.sqlite.rows import lexicon_number, space_number
from scrubjay.storage.sqlite.schema import migrate
from scrubjay.storage.sqlite.sql_files import read_statements

_SQL = read_statements("bodies.sql")
_EVERY_VERSION = "versions v JOIN memories m ON m.no = v.memory_no JOIN spaces s ON s.no = m.space_no"
_PAGES_PER_STEP = 500
_MAX_PROBLEMS = 50


def statistics(connection: apsw.Connection, space: str, *, path: Path, encrypted: bool) -> StoreStatistics:
    """Return the counts of one space and the sizes of the whole file."""
    space_no = space_number(connection, space) or 0
    states = connection.execute("SELECT state, count(*) FROM memories WHERE space_no = ? GROUP BY state", (space_no,))
    memories = {STATES[int(number)].value: int(count) for number, count in states}
    versions = connection.execute("SELECT body_count FROM spaces WHERE no = ?", (space_no,)).fetchone()
    relations = connection.execute("SELECT count(*) FROM relations WHERE space_no = ?", (space_no,)).fetchall()[0][0]
    bodies = connection.execute(_SQL["sizes"], (int(Encoding.RAW), int(Encoding.FLAGGED))).fetchall()[0]
    vectors = connection.execute(
        """SELECT m.name, count(*) FROM all_vectors v JOIN models m ON m.no = v.model_no
           WHERE v.space_no = ? GROUP BY m.name""",
        (space_no,),
    )
    facets = connection.execute(
        "SELECT facet, memory_count FROM facets WHERE lexicon_no = ? ORDER BY memory_count DESC LIMIT 1000",
        (lexicon_number(space_no, State.LIVE),),
    )
    return StoreStatistics(
        memories=memories,
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


def check(connection: apsw.Connection, *, deep: bool, bodies: Bodies) -> list[str]:
    """Return the problems of the file; with `deep`, read every body."""
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
        problems += _damaged_bodies(connection, bodies)
    return problems


def backup(connection: apsw.Connection, target: Path, *, key: str, progress: Progress | None) -> None:
    """Copy the database page by page while writers go on, then check the copy."""
    if target.exists() or target.is_symlink():
        raise InvalidInput(f"{target} exists already", hint="Choose another name", path=str(target))
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        make_private(partial)
        with mapped_errors(target):
            problem = _copy(connection, partial, key=key, progress=progress)
        if problem != "ok":
            raise StoreDamaged(f"the backup would be damaged: {problem}", hint="Run `scrubjay doctor --deep`")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def verify_backup(path: Path, *, key: str) -> int:
    """Read a whole backup and return how many memories it has; raise an error if it is damaged or cannot be read."""
    if path.stat().st_size == 0:
        raise StoreDamaged("the backup is empty", hint="Use another backup", path=str(path))
    connection = connect(path, key=key)
    try:
        with mapped_errors(path):
            migrate(connection, path=path)
            problems = check(connection, deep=True, bodies=Bodies())
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


def _details(connection: apsw.Connection, path: Path, *, encrypted: bool) -> dict[str, str | int | float | bool]:
    wal = path.with_name(path.name + "-wal")
    return {
        "backend": "sqlite",
        "file": str(path),
        "bytes": path.stat().st_size + (wal.stat().st_size if wal.exists() else 0),
        "free_bytes": int(connection.pragma("freelist_count")) * int(connection.pragma("page_size")),
        "schema": int(connection.pragma("user_version")),
        "encrypted": encrypted,
        "sqlite": apsw.sqlite_lib_version(),
    }


def _damaged_bodies(connection: apsw.Connection, bodies: Bodies) -> list[str]:
    problems: list[str] = []
    columns = MEMORY_COLUMNS.replace("m.version", "v.number")
    # Newest first, since older ones are stored as differences from newer ones.
    rows = connection.execute(f"SELECT {columns} FROM {_EVERY_VERSION} ORDER BY v.memory_no DESC, v.number DESC")
    for row in rows:
        try:
            bodies.read_memory(connection, row)
        except BodyDamaged as error:
            problems.append(str(error))
            if len(problems) == _MAX_PROBLEMS:
                break
    return problems
