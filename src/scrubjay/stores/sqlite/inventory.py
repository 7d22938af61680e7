"""All that the store holds, page by page: for whoever moves it elsewhere or compares it."""

from collections.abc import Sequence

import apsw

from scrubjay.model.answer import Answer
from scrubjay.model.change import Origin
from scrubjay.model.moment import from_micros, to_micros
from scrubjay.model.version import Dossier, Version
from scrubjay.stores.packing import dossier_of
from scrubjay.stores.rows import first_within, id_bytes, id_text
from scrubjay.stores.sqlite.bodies import Bodies
from scrubjay.stores.sqlite.log import run_number
from scrubjay.stores.sqlite.past import VERSION_COLUMNS, VERSION_TABLES, version_of
from scrubjay.stores.sqlite.records import make_space
from scrubjay.stores.sqlite.rows import marks, run_name, space_number


def spaces(connection: apsw.Connection) -> list[str]:
    """The names of all spaces, in order."""
    return [str(row[0]) for row in connection.execute("SELECT name FROM spaces ORDER BY name")]


def ids(connection: apsw.Connection, space: str, *, after: str, limit: int) -> list[str]:
    """Ids of memories in every state, in order."""
    rows = connection.execute(
        "SELECT id FROM memories WHERE space_no = ? AND id > ? ORDER BY id LIMIT ?",
        (space_number(connection, space), id_bytes(after), limit),
    )
    return [id_text(row[0]) for row in rows]


def dossiers(
    connection: apsw.Connection, space: str, ids: Sequence[str], *, most_bytes: int, bodies: Bodies
) -> list[Dossier]:
    """The first of some memories with their whole past, as many as have so many bytes together."""
    raw = [id_bytes(one) for one in dict.fromkeys(ids)]
    sizes = connection.execute(
        f"""SELECT m.id, sum(v.size), m.version, m.last_accessed, m.access_count
            FROM memories m JOIN versions v ON v.memory_no = m.no
            WHERE m.space_no = ? AND m.id IN ({marks(raw)}) GROUP BY m.no""",
        (space_number(connection, space), *raw),
    ).fetchall()
    beside = {id_text(row[0]): row[1:] for row in sizes}
    chosen = first_within(most_bytes, [(one, int(beside[one][0])) for one in dict.fromkeys(ids) if one in beside])
    found: list[Dossier] = []
    for memory_id in chosen:
        versions = _versions(connection, space, memory_id, bodies=bodies)
        _, current, accessed, count = beside[memory_id]
        found.append(dossier_of(versions, memory_id=memory_id, current=current, accessed=accessed, count=count))
    return found


def models(connection: apsw.Connection) -> dict[str, int]:
    """The models that have embedded something, and the length of their vectors."""
    return {str(name): int(size) for name, size in connection.execute("SELECT name, dimension FROM models ORDER BY no")}


def answers(connection: apsw.Connection, space: str, *, after: str | bytes | None, limit: int) -> list[Answer]:
    """What was answered under idempotency keys; texts come before digests."""
    further = "" if after is None else "AND o.key > ?"
    rows = connection.execute(
        f"""SELECT o.key, o.digest, o.answer, r.id, a.name, o.at
            FROM once o JOIN runs r ON r.no = o.run_no JOIN agents a ON a.no = r.agent_no
            WHERE o.space_no = ? {further} ORDER BY o.key LIMIT ?""",
        (space_number(connection, space), *(() if after is None else (after,)), limit),
    )
    return [
        Answer(key=key, digest=digest, answer=answer, run=run_name(run), agent=agent, at=from_micros(at))
        for key, digest, answer, run, agent, at in rows
    ]


def keep_answers(connection: apsw.Connection, *, space: str, answers: Sequence[Answer], origin: Origin) -> int:
    """Keep answers of another store, under the runs that the versions of what they tell of belong to."""
    space_no = make_space(connection, space)
    kept = 0
    for one in answers:
        run_no = run_number(connection, space_no, Origin(at=origin.at, run=one.run or origin.run, agent=one.agent))
        other = one.key_digest if isinstance(one.key, str) else None
        # A key that came as a digest is kept as bytes, which equal no text.
        connection.execute(
            """INSERT OR IGNORE INTO once SELECT ?1, ?2, ?3, ?4, ?5, ?6
               WHERE NOT EXISTS (SELECT 1 FROM once WHERE space_no = ?1 AND key = ?7)""",
            (space_no, one.key, one.digest, one.answer, run_no, to_micros(one.at), other),
        )
        kept += connection.changes()
    return kept


def _versions(connection: apsw.Connection, space: str, memory_id: str, *, bodies: Bodies) -> tuple[Version, ...]:
    rows = connection.execute(
        f"SELECT {VERSION_COLUMNS} FROM {VERSION_TABLES} WHERE m.id = ? AND s.name = ? ORDER BY v.number DESC",
        (id_bytes(memory_id), space),
    ).fetchall()
    # Newest first, since older ones are told by what they differ in from newer ones.
    read = [version_of(connection, row, memory_id=memory_id, space=space, bodies=bodies) for row in rows]
    return tuple(reversed(read))
