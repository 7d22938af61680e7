"""Runs and the change log."""

from datetime import datetime

import apsw

from scrubjay.model.change import Action, Change, Origin
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import Run
from scrubjay.storage.rows import change_of, id_text, relation_to_text
from scrubjay.storage.sql_files import read_statements
from scrubjay.storage.sqlite.rows import run_key, run_name, space_number

_SQL = read_statements("sqlite/log")
_COLUMNS = """c.seq, c.space_seq, s.name, coalesce(m.id, p.id), c.memory_no, c.action, c.version, c.base_version,
    c.passages_before, c.changed_at, a.name, r.id, c.relation"""
_TABLES = """changes c JOIN spaces s ON s.no = c.space_no
    JOIN runs r ON r.no = c.run_no JOIN agents a ON a.no = r.agent_no
    LEFT JOIN memories m ON m.no = c.memory_no LEFT JOIN purged_memories p ON p.memory_no = c.memory_no"""
# `undo` cannot take these back.
_NOT_UNDOABLE = f"('{Action.EMBEDDED}', '{Action.PURGED}', '{Action.IMPORTED}')"


def run_number(connection: apsw.Connection, space_no: int, origin: Origin) -> int:
    """Return the number of a run, which begins with its first change; calls that name the same run share it."""
    agent_no = _make_agent(connection, origin.agent)
    key = run_key(origin.run)
    row = connection.execute(_SQL["find_open_run"], (space_no, key, agent_no)).fetchone()
    if row is not None and not origin.undoes:
        return int(row[0])
    undone_no = _mark_undone(connection, space_no, origin.undoes)
    connection.execute(
        "INSERT INTO runs(space_no, id, agent_no, undoes) VALUES(?, ?, ?, ?)", (space_no, key, agent_no, undone_no)
    )
    return connection.last_insert_rowid()


def append_change(
    connection: apsw.Connection,
    *,
    space_no: int,
    run_no: int,
    number: int,
    action: Action,
    version: int,
    base: int | None,
    passages_before: int,
    at: datetime,
    relation: Relation | None = None,
    target_no: int | None = None,
) -> int:
    """Append an entry and return its `seq`, its place in the order of all changes."""
    ((space_seq,),) = connection.execute(
        "UPDATE spaces SET change_count = change_count + 1 WHERE no = ? RETURNING change_count", (space_no,)
    ).fetchall()
    connection.execute(
        _SQL["insert_change"],
        (
            space_no, space_seq, run_no, number, action.value, version, base, passages_before, to_micros(at),
            None if relation is None else relation_to_text(relation), target_no,
        ),
    )  # fmt: skip
    seq = connection.last_insert_rowid()
    # A run that is continued becomes the newest again.
    connection.execute("UPDATE runs SET last_seq = ? WHERE no = ?", (seq, run_no))
    return seq


def changes(connection: apsw.Connection, *, after: int, limit: int) -> list[Change]:
    """Return entries of all spaces in order."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE c.seq > ? ORDER BY c.seq LIMIT ?", (after, limit)
    )
    return [_change(row) for row in rows]


def changes_in(connection: apsw.Connection, space: str, *, after: int, limit: int) -> list[Change]:
    """Return entries of one space, by their numbers within the space."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE c.space_no = ? AND c.space_seq > ? ORDER BY c.space_seq LIMIT ?",
        (space_number(connection, space), after, limit),
    )
    return [_change(row) for row in rows]


def last_place(connection: apsw.Connection, space: str) -> int:
    """Return the number of entries of a space."""
    row = connection.execute("SELECT change_count FROM spaces WHERE name = ?", (space,)).fetchone()
    return 0 if row is None else int(row[0])


def last_seq(connection: apsw.Connection) -> int:
    """Return the `seq` of the newest entry."""
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM changes").fetchall()[0][0])


def last_run(connection: apsw.Connection, space: str, *, agent: str) -> Run | None:
    """Return the newest run of an agent that can still be undone."""
    row = connection.execute(
        f"""SELECT no FROM runs WHERE space_no = ? AND agent_no = (SELECT no FROM agents WHERE name = ?)
            AND undoes IS NULL AND undone = 0
            AND EXISTS (SELECT 1 FROM changes WHERE run_no = runs.no AND action NOT IN {_NOT_UNDOABLE})
            ORDER BY last_seq DESC LIMIT 1""",
        (space_number(connection, space), agent),
    ).fetchone()
    return None if row is None else _run(connection, int(row[0]))


def run_of(connection: apsw.Connection, space: str, run: str) -> Run | None:
    """Return the newest run with an id or name."""
    row = connection.execute(
        "SELECT no FROM runs WHERE space_no = ? AND id = ? ORDER BY undone, no DESC LIMIT 1",
        (space_number(connection, space), run_key(run)),
    ).fetchone()
    return None if row is None else _run(connection, int(row[0]))


def _make_agent(connection: apsw.Connection, agent: str) -> int:
    """Return the number of an agent; the first run of an agent creates it."""
    row = connection.execute("SELECT no FROM agents WHERE name = ?", (agent,)).fetchone()
    if row is not None:
        return int(row[0])
    connection.execute("INSERT INTO agents(name) VALUES(?)", (agent,))
    return connection.last_insert_rowid()


def _mark_undone(connection: apsw.Connection, space_no: int, run: str) -> int | None:
    """Mark the newest run with a name as undone and return its number."""
    if not run:
        return None
    row = connection.execute(
        "SELECT max(no) FROM runs WHERE space_no = ? AND id = ? AND undone = 0", (space_no, run_key(run))
    ).fetchone()
    if row is None or row[0] is None:
        return None
    connection.execute("UPDATE runs SET undone = 1 WHERE no = ?", (row[0],))
    return int(row[0])


def _run(connection: apsw.Connection, run_no: int) -> Run:
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE c.run_no = ? ORDER BY c.seq", (run_no,)
    ).fetchall()
    key, agent = connection.execute(
        "SELECT r.id, a.name FROM runs r JOIN agents a ON a.no = r.agent_no WHERE r.no = ?", (run_no,)
    ).fetchall()[0]
    return Run(id=run_name(key), agent=str(agent), changes=tuple(_change(row) for row in rows))


def _change(
    row: tuple[int, int, str, bytes, int, str, int, int | None, int, int, str, str | bytes, str | None],
) -> Change:
    return change_of((*row[:3], id_text(row[3]), *row[4:11], run_name(row[11]), row[12]))
