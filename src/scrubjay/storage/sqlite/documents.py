"""Documents by collection and key. The functions that write run on the writer's connection."""

import json
from collections.abc import Sequence
from datetime import datetime

import apsw

from scrubjay.model.document import Document
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.rows import document_of, id_bytes, micros_of, stale_document, subjects_of, value_text
from scrubjay.storage.sql_files import read_statements
from scrubjay.storage.sqlite.rows import space_number

_SQL = read_statements("sqlite/documents")
_COLUMNS = "s.name, d.collection, d.key, d.value, d.version, d.updated_at, d.due_at"
_TABLES = "documents d JOIN spaces s ON s.no = d.space_no"
_END_OF_TIME = 1 << 62
# The columns that name a memory, with their indexes: without the name of an index, SQLite would scan the space.
_MEMORY_COLUMNS = (("memory_id", "documents_memory"), ("other_memory_id", "documents_other_memory"))

_ABOUT = " UNION ALL ".join(
    f"""SELECT {_COLUMNS} FROM documents d INDEXED BY {index} JOIN spaces s ON s.no = d.space_no
        WHERE d.space_no = ?1 AND d.{column} IN (SELECT unhex(value) FROM json_each(?2)) AND d.collection = ?3"""
    for column, index in _MEMORY_COLUMNS
)


def is_empty(connection: apsw.Connection, space: str, collection: str) -> bool:
    """Check whether a collection has no document: then none is about a memory, as in most spaces."""
    row = connection.execute(
        "SELECT 1 FROM documents WHERE space_no = ? AND collection = ? LIMIT 1",
        (space_number(connection, space), collection),
    ).fetchone()
    return row is None


def document(connection: apsw.Connection, space: str, collection: str, key: str) -> Document | None:
    """Return one document."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE s.name = ? AND d.collection = ? AND d.key = ?",
        (space, collection, key),
    ).fetchone()
    return None if row is None else document_of(row)


def documents(connection: apsw.Connection, space: str, collection: str, *, after: str, limit: int) -> list[Document]:
    """Return documents of a collection in the order of their keys."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE s.name = ? AND d.collection = ? AND d.key > ? ORDER BY d.key LIMIT ?",
        (space, collection, after, limit),
    )
    return [document_of(row) for row in rows]


def document_count(connection: apsw.Connection, space: str, collection: str) -> int:
    """Return the number of documents of a collection."""
    rows = connection.execute(
        "SELECT count(*) FROM documents WHERE space_no = ? AND collection = ?",
        (space_number(connection, space), collection),
    ).fetchall()
    return int(rows[0][0])


def latest_documents(
    connection: apsw.Connection, space: str, collection: str, *, before: tuple[datetime, str] | None, limit: int
) -> list[Document]:
    """Return documents of a collection, the latest first."""
    updated_at, key = (to_micros(before[0]), before[1]) if before else (_END_OF_TIME, "")
    rows = connection.execute(
        f"""SELECT {_COLUMNS} FROM documents d INDEXED BY documents_latest JOIN spaces s ON s.no = d.space_no
            WHERE d.space_no = ? AND d.collection = ? AND (d.updated_at, d.key) < (?, ?)
            ORDER BY d.updated_at DESC, d.key DESC LIMIT ?""",
        (space_number(connection, space), collection, updated_at, key, limit),
    )
    return [document_of(row) for row in rows]


def documents_about(
    connection: apsw.Connection, space: str, collection: str, ids: Sequence[str], *, limit: int
) -> list[Document]:
    """Return the documents of a collection that are about any of some memories, the latest first."""
    space_no = space_number(connection, space)
    listed = json.dumps([id_bytes(memory_id).hex() for memory_id in dict.fromkeys(ids)])
    rows = connection.execute(_ABOUT, (space_no, listed, collection)).fetchall()
    if not rows:
        return []
    documents = {document.key: document for document in map(document_of, rows)}
    return sorted(documents.values(), key=lambda document: (document.at, document.key), reverse=True)[:limit]


def due_documents(connection: apsw.Connection, collection: str, *, now: datetime, limit: int) -> list[Document]:
    """Return the documents of a collection in all spaces that are due, the longest overdue first."""
    rows = connection.execute(
        f"""SELECT {_COLUMNS} FROM documents d INDEXED BY documents_due JOIN spaces s ON s.no = d.space_no
            WHERE d.collection = ? AND d.due_at <= ? ORDER BY d.due_at, d.space_no, d.key LIMIT ?""",
        (collection, to_micros(now), limit),
    )
    return [document_of(row) for row in rows]


def all_documents(connection: apsw.Connection, space: str, *, after: tuple[str, str], limit: int) -> list[Document]:
    """Return documents of all collections of a space, by collection and key."""
    rows = connection.execute(
        f"""SELECT {_COLUMNS} FROM {_TABLES} WHERE d.space_no = ? AND (d.collection, d.key) > (?, ?)
            ORDER BY d.collection, d.key LIMIT ?""",
        (space_number(connection, space), *after, limit),
    )
    return [document_of(row) for row in rows]


def write_documents(connection: apsw.Connection, documents: Sequence[Document], *, space_no: int) -> None:
    """Write the documents of a commit, whatever version is stored."""
    for document in documents:
        connection.execute(_SQL["write"], _values(document, space_no=space_no, version=1)).fetchall()


def put_document(connection: apsw.Connection, document: Document, *, space_no: int, base: int | None) -> int:
    """Write a document if the stored version is `base`; return the new version."""
    row = connection.execute(
        "SELECT version FROM documents WHERE space_no = ? AND collection = ? AND key = ?",
        (space_no, document.collection, document.key),
    ).fetchone()
    current = None if row is None else int(row[0])
    if current != base:
        raise stale_document(document, base=base, current=current)
    return int(connection.execute(_SQL["write"], _values(document, space_no=space_no, version=1)).fetchall()[0][0])


def import_documents(connection: apsw.Connection, documents: Sequence[Document], *, space_no: int, renew: bool) -> int:
    """Copy documents of another store with their versions; return how many rows that has changed.

    With `renew`, they replace stored ones that differ.
    """
    statement, changed = _SQL["copy_over" if renew else "copy"], 0
    for document in documents:
        connection.execute(statement, _values(document, space_no=space_no, version=document.version))
        changed += connection.changes()
    return changed


def delete_document(connection: apsw.Connection, space: str, collection: str, key: str) -> bool:
    """Delete a document; return whether there was one."""
    connection.execute(
        "DELETE FROM documents WHERE space_no = ? AND collection = ? AND key = ?",
        (space_number(connection, space), collection, key),
    )
    return bool(connection.changes())


def delete_documents_about(connection: apsw.Connection, space_no: int, memory_id: bytes) -> None:
    """Delete the documents about a memory."""
    for column, index in _MEMORY_COLUMNS:
        connection.execute(
            f"DELETE FROM documents INDEXED BY {index} WHERE space_no = ? AND {column} = ?", (space_no, memory_id)
        )


def _values(document: Document, *, space_no: int, version: int) -> tuple[str | int | bytes | None, ...]:
    memory_id, other_id = subjects_of(document)
    return (
        space_no, document.collection, document.key, value_text(document), version, to_micros(document.at),
        micros_of(document.due),
        id_bytes(memory_id) or None, id_bytes(other_id) or None,
    )  # fmt: skip
