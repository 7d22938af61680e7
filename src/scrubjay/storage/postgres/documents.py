"""Documents: small JSON values by collection and key."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.model.document import Document
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.postgres.database import Database, Rows, SqlQuery, Transaction
from scrubjay.storage.rows import (
    canonical_id,
    canonical_ids,
    document_of,
    micros_of,
    stale_document,
    subjects_of,
    value_text,
)
from scrubjay.storage.sql_files import read_statements

_SQL = read_statements("postgres/queries/documents")
_END_OF_TIME = 1 << 62
_COLUMNS = 8


async def document(database: Database, space: str, collection: str, key: str) -> Document | None:
    """Return one document."""
    rows = await database.rows(_SQL["get"], collection, key, space=space)
    return next(iter(_documents(space, rows)), None)


async def documents(database: Database, space: str, collection: str, *, after: str, limit: int) -> list[Document]:
    """Return the documents of a collection, by key."""
    return _documents(space, await database.rows(_SQL["page"], collection, after, limit, space=space))


async def document_count(database: Database, space: str, collection: str) -> int:
    """Return the number of documents of a collection."""
    rows = await database.rows(_SQL["count"], collection, space=space)
    return int(rows[0][0])


async def latest_documents(
    database: Database, space: str, collection: str, *, before: tuple[datetime, str] | None, limit: int
) -> list[Document]:
    """Return the documents of a collection, the latest first."""
    at, key = (to_micros(before[0]), before[1]) if before else (_END_OF_TIME, "")
    statement = "SELECT * FROM scrubjay.latest_documents(%s, %s, %s, %s)"
    return _documents(space, await database.rows(statement, collection, at, key, limit, space=space))


async def documents_about(
    database: Database, space: str, collection: str, ids: Sequence[str], *, limit: int
) -> list[Document]:
    """Return the documents of a collection that are about any of some memories, the latest first."""
    statement = "SELECT * FROM scrubjay.documents_about(%s, %s::uuid[], %s)"
    return _documents(space, await database.rows(statement, collection, canonical_ids(ids), limit, space=space))


async def due_documents(database: Database, collection: str, *, now: datetime, limit: int) -> list[Document]:
    """Return the documents of a collection in all spaces that are due, the longest overdue first."""
    statement = "SELECT * FROM scrubjay.due_documents(%s, %s, %s)"
    rows = await database.rows(statement, collection, to_micros(now), limit, unrestricted=True)
    return [document_of((row[0], row[1], row[2], row[3], row[4], row[5], row[6])) for row in rows]


async def all_documents(database: Database, space: str, *, after: tuple[str, str], limit: int) -> list[Document]:
    """Return the documents of all collections of a space."""
    statement = "SELECT * FROM scrubjay.all_documents(%s, %s, %s)"
    return _documents(space, await database.rows(statement, *after, limit, space=space))


async def write_documents(transaction: Transaction, documents: Sequence[Document]) -> None:
    """Write the documents of a commit, whatever version is stored."""
    for document in documents:
        await transaction.execute(_SQL["put"], *_values(document, version=1))


async def put_document(database: Database, document: Document, *, base: int | None) -> Document:
    """Write a document if the stored version is `base`; raises StaleVersion."""

    async def job(transaction: Transaction) -> int:
        rows = await transaction.rows(_SQL["version"], document.collection, document.key)
        current = int(rows[0][0]) if rows else None
        if current != base:
            raise stale_document(document, base=base, current=current)
        ((version,),) = await transaction.rows(_SQL["put"], *_values(document, version=1))
        transaction.proof = SqlQuery(
            _SQL["has_version"], (document.collection, document.key, version, to_micros(document.at))
        )
        return int(version)

    return replace(document, version=await database.write(job, space=document.space, create_space=True))


async def import_documents(database: Database, space: str, documents: Sequence[Document], *, renew: bool) -> int:
    """Copy documents of another store with their versions, and return how many rows that changed."""
    rows = [_values(document, version=document.version) for document in documents]

    async def job(transaction: Transaction) -> int:
        columns = [[row[position] for row in rows] for position in range(_COLUMNS)]
        return await transaction.execute(_SQL["copy_changed" if renew else "copy_missing"], *columns)

    return await database.write(job, space=space, create_space=True)


async def delete_document(database: Database, space: str, collection: str, key: str) -> bool:
    """Delete a document; return whether there was one."""

    async def job(transaction: Transaction) -> int:
        return await transaction.execute(_SQL["delete"], collection, key)

    return bool(await database.write(job, space=space))


async def delete_documents_about(transaction: Transaction, memory_ids: Sequence[str]) -> None:
    """Delete the documents about memories."""
    for name in ("delete_about_memory", "delete_about_other_memory"):
        await transaction.execute(_SQL[name], list(memory_ids))


def _documents(space: str, rows: Rows) -> list[Document]:
    return [document_of((space, row[0], row[1], row[2], row[3], row[4], row[5])) for row in rows]


def _values(document: Document, *, version: int) -> tuple[str | int | None, ...]:
    memory_id, other_id = subjects_of(document)
    return (
        document.collection, document.key, value_text(document), version, to_micros(document.at),
        micros_of(document.due),
        canonical_id(memory_id) or None, canonical_id(other_id) or None,
    )  # fmt: skip
