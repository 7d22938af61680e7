"""Runs and the change log."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import apsw

from scrubjay.model.change import Action, Change, Origin
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import Run
from scrubjay.storage.plan import Author, ChangeEntry, Runs, StoredRun, plan_runs, run_names
from scrubjay.storage.rows import change_of, id_text, relation_to_text
from scrubjay.storage.sql_files import read_statements
from scrubjay.storage.sqlite.rows import agent_number, run_key, run_name, space_number

_SQL = read_statements("sqlite/log")
_COLUMNS = """c.seq, c.space_seq, s.name, coalesce(m.id, p.id), c.memory_no, c.action, c.version, c.base_version,
    c.passages_before, c.changed_at, a.name, r.id, c.relation"""
_TABLES = """changes c JOIN spaces s ON s.no = c.space_no
    JOIN runs r ON r.no = c.run_no JOIN agents a ON a.no = r.agent_no
    LEFT JOIN memories m ON m.no = c.memory_no LEFT JOIN purged_memories p ON p.memory_no = c.memory_no"""
# `undo` cannot take these back.
_NOT_UNDOABLE = f"('{Action.EMBEDDED}', '{Action.PURGED}', '{Action.IMPORTED}')"


def assign_runs(
    connection: apsw.Connection, space_no: int, origin: Origin, authors: Sequence[Author] = (), *, changes: int = 0
) -> Runs:
    """Return the runs of a commit, which will append so many changes; runs that are new begin with it."""
    keys = [(space_no, run_key(name)) for name in run_names(origin, authors)]
    stored = [
        StoredRun(number, run_name(key), agent, undoes, bool(undone), last_seq)
        for number, key, agent, undoes, undone, last_seq in connection.executemany(_SQL["find_runs"], keys)
    ]
    runs = plan_runs(origin, stored, authors)
    undone_no = None if runs.undone is None else runs.undone.number
    if undone_no is not None and not origin.is_partial:
        connection.execute("UPDATE runs SET undone = 1 WHERE no = ?", (undone_no,))
    for author in runs.new:
        run, agent = author
        is_own = author == runs.author
        connection.execute(
            _SQL["insert_run"],
            (
                space_no, run_key(run), _make_agent(connection, agent), undone_no if is_own else None,
                changes if is_own else 0,
            ),
        )  # fmt: skip
        runs.numbers[author] = connection.last_insert_rowid()
    return runs


def append_changes(
    connection: apsw.Connection,
    changes: Sequence[ChangeEntry],
    numbers: Mapping[str, int],
    *,
    space_no: int,
    run_no: int,
    at: datetime,
    bodies: int = 0,
) -> int:
    """Append entries and count bodies; return the `seq` of the last entry, its place in the order of all changes."""
    if not changes:
        return 0
    connection.executemany(
        _SQL["insert_change"],
        [
            (
                space_no, space_no, place, run_no, numbers[change.memory_id], change.action.value, change.version,
                change.base, change.passages_before, to_micros(at),
                None if change.relation is None else relation_to_text(change.relation),
                numbers[change.target_id] if change.target_id else None,
            )
            for place, change in enumerate(changes, start=1)
        ],
    )  # fmt: skip
    seq = connection.last_insert_rowid()
    connection.execute(
        "UPDATE spaces SET change_count = change_count + ?, body_count = body_count + ? WHERE no = ?",
        (len(changes), bodies, space_no),
    )
    # A run that is continued becomes the newest again.
    connection.execute("UPDATE runs SET last_seq = ?1 WHERE no = ?2 AND last_seq <> ?1", (seq, run_no))
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
    number = agent_number(connection, agent)
    if number is not None:
        return number
    connection.execute("INSERT INTO agents(name) VALUES(?)", (agent,))
    return connection.last_insert_rowid()


def _run(connection: apsw.Connection, run_no: int) -> Run:
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE c.run_no = ? ORDER BY c.seq", (run_no,)
    ).fetchall()
    key, agent, undone = connection.execute(
        "SELECT r.id, a.name, r.undone FROM runs r JOIN agents a ON a.no = r.agent_no WHERE r.no = ?", (run_no,)
    ).fetchall()[0]
    changes = tuple(_change(row) for row in rows)
    return Run(id=run_name(key), agent=str(agent), changes=changes, is_undone=bool(undone))


def _change(
    row: tuple[int, int, str, bytes, int, str, int, int | None, int, int, str, str | bytes, str | None],
) -> Change:
    return change_of((*row[:3], id_text(row[3]), *row[4:11], run_name(row[11]), row[12]))
