"""Harm done to a store behind its back."""

from pathlib import Path

import apsw


def scribble(path: Path, statement: str, *values: str | int | bytes) -> int:
    """Change rows as no Scrubjay would; returns how many."""
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
    """Change a column while its index is out of the way."""
    index = "FROM sqlite_schema WHERE name = 'memories_recent'"
    _run(path, f"CREATE TABLE kept AS SELECT * {index}", "PRAGMA writable_schema = on", f"DELETE {index}")
    _run(path, "UPDATE memories SET updated_at = 5")
    _run(path, "PRAGMA writable_schema = on", "INSERT INTO sqlite_schema SELECT * FROM kept")


def make_old(path: Path) -> None:
    """Take away what the migration to threads, and those after it, have brought."""
    lengthen_past(path)
    _run(
        path,
        *(f"DROP INDEX {name}" for name in ("passages_thread", "memories_shape")),
        *(f"ALTER TABLE passages DROP COLUMN {name}" for name in ("thread", "who", "asks")),
        *(f"ALTER TABLE memories DROP COLUMN {name}" for name in ("tier", "relevance", "confirmed", "shape")),
        "DROP TABLE grams",
        "DROP TABLE papers",
        "DELETE FROM migrations WHERE name IN ('threads', 'papers', 'lines of versions', 'paper trails')",
        "PRAGMA user_version = 3",
    )


def lengthen_past(path: Path) -> None:
    """Have the log tell of agents and memories by name and id in every entry, as before the last migration."""
    _run(
        path,
        *_LONG_PAST,
        "DELETE FROM migrations WHERE name IN ('short past', 'lineages')",
        "PRAGMA user_version = 7",
    )


_LONG_PAST = (
    *(f"DROP INDEX {name}" for name in ("runs_id", "runs_agent", "changes_memory")),
    "ALTER TABLE runs ADD COLUMN agent TEXT NOT NULL DEFAULT ''",
    "UPDATE runs SET agent = (SELECT name FROM agents WHERE no = agent_no)",
    "ALTER TABLE runs DROP COLUMN agent_no",
    "CREATE INDEX runs_id ON runs(space_no, id, agent)",
    "CREATE INDEX runs_agent ON runs(space_no, agent, last_seq)",
    "ALTER TABLE changes ADD COLUMN memory_id BLOB NOT NULL DEFAULT x''",
    """UPDATE changes SET memory_id = coalesce((SELECT m.id FROM memories m WHERE m.no = changes.memory_no),
         (SELECT g.id FROM gone g WHERE g.memory_no = changes.memory_no))""",
    "CREATE INDEX changes_memory ON changes(memory_no)",
    "DROP TABLE agents",
    "DROP TABLE gone",
    "DROP INDEX dictionaries_sound",
    "DROP VIEW shelf",
    "INSERT INTO vectors(space_no, model_no, hash, vector) SELECT space_no, model_no, hash, vector FROM faded",
    "DROP TABLE faded",
)


def _run(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()
