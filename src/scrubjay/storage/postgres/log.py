"""The change log and its runs."""

import asyncio

from scrubjay.model.change import Change
from scrubjay.ports import Run
from scrubjay.storage.postgres.database import Database, Rows, SqlQuery
from scrubjay.storage.rows import change_of, key_of
from scrubjay.storage.sql_files import read_statements

_SQL = read_statements("postgres/queries/log")
# How often, and with which pause, to wait for a commit that has reserved earlier numbers and is still in progress.
_PAUSE = 0.002
_MAX_PAUSES = 250


async def changes(database: Database, *, after: int, limit: int) -> list[Change]:
    """Return the changes of all spaces in order. No later change has a number below a returned one."""
    rows: Rows = []
    for _ in range(_MAX_PAUSES):
        rows = await database.rows("SELECT * FROM scrubjay.list_changes(%s, %s)", after, limit, unrestricted=True)
        has_later = bool(rows) and rows[-1][0] is None
        if has_later:
            del rows[-1]
        if len(rows) == limit or not has_later:
            break
        # A later change is committed, perhaps by the caller, but an earlier one may still come.
        await asyncio.sleep(_PAUSE)
    return [change_of(row) for row in rows]


async def changes_in(database: Database, space: str, *, after: int, limit: int) -> list[Change]:
    """Return the changes of one space, numbered within it."""
    rows = await database.rows(_SQL["changes_in_space"], after, limit, space=space)
    return [change_of(row) for row in rows]


async def last_place(database: Database, space: str) -> int:
    """Return the number of changes of a space."""
    rows = await database.rows(
        "SELECT changes FROM scrubjay.space_totals WHERE space_no = scrubjay.current_space()", space=space
    )
    return int(rows[0][0]) if rows else 0


async def last_seq(database: Database) -> int:
    """Return the number of the newest change."""
    rows = await database.rows("SELECT coalesce(max(seq), 0) FROM scrubjay.changes", unrestricted=True)
    return int(rows[0][0])


async def settled_seq(database: Database) -> int:
    """Return the number up to which no change can be added."""
    rows = await database.rows("SELECT scrubjay.settled_seq()", unrestricted=True)
    return int(rows[0][0] or 0)


async def last_run(database: Database, space: str, *, agent: str) -> Run | None:
    """Return the newest run of an agent that can still be undone."""
    return await _run(database, space, _SQL["last_run"], key_of(agent))


async def run_of(database: Database, space: str, run: str) -> Run | None:
    """Return the newest run with an id or name."""
    return await _run(database, space, _SQL["run_by_id"], key_of(run))


async def _run(database: Database, space: str, query: str, key: int) -> Run | None:
    changes_query = _SQL["changes_of_run"].replace("{run}", query)
    runs, rows = await database.read(SqlQuery(query, (key,)), SqlQuery(changes_query, (key,)), space=space)
    if not runs:
        return None
    _, name, agent, undone = runs[0]
    return Run(
        id=str(name), agent=str(agent), changes=tuple(change_of(row) for row in rows), is_undone=bool(undone)
    )  # fmt: skip
