"""Runs and the change log."""

from datetime import datetime

import apsw

from scrubjay.model.change import Action, Change, Origin
from scrubjay.model.moment import to_micros
from scrubjay.model.relation import Relation
from scrubjay.ports import Run
from scrubjay.stores.rows import change_of, id_text, relation_to_text
from scrubjay.stores.sqlite.rows import run_key, run_name, space_number

_COLUMNS = """c.seq, c.place, s.name, coalesce(m.id, g.id), c.memory_no, c.action, c.version, c.base, c.passages_before,
    c.at, a.name, r.id, c.relation"""
_TABLES = """changes c JOIN spaces s ON s.no = c.space_no
    JOIN runs r ON r.no = c.run_no JOIN agents a ON a.no = r.agent_no
    LEFT JOIN memories m ON m.no = c.memory_no LEFT JOIN gone g ON g.memory_no = c.memory_no"""
# Changes that undo has nothing to give back for.
_NOT_UNDOABLE = f"('{Action.EMBEDDED}', '{Action.PURGED}', '{Action.IMPORTED}')"


def run_number(connection: apsw.Connection, space_no: int, origin: Origin) -> int:
    """The row of a run; calls that name the same run share it."""
    agent_no = _make_agent(connection, origin.agent)
    # By its id: an agent has as many runs as there are changes.
    row = connection.execute(
        """SELECT no FROM runs INDEXED BY runs_id
           WHERE space_no = ? AND id = ? AND agent_no = ? AND undoes IS NULL AND undone = 0""",
        (space_no, run_key(origin.run), agent_no),
    ).fetchone()
    if row is not None and not origin.undoes:
        return int(row[0])
    undone = _undone_run(connection, space_no, origin.undoes)
    connection.execute(
        "INSERT INTO runs(space_no, id, agent_no, undoes) VALUES(?, ?, ?, ?)",
        (space_no, run_key(origin.run), agent_no, undone),
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
    """Write one entry; returns its place in the order of all things."""
    ((place,),) = connection.execute(
        "UPDATE spaces SET changes = changes + 1 WHERE no = ? RETURNING changes", (space_no,)
    ).fetchall()
    connection.execute(
        """INSERT INTO changes(space_no, place, run_no, memory_no, action, version, base, passages_before, at, relation,
             target_no) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            space_no, place, run_no, number, action.value, version, base, passages_before, to_micros(at),
            None if relation is None else relation_to_text(relation), target_no,
        ),
    )  # fmt: skip
    seq = connection.last_insert_rowid()
    # A run that goes on is the newest again.
    connection.execute("UPDATE runs SET last_seq = ? WHERE no = ?", (seq, run_no))
    return seq


def changes(connection: apsw.Connection, *, after: int, limit: int) -> list[Change]:
    """Entries in order."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE c.seq > ? ORDER BY c.seq LIMIT ?", (after, limit)
    )
    return [_change(row) for row in rows]


def changes_in(connection: apsw.Connection, space: str, *, after: int, limit: int) -> list[Change]:
    """Entries of one space, in its own count."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE c.space_no = ? AND c.place > ? ORDER BY c.place LIMIT ?",
        (space_number(connection, space), after, limit),
    )
    return [_change(row) for row in rows]


def last_place(connection: apsw.Connection, space: str) -> int:
    """How many entries a space has."""
    row = connection.execute("SELECT changes FROM spaces WHERE name = ?", (space,)).fetchone()
    return 0 if row is None else int(row[0])


def last_seq(connection: apsw.Connection) -> int:
    """The newest entry's number."""
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM changes").fetchall()[0][0])


def last_run(connection: apsw.Connection, space: str, *, agent: str) -> Run | None:
    """The newest run of an agent that can still be undone."""
    row = connection.execute(
        f"""SELECT no FROM runs WHERE space_no = ? AND agent_no = (SELECT no FROM agents WHERE name = ?)
            AND undoes IS NULL AND undone = 0
            AND EXISTS (SELECT 1 FROM changes WHERE run_no = runs.no AND action NOT IN {_NOT_UNDOABLE})
            ORDER BY last_seq DESC LIMIT 1""",
        (space_number(connection, space), agent),
    ).fetchone()
    return None if row is None else _run(connection, int(row[0]))


def run_of(connection: apsw.Connection, space: str, run: str) -> Run | None:
    """The newest run with an id or name."""
    row = connection.execute(
        "SELECT no FROM runs WHERE space_no = ? AND id = ? ORDER BY undone, no DESC LIMIT 1",
        (space_number(connection, space), run_key(run)),
    ).fetchone()
    return None if row is None else _run(connection, int(row[0]))


def _make_agent(connection: apsw.Connection, agent: str) -> int:
    """The number of an agent, who begins to be known with his first run."""
    row = connection.execute("SELECT no FROM agents WHERE name = ?", (agent,)).fetchone()
    if row is not None:
        return int(row[0])
    connection.execute("INSERT INTO agents(name) VALUES(?)", (agent,))
    return connection.last_insert_rowid()


def _undone_run(connection: apsw.Connection, space_no: int, run: str) -> int | None:
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
    name, agent = connection.execute(
        "SELECT r.id, a.name FROM runs r JOIN agents a ON a.no = r.agent_no WHERE r.no = ?", (run_no,)
    ).fetchall()[0]
    return Run(id=run_name(name), agent=str(agent), changes=tuple(_change(row) for row in rows))


def _change(
    row: tuple[int, int, str, bytes, int, str, int, int | None, int, int, str, str | bytes, str | None],
) -> Change:
    return change_of((*row[:3], id_text(row[3]), *row[4:11], run_name(row[11]), row[12]))
