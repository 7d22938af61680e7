"""Papers: small documents by drawer and key. Those that write run on the writer's connection."""

from collections.abc import Sequence
from datetime import datetime

import apsw

from scrubjay.model.moment import to_micros
from scrubjay.model.paper import Paper
from scrubjay.stores.paper_rows import paper_of, require_own, stale_paper, subjects_of, value_text
from scrubjay.stores.rows import id_bytes, micros_of
from scrubjay.stores.sqlite.rows import space_number

_COLUMNS = "s.name, p.drawer, p.key, p.value, p.version, p.at, p.due"
_TABLES = "papers p JOIN spaces s ON s.no = p.space_no"
_END_OF_TIME = 1 << 62
# The first version, or the one after that which is there.
_INSERT = """INSERT INTO papers(space_no, drawer, key, value, version, at, due, memory_id, other_id)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_INSTEAD = """value = excluded.value, at = excluded.at, due = excluded.due, memory_id = excluded.memory_id,
    other_id = excluded.other_id"""
_FILE = f"""{_INSERT} ON CONFLICT DO UPDATE SET {_INSTEAD}, version = papers.version + 1 RETURNING version"""

# A guess of SQLite's would walk the space.
_DROPS = (
    "DELETE FROM papers INDEXED BY papers_memory WHERE space_no = ? AND memory_id = ?",
    "DELETE FROM papers INDEXED BY papers_other WHERE space_no = ? AND other_id = ?",
)


def paper(connection: apsw.Connection, space: str, drawer: str, key: str) -> Paper | None:
    """One paper."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE s.name = ? AND p.drawer = ? AND p.key = ?", (space, drawer, key)
    ).fetchone()
    return None if row is None else paper_of(row)


def papers(connection: apsw.Connection, space: str, drawer: str, *, after: str, limit: int) -> list[Paper]:
    """The papers of a drawer, in the order of their keys."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE s.name = ? AND p.drawer = ? AND p.key > ? ORDER BY p.key LIMIT ?",
        (space, drawer, after, limit),
    )
    return [paper_of(row) for row in rows]


def latest_papers(
    connection: apsw.Connection, space: str, drawer: str, *, before: tuple[datetime, str] | None, limit: int
) -> list[Paper]:
    """The papers of a drawer, the latest first."""
    at, key = (to_micros(before[0]), before[1]) if before else (_END_OF_TIME, "")
    rows = connection.execute(
        f"""SELECT {_COLUMNS} FROM papers p INDEXED BY papers_latest JOIN spaces s ON s.no = p.space_no
            WHERE p.space_no = ? AND p.drawer = ? AND (p.at, p.key) < (?, ?)
            ORDER BY p.at DESC, p.key DESC LIMIT ?""",
        (space_number(connection, space), drawer, at, key, limit),
    )
    return [paper_of(row) for row in rows]


def papers_about(
    connection: apsw.Connection, space: str, drawer: str, ids: Sequence[str], *, limit: int
) -> list[Paper]:
    """The papers of a drawer about some memories, the latest first."""
    space_no = space_number(connection, space)
    found: dict[str, Paper] = {}
    for raw in map(id_bytes, dict.fromkeys(ids)):
        for column, index in (("memory_id", "papers_memory"), ("other_id", "papers_other")):
            rows = connection.execute(
                f"""SELECT {_COLUMNS} FROM papers p INDEXED BY {index} JOIN spaces s ON s.no = p.space_no
                    WHERE p.space_no = ? AND p.{column} = ? AND p.drawer = ?""",
                (space_no, raw, drawer),
            )
            found |= {paper.key: paper for paper in map(paper_of, rows)}
    return sorted(found.values(), key=lambda one: (one.at, one.key), reverse=True)[:limit]


def due_papers(connection: apsw.Connection, drawer: str, *, now: datetime, limit: int) -> list[Paper]:
    """The papers of all spaces in a drawer that are due, the longest first."""
    rows = connection.execute(
        f"""SELECT {_COLUMNS} FROM papers p INDEXED BY papers_due JOIN spaces s ON s.no = p.space_no
            WHERE p.drawer = ? AND p.due <= ? ORDER BY p.due, p.space_no, p.key LIMIT ?""",
        (drawer, to_micros(now), limit),
    )
    return [paper_of(row) for row in rows]


def all_papers(connection: apsw.Connection, space: str, *, after: tuple[str, str], limit: int) -> list[Paper]:
    """The papers of all drawers of a space."""
    rows = connection.execute(
        f"""SELECT {_COLUMNS} FROM {_TABLES} WHERE p.space_no = ? AND (p.drawer, p.key) > (?, ?)
            ORDER BY p.drawer, p.key LIMIT ?""",
        (space_number(connection, space), *after, limit),
    )
    return [paper_of(row) for row in rows]


def file_all(connection: apsw.Connection, papers: Sequence[Paper], *, space: str, space_no: int) -> None:
    """Keep papers, whatever was there before."""
    for one in papers:
        require_own(one, space)
        connection.execute(_FILE, _values(one, space_no=space_no, version=1)).fetchall()


def file_paper(connection: apsw.Connection, paper: Paper, *, space_no: int, base: int | None) -> int:
    """Keep a paper as the version after another; returns which one that is."""
    row = connection.execute(
        "SELECT version FROM papers WHERE space_no = ? AND drawer = ? AND key = ?", (space_no, paper.drawer, paper.key)
    ).fetchone()
    current = None if row is None else int(row[0])
    if current != base:
        raise stale_paper(paper, base=base, current=current)
    return int(connection.execute(_FILE, _values(paper, space_no=space_no, version=1)).fetchall()[0][0])


def keep_papers(connection: apsw.Connection, papers: Sequence[Paper], *, space_no: int, renew: bool) -> int:
    """Keep papers of another store as they are there; returns how many that has changed."""
    kept = 0
    for one in papers:
        values = _values(one, space_no=space_no, version=one.version)
        instead = f"""UPDATE SET {_INSTEAD}, version = excluded.version
            WHERE (value, version, at, due) IS NOT (excluded.value, excluded.version, excluded.at, excluded.due)"""
        connection.execute(f"{_INSERT} ON CONFLICT DO {instead if renew else 'NOTHING'}", values)
        kept += connection.changes()
    return kept


def discard_paper(connection: apsw.Connection, space: str, drawer: str, key: str) -> bool:
    """Throw a paper away; tells whether there was one."""
    connection.execute(
        "DELETE FROM papers WHERE space_no = ? AND drawer = ? AND key = ?",
        (space_number(connection, space), drawer, key),
    )
    return bool(connection.changes())


def drop_papers_about(connection: apsw.Connection, space_no: int, memory_id: bytes) -> None:
    """Destroy the papers about a memory."""
    for statement in _DROPS:
        connection.execute(statement, (space_no, memory_id))


def _values(paper: Paper, *, space_no: int, version: int) -> tuple[str | int | bytes | None, ...]:
    memory_id, other_id = subjects_of(paper)
    return (
        space_no, paper.drawer, paper.key, value_text(paper), version, to_micros(paper.at), micros_of(paper.due),
        id_bytes(memory_id) or None, id_bytes(other_id) or None,
    )  # fmt: skip
