"""All contents of the store, page by page, for copying it to another store and for comparing two."""

from collections.abc import Sequence

import apsw

from scrubjay.model.change import Origin
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.model.version import MemoryHistory
from scrubjay.ports.commit import StoredAnswer
from scrubjay.storage.body_cache import history_of
from scrubjay.storage.rows import first_within, id_bytes, id_text
from scrubjay.storage.sql_files import read_statements
from scrubjay.storage.sqlite.bodies import SqliteBodies
from scrubjay.storage.sqlite.commit import make_space
from scrubjay.storage.sqlite.history import VERSION_COLUMNS, VERSION_TABLES, version_of
from scrubjay.storage.sqlite.log import run_number
from scrubjay.storage.sqlite.rows import marks, run_name, space_number

_SQL = read_statements("sqlite/commit")


def spaces(connection: apsw.Connection) -> list[str]:
    """Return the names of all spaces, in order."""
    return [str(row[0]) for row in connection.execute("SELECT name FROM spaces ORDER BY name")]


def ids(connection: apsw.Connection, space: str, *, after: str, limit: int) -> list[str]:
    """Return ids of memories in every state, in order."""
    rows = connection.execute(
        "SELECT id FROM memories WHERE space_no = ? AND id > ? ORDER BY id LIMIT ?",
        (space_number(connection, space), id_bytes(after), limit),
    )
    return [id_text(row[0]) for row in rows]


def histories(
    connection: apsw.Connection, space: str, ids: Sequence[str], *, most_bytes: int, bodies: SqliteBodies
) -> list[MemoryHistory]:
    """Return memories with their whole history: as many of the first as have `most_bytes` together, at least one."""
    raw_ids = [id_bytes(memory_id) for memory_id in dict.fromkeys(ids)]
    rows = connection.execute(
        f"""SELECT m.id, sum(v.size), m.version, m.last_accessed, m.access_count
            FROM memories m JOIN versions v ON v.memory_no = m.no
            WHERE m.space_no = ? AND m.id IN ({marks(raw_ids)}) GROUP BY m.no""",
        (space_number(connection, space), *raw_ids),
    ).fetchall()
    by_id = {id_text(row[0]): row[1:] for row in rows}
    sizes = [(memory_id, int(by_id[memory_id][0])) for memory_id in dict.fromkeys(ids) if memory_id in by_id]
    histories: list[MemoryHistory] = []
    for memory_id in first_within(most_bytes, sizes):
        rows = connection.execute(
            f"SELECT {VERSION_COLUMNS} FROM {VERSION_TABLES} WHERE m.id = ? AND s.name = ? ORDER BY v.number DESC",
            (id_bytes(memory_id), space),
        ).fetchall()
        # Newest first, since older ones are stored as differences from newer ones.
        newest_first = [version_of(connection, row, memory_id=memory_id, space=space, bodies=bodies) for row in rows]
        _, current, accessed, count = by_id[memory_id]
        histories.append(
            history_of(newest_first[::-1], memory_id=memory_id, current=current, accessed=accessed, count=count)
        )
    return histories


def models(connection: apsw.Connection) -> dict[str, int]:
    """Return the models that have embedded something, and the dimension of their vectors."""
    return {str(name): int(size) for name, size in connection.execute("SELECT name, dimension FROM models ORDER BY no")}


def answers(connection: apsw.Connection, space: str, *, after: str | bytes | None, limit: int) -> list[StoredAnswer]:
    """Return the results of requests with idempotency keys; text keys sort before digests."""
    following = "" if after is None else "AND i.key > ?"
    rows = connection.execute(
        f"""SELECT i.key, i.request_digest, i.result, r.id, a.name, i.created_at
            FROM idempotency_keys i JOIN runs r ON r.no = i.run_no JOIN agents a ON a.no = r.agent_no
            WHERE i.space_no = ? {following} ORDER BY i.key LIMIT ?""",
        (space_number(connection, space), *(() if after is None else (after,)), limit),
    )
    return [
        StoredAnswer(key=key, digest=digest, answer=result, run=run_name(run), agent=agent, at=from_micros(created_at))
        for key, digest, result, run, agent, created_at in rows
    ]


def import_answers(connection: apsw.Connection, *, space: str, answers: Sequence[StoredAnswer], origin: Origin) -> int:
    """Copy results of another store, under the runs that wrote the versions they are about; return how many."""
    space_no = make_space(connection, space)
    copied = 0
    for answer in answers:
        author = Origin(at=origin.at, run=answer.run or origin.run, agent=answer.agent)
        run_no = run_number(connection, space_no, author)
        key_digest = answer.key_digest if isinstance(answer.key, str) else None
        # A key that came as a digest is stored as bytes, which equal no text.
        connection.execute(
            _SQL["copy_result"],
            (space_no, answer.key, answer.digest, answer.answer, run_no, to_micros(answer.at), key_digest),
        )
        copied += connection.changes()
    return copied
