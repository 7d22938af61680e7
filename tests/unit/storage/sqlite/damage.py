"""Changes to the file of a store that the store itself would not make: damage, and older formats."""

from pathlib import Path

import apsw


def scribble(path: Path, statement: str, *values: str | int | bytes) -> int:
    """Run a statement on the file; return how many rows it changed."""
    connection = apsw.Connection(str(path))
    try:
        connection.execute(statement, values)
        return connection.changes()
    finally:
        connection.close()


def spoil_body(path: Path, memory_id: str, version: int) -> None:
    """Damage one version of a memory."""
    changed = scribble(
        path,
        """UPDATE versions SET body = zeroblob(40) WHERE number = ? AND memory_no =
             (SELECT no FROM memories WHERE lower(hex(id)) = ?)""",
        version,
        memory_id.replace("-", ""),
    )
    assert changed == 1


def spoil_pages(path: Path) -> None:
    """Overwrite two pages in the middle of the file."""
    whole = path.read_bytes()
    middle = len(whole) // 2 // 4096 * 4096
    path.write_bytes(whole[:middle] + b"\xa5" * 8192 + whole[middle + 8192 :])


def spoil_index(path: Path) -> None:
    """Change a column without its index."""
    index = "FROM sqlite_schema WHERE name = 'memories_recent'"
    _run(path, f"CREATE TABLE kept AS SELECT * {index}", "PRAGMA writable_schema = on", f"DELETE {index}")
    _run(path, "UPDATE memories SET updated_at = 5")
    _run(path, "PRAGMA writable_schema = on", "INSERT INTO sqlite_schema SELECT * FROM kept")


def make_outdated(path: Path) -> None:
    """Give all passages the first format, which had neither sessions nor speakers."""
    _run(
        path,
        "UPDATE passages SET session_key = NULL, speaker = '', question = 0",
        "UPDATE memories SET tier = 0, relevance = 1, last_confirmed = NULL, passage_format = 1",
    )


def write_old_store(path: Path, *, schema: int, key: str = "") -> None:
    """Write a file as an earlier version left it: with its markers, and some of its tables."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    connection = apsw.Connection(str(path))
    if key:
        connection.pragma("key", key)
    connection.pragma("journal_mode", "wal")
    connection.execute(_OLD_TABLES)
    connection.pragma("application_id", 0x53_4A_41_59)
    connection.pragma("user_version", schema)
    connection.close()


_OLD_TABLES = """
CREATE TABLE migrations(name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL);
CREATE TABLE meta(key TEXT PRIMARY KEY, value);
CREATE TABLE spaces(no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bodies INTEGER NOT NULL DEFAULT 0);
CREATE TABLE memories(no INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL, name TEXT NOT NULL, title_key INTEGER);
CREATE TABLE papers(space_no INTEGER, drawer TEXT, key TEXT, value TEXT, PRIMARY KEY(space_no, drawer, key));
INSERT INTO migrations VALUES('first tables', 0);
INSERT INTO meta VALUES('store_id', '0190b2a7-0000-7000-8000-000000000000');
INSERT INTO memories(id, name, title_key) VALUES(x'0190b2a7000070008000000000000001', 'tea', 0);
"""


def _run(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()
