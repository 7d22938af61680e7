"""Documents by collection and key. The functions that write run on the writer's connection."""

from collections.abc import Sequence
from datetime import datetime

import apsw

from scrubjay.model.moment import to_micros
from scrubjay.model.paper import Paper
from scrubjay.stores.paper_rows import paper_of, require_own, stale_paper, subjects_of, value_text
from scrubjay.stores.rows import id_bytes, micros_of
from scrubjay.stores.sqlite.rows import space_number
from scrubjay.stores.sqlite.sql_files import read_statements

_SQL = read_statements("documents.sql")
_COLUMNS = "s.name, d.collection, d.key, d.value, d.version, d.updated_at, d.due_at"
_TABLES = "documents d JOIN spaces s ON s.no = d.space_no"
_END_OF_TIME = 1 << 62
# The columns that name a memory, with their indexes: without the name of an index, SQLite would scan the space.
_MEMORY_COLUMNS = (("memory_id", "documents_memory"), ("other_memory_id", "documents_other_memory"))


def paper(connection: apsw.Connection, space: str, drawer: str, key: str) -> Paper | None:
    """Return one document."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE s.name = ? AND d.collection = ? AND d.key = ?", (space, drawer, key)
    ).fetchone()
    return None if row is None else paper_of(row)


def papers(connection: apsw.Connection, space: str, drawer: str, *, after: str, limit: int) -> list[Paper]:
    """Return documents of a collection in the order of their keys."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE s.name = ? AND d.collection = ? AND d.key > ? ORDER BY d.key LIMIT ?",
        (space, drawer, after, limit),
    )
    return [paper_of(row) for row in rows]


def latest_papers(
    connection: apsw.Connection, space: str, drawer: str, *, before: tuple[datetime, str] | None, limit: int
) -> list[Paper]:
    """Return documents of a collection, the latest first."""
    updated_at, key = (to_micros(before[0]), before[1]) if before else (_END_OF_TIME, "")
    rows = connection.execute(
        f"""SELECT {_COLUMNS} FROM documents d INDEXED BY documents_latest JOIN spaces s ON s.no = d.space_no
            WHERE d.space_no = ? AND d.collection = ? AND (d.updated_at, d.key) < (?, ?)
            ORDER BY d.updated_at DESC, d.key DESC LIMIT ?""",
        (space_number(connection, space), drawer, updated_at, key, limit),
    )
    return [paper_of(row) for row in rows]


def papers_about(
    connection: apsw.Connection, space: str, drawer: str, ids: Sequence[str], *, limit: int
) -> list[Paper]:
    """Return the documents of a collection that are about any of some memories, the latest first."""
    space_no = space_number(connection, space)
    documents: dict[str, Paper] = {}
    for raw_id in map(id_bytes, dict.fromkeys(ids)):
        for column, index in _MEMORY_COLUMNS:
            rows = connection.execute(
                f"""SELECT {_COLUMNS} FROM documents d INDEXED BY {index} JOIN spaces s ON s.no = d.space_no
                    WHERE d.space_no = ? AND d.{column} = ? AND d.collection = ?""",
                (space_no, raw_id, drawer),
            )
            documents |= {document.key: document for document in map(paper_of, rows)}
    return sorted(documents.values(), key=lambda document: (document.at, document.key), reverse=True)[:limit]


def due_papers(connection: apsw.Connection, drawer: str, *, now: datetime, limit: int) -> list[Paper]:
    """Return the documents of a collection in all spaces that are due, the longest overdue first."""
    rows = connection.execute(
        f"""SELECT {_COLUMNS} FROM documents d INDEXED BY documents_due JOIN spaces s ON s.no = d.space_no
            WHERE d.collection = ? AND d.due_at <= ? ORDER BY d.due_at, d.space_no, d.key LIMIT ?""",
        (drawer, to_micros(now), limit),
    )
    return [paper_of(row) for row in rows]


def all_papers(connection: apsw.Connection, space: str, *, after: tuple[str, str], limit: int) -> list[Paper]:
    """Return documents of all collections of a space, by collection and key."""
    rows = connection.execute(
        f"""SELECT {_COLUMNS} FROM {_TABLES} WHERE d.space_no = ? AND (d.collection, d.key) > (?, ?)
            ORDER BY d.collection, d.key LIMIT ?""",
        (space_number(connection, space), *after, limit),
    )
    return [paper_of(row) for row in rows]


def file_all(connection: apsw.Connection, papers: Sequence[Paper], *, space: str, space_no: int) -> None:
    """Write documents, whatever version is stored."""
    for document in papers:
        require_own(document, space)
        connection.execute(_SQL["write"], _values(document, space_no=space_no, version=1)).fetchall()


def file_paper(connection: apsw.Connection, paper: Paper, *, space_no: int, base: int | None) -> int:
    """Write a document if the stored version is `base`; return the new version."""
    row = connection.execute(
        "SELECT version FROM documents WHERE space_no = ? AND collection = ? AND key = ?",
        (space_no, paper.drawer, paper.key),
    ).fetchone()
    current = None if row is None else int(row[0])
    if current != base:
        raise stale_paper(paper, base=base, current=current)
    return int(connection.execute(_SQL["write"], _values(paper, space_no=space_no, version=1)).fetchall()[0][0])


def keep_papers(connection: apsw.Connection, papers: Sequence[Paper], *, space_no: int, renew: bool) -> int:
    """Copy documents of another store with their versions; return how many rows that has changed.

    With `renew`, they replace stored ones that differ.
    """
    statement, changed = _SQL["copy_over" if renew else "copy"], 0
    for document in papers:
        connection.execute(statement, _values(document, space_no=space_no, version=document.version))
        changed += connection.changes()
    return changed


def discard_paper(connection: apsw.Connection, space: str, drawer: str, key: str) -> bool:
    """Delete a document; return whether there was one."""
    connection.execute(
        "DELETE FROM documents WHERE space_no = ? AND collection = ? AND key = ?",
        (space_number(connection, space), drawer, key),
    )
    return bool(connection.changes())


def drop_papers_about(connection: apsw.Connection, space_no: int, memory_id: bytes) -> None:
    """Delete the documents about a memory."""
    for column, index in _MEMORY_COLUMNS:
        connection.execute(
            f"DELETE FROM documents INDEXED BY {index} WHERE space_no = ? AND {column} = ?", (space_no, memory_id)
        )


def _values(paper: Paper, *, space_no: int, version: int) -> tuple[str | int | bytes | None, ...]:
    memory_id, other_id = subjects_of(paper)
    return (
        space_no, paper.drawer, paper.key, value_text(paper), version, to_micros(paper.at), micros_of(paper.due),
        id_bytes(memory_id) or None, id_bytes(other_id) or None,
    )  # fmt: skip
