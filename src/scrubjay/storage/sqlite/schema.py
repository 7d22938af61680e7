"""The schema of the file, as an ordered list of named migrations; the first creates all tables."""

import time
from collections.abc import Callable
from pathlib import Path

import apsw

from scrubjay.errors import StoreDamaged, StoreError, StoreTooNew
from scrubjay.model.identity import new_id
from scrubjay.storage.sql_files import read_sql

Migration = Callable[[apsw.Connection], None]
# The schemas below this number date from before the first release, and no code reads them.
FIRST_SCHEMA = 10
_FIRST_TABLES = read_sql("sqlite/schema")
_APPLICATION_ID = 0x53_4A_41_59  # "SJAY": distinguishes our files from other SQLite databases
# One statement, so that a migration by another process does not come between.
_STATE = """
SELECT application_id, user_version, EXISTS(SELECT 1 FROM sqlite_schema)
FROM pragma_application_id, pragma_user_version
"""


def migrate(connection: apsw.Connection, *, path: Path) -> None:
    """Bring the file to the newest schema; several processes may try at once."""
    if applied(connection, path) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for name, step in MIGRATIONS[applied(connection, path) :]:
            step(connection)
            connection.execute("INSERT INTO migrations VALUES(?, ?)", (name, time.time_ns() // 1000))
        connection.pragma("application_id", _APPLICATION_ID)
        connection.pragma("user_version", newest_schema())
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def newest_schema() -> int:
    """Return the number of the newest schema, which a file has in `user_version`."""
    return FIRST_SCHEMA - 1 + len(MIGRATIONS)


def applied(connection: apsw.Connection, path: Path) -> int:
    """Return how many migrations a file has had; raise if this version of Scrubjay cannot use the file."""
    application_id, schema, has_tables = connection.execute(_STATE).fetchall()[0]
    if application_id not in (0, _APPLICATION_ID) or (application_id == 0 and has_tables):
        raise StoreDamaged(
            f"{path} is a database of another program", hint="Choose another folder with --data", path=str(path)
        )
    if schema > newest_schema():
        raise StoreTooNew(
            f"{path} was written by a newer Scrubjay (schema {schema}, this one knows {newest_schema()})",
            hint="Update Scrubjay; the file was not changed",
            path=str(path),
            schema=schema,
        )
    if schema == 0:
        if not has_tables:
            return 0
        raise StoreDamaged(
            f"{path} is incomplete: it has tables, but no schema version",
            hint="Restore a backup with `scrubjay backup restore FILE`",
            path=str(path),
        )
    if schema < FIRST_SCHEMA:
        raise StoreError(
            f"{path} has schema {schema} of an earlier version; this Scrubjay reads schema {FIRST_SCHEMA} and newer",
            hint="Export each space with the version that wrote the file (`scrubjay export FILE`), and import it into "
            "a new data folder with this one (`scrubjay import FILE`); the file was not changed",
            path=str(path),
            schema=schema,
        )
    return schema - FIRST_SCHEMA + 1


def _create_tables(connection: apsw.Connection) -> None:
    connection.execute(_FIRST_TABLES)
    connection.execute("INSERT INTO meta VALUES('store_id', ?)", (new_id(),))


def _add_token_limits(connection: apsw.Connection) -> None:
    for column in ("mcp_only", "trusted_imports"):
        connection.execute(f"ALTER TABLE tokens ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")


def _find_passages_before_6(connection: apsw.Connection) -> None:
    """Find the passages without the stems of their language, and without the date and the speaker in their text."""
    connection.execute("DROP INDEX memories_passage_format")
    connection.execute("CREATE INDEX memories_passage_format ON memories(no) WHERE passage_format < 6")


def _allow_compact_bodies(_: apsw.Connection) -> None:
    """Change no table: a Scrubjay that cannot read such bodies refuses the file by its number."""


# A later migration is added at the end.
MIGRATIONS: list[tuple[str, Migration]] = [
    ("first schema", _create_tables),
    ("tokens for MCP alone and for trusted imports", _add_token_limits),
    ("passages of format 4", _find_passages_before_6),
    ("compact bodies", _allow_compact_bodies),
]
