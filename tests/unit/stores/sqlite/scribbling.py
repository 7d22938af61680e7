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
