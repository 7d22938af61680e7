"""Documents: small JSON values by collection and key."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.model.moment import to_micros
from scrubjay.model.paper import Paper
from scrubjay.stores.paper_rows import paper_of, require_own, stale_paper, subjects_of, value_text
from scrubjay.stores.postgres.asking import Ask, Rows, Work
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.opening import plain_ids
from scrubjay.stores.postgres.planning import canonical_id
from scrubjay.stores.postgres.sql_files import named_statements
from scrubjay.stores.rows import micros_of

_SQL = named_statements("queries/documents")
_END_OF_TIME = 1 << 62
_COLUMNS = 8


async def paper(database: Database, space: str, drawer: str, key: str) -> Paper | None:
    """Return one document."""
    rows = await database.rows(_SQL["get"], drawer, key, space=space)
    return next(iter(_papers(space, rows)), None)


async def papers(database: Database, space: str, drawer: str, *, after: str, limit: int) -> list[Paper]:
    """Return the documents of a collection, by key."""
    return _papers(space, await database.rows(_SQL["page"], drawer, after, limit, space=space))


async def latest_papers(
    database: Database, space: str, drawer: str, *, before: tuple[datetime, str] | None, limit: int
) -> list[Paper]:
    """Return the documents of a collection, latest first."""
    at, key = (to_micros(before[0]), before[1]) if before else (_END_OF_TIME, "")
    statement = "SELECT * FROM scrubjay.latest_documents(%s, %s, %s, %s)"
    return _papers(space, await database.rows(statement, drawer, at, key, limit, space=space))


async def papers_about(database: Database, space: str, drawer: str, ids: Sequence[str], *, limit: int) -> list[Paper]:
    """Return the documents of a collection about memories, latest first."""
    statement = "SELECT * FROM scrubjay.documents_about(%s, %s::uuid[], %s)"
    return _papers(space, await database.rows(statement, drawer, plain_ids(ids), limit, space=space))


async def due_papers(database: Database, drawer: str, *, now: datetime, limit: int) -> list[Paper]:
    """Return the documents of a collection in all spaces that are due, longest first."""
    statement = "SELECT * FROM scrubjay.due_documents(%s, %s, %s)"
    rows = await database.rows(statement, drawer, to_micros(now), limit, keeper=True)
    return [paper_of((row[0], row[1], row[2], row[3], row[4], row[5], row[6])) for row in rows]


async def all_papers(database: Database, space: str, *, after: tuple[str, str], limit: int) -> list[Paper]:
    """Return the documents of all collections of a space."""
    statement = "SELECT * FROM scrubjay.all_documents(%s, %s, %s)"
    return _papers(space, await database.rows(statement, *after, limit, space=space))


async def file_all(work: Work, papers: Sequence[Paper], *, space: str) -> None:
    """Write documents as a part of a commit, whatever their current version."""
    for document in papers:
        require_own(document, space)
        await work.do(_SQL["put"], *_values(document, version=1))


async def file_paper(database: Database, paper: Paper, *, base: int | None) -> Paper:
    """Write a document as the version after `base`; raises StaleVersion."""

    async def job(work: Work) -> int:
        rows = await work.rows(_SQL["version"], paper.drawer, paper.key)
        current = int(rows[0][0]) if rows else None
        if current != base:
            raise stale_paper(paper, base=base, current=current)
        ((version,),) = await work.rows(_SQL["put"], *_values(paper, version=1))
        work.proof = Ask(_SQL["has_version"], (paper.drawer, paper.key, version, to_micros(paper.at)))
        return int(version)

    return replace(paper, version=await database.write(job, space=paper.space, make=True))


async def keep_papers(database: Database, space: str, papers: Sequence[Paper], *, renew: bool) -> int:
    """Copy documents of another store with their versions, and return how many rows that changed."""
    rows = [_values(document, version=document.version) for document in papers]

    async def job(work: Work) -> int:
        columns = [[row[place] for row in rows] for place in range(_COLUMNS)]
        return await work.do(_SQL["copy_changed" if renew else "copy_missing"], *columns)

    return await database.write(job, space=space, make=True)


async def discard_paper(database: Database, space: str, drawer: str, key: str) -> bool:
    """Delete a document, and tell whether there was one."""

    async def job(work: Work) -> int:
        return await work.do(_SQL["delete"], drawer, key)

    return bool(await database.write(job, space=space))


async def drop_papers_about(work: Work, memory_ids: Sequence[str]) -> None:
    """Delete the documents about memories."""
    for name in ("delete_about_memory", "delete_about_other_memory"):
        await work.do(_SQL[name], list(memory_ids))


def _papers(space: str, rows: Rows) -> list[Paper]:
    return [paper_of((space, row[0], row[1], row[2], row[3], row[4], row[5])) for row in rows]


def _values(paper: Paper, *, version: int) -> tuple[str | int | None, ...]:
    memory_id, other_id = subjects_of(paper)
    return (
        paper.drawer, paper.key, value_text(paper), version, to_micros(paper.at), micros_of(paper.due),
        canonical_id(memory_id) or None, canonical_id(other_id) or None,
    )  # fmt: skip
