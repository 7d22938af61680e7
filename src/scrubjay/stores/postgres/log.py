"""The change log and its runs."""

import asyncio

from scrubjay.model.change import Action, Change
from scrubjay.ports import Run
from scrubjay.stores.postgres.asking import Ask, Rows
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.rows import change_of, key_of

_COLUMNS = """c.seq, c.place, s.name, c.memory_id, c.memory_no, c.action, c.version, c.base, c.passages_before, c.at,
    r.agent, r.id, c.relation"""
_TABLES = """scrubjay.changes c JOIN scrubjay.spaces s ON s.no = c.space_no
    JOIN scrubjay.runs r ON r.space_no = c.space_no AND r.no = c.run_no"""
# Changes that undo has nothing to give back for.
_NOT_UNDOABLE = f"('{Action.EMBEDDED}', '{Action.PURGED}', '{Action.IMPORTED}')"
# A commit that took its numbers earlier, and is still under way, is waited for: so long, and so often looked for.
_NAP = 0.002
_NAPS = 250


async def changes(database: Database, *, after: int, limit: int) -> list[Change]:
    """Entries of all spaces in order. None that comes later has a number below one that was told."""
    rows: Rows = []
    for _ in range(_NAPS):
        rows = await database.rows("SELECT * FROM scrubjay.changes_1(%s, %s)", after, limit, keeper=True)
        has_later = bool(rows) and rows[-1][0] is None
        if has_later:
            del rows[-1]
        if len(rows) == limit or not has_later:
            break
        # Something is committed that may not be told yet, and may be the caller's own.
        await asyncio.sleep(_NAP)
    return [change_of(row) for row in rows]


async def changes_in(database: Database, space: str, *, after: int, limit: int) -> list[Change]:
    """Entries of one space, in its own count."""
    rows = await database.rows(
        f"""SELECT {_COLUMNS} FROM {_TABLES} WHERE c.space_no = scrubjay.here() AND c.place > %s
            ORDER BY c.place LIMIT %s""",
        after, limit, space=space,
    )  # fmt: skip
    return [change_of(row) for row in rows]


async def last_place(database: Database, space: str) -> int:
    """How many entries a space has."""
    rows = await database.rows("SELECT changes FROM scrubjay.ledgers WHERE space_no = scrubjay.here()", space=space)
    return int(rows[0][0]) if rows else 0


async def last_seq(database: Database) -> int:
    """The newest entry's number."""
    rows = await database.rows("SELECT coalesce(max(seq), 0) FROM scrubjay.changes", keeper=True)
    return int(rows[0][0])


async def settled_seq(database: Database) -> int:
    """The number up to which nothing can come any more."""
    rows = await database.rows("SELECT scrubjay.settled()", keeper=True)
    return int(rows[0][0] or 0)


async def last_run(database: Database, space: str, *, agent: str) -> Run | None:
    """The newest run of an agent that can still be undone."""
    return await _run(
        database,
        space,
        f"""SELECT no, id, agent FROM scrubjay.runs WHERE space_no = scrubjay.here() AND agent_key = %s
            AND undoes IS NULL AND NOT undone AND EXISTS (SELECT 1 FROM scrubjay.changes c
              WHERE c.space_no = scrubjay.here() AND c.run_no = runs.no AND c.action NOT IN {_NOT_UNDOABLE})
            ORDER BY last_seq DESC LIMIT 1""",
        key_of(agent),
    )


async def run_of(database: Database, space: str, run: str) -> Run | None:
    """The newest run with an id or name."""
    return await _run(
        database,
        space,
        """SELECT no, id, agent FROM scrubjay.runs WHERE space_no = scrubjay.here() AND id_key = %s
           ORDER BY undone, no DESC LIMIT 1""",
        key_of(run),
    )


async def _run(database: Database, space: str, chosen: str, key: int) -> Run | None:
    runs, rows = await database.read(
        Ask(chosen, (key,)),
        Ask(
            f"""WITH chosen AS ({chosen}) SELECT {_COLUMNS} FROM {_TABLES}
                WHERE c.space_no = scrubjay.here() AND c.run_no = (SELECT no FROM chosen) ORDER BY c.seq""",
            (key,),
        ),
        space=space,
    )
    if not runs:
        return None
    _, name, agent = runs[0]
    return Run(id=str(name), agent=str(agent), changes=tuple(change_of(row) for row in rows))
