"""Versions of memories, and the relations of an earlier moment."""

from collections.abc import Sequence
from datetime import datetime

import apsw

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Action
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.model.version import MemoryHistory, Version
from scrubjay.storage.body_cache import LoggedRelation, damaged_version, history_of, replay_relations
from scrubjay.storage.rows import first_within, id_bytes, id_text
from scrubjay.storage.sqlite.bodies import SqliteBodies
from scrubjay.storage.sqlite.read import relations, slices
from scrubjay.storage.sqlite.rows import marks, run_name, space_number

_VERSION_COLUMNS = """m.no, v.number, v.parent, v.action, v.created_at, a.name, r.id, v.message,
    v.encoding, v.dictionary_no, v.checksum, v.size, v.body"""
_VERSION_TABLES = """memories m JOIN spaces s ON s.no = m.space_no JOIN versions v ON v.memory_no = m.no
    JOIN runs r ON r.no = v.run_no JOIN agents a ON a.no = r.agent_no"""
_SIZE = 11  # the position of `v.size` in _VERSION_COLUMNS
_RELATION_ACTIONS = f"('{Action.RELATED}', '{Action.UNRELATED}')"


def versions(
    connection: apsw.Connection, space: str, memory_id: str, *, limit: int, before: int | None, bodies: SqliteBodies
) -> list[Version]:
    """Return versions of a memory, newest first."""
    rows = connection.execute(
        f"""SELECT {_VERSION_COLUMNS} FROM {_VERSION_TABLES} WHERE m.id = ? AND s.name = ? AND v.number < ?
            ORDER BY v.number DESC LIMIT ?""",
        (id_bytes(memory_id), space, before or 1 << 62, limit),
    ).fetchall()
    return [version_of(connection, row, memory_id=memory_id, space=space, bodies=bodies) for row in rows]


def version(
    connection: apsw.Connection,
    space: str,
    memory_id: str,
    number: int,
    *,
    bodies: SqliteBodies,
    max_bytes: int | None = None,
) -> tuple[bool, Version | None]:
    """Return whether one version of a memory was read, and the version; one of more than `max_bytes` is not read."""
    row = connection.execute(
        f"SELECT {_VERSION_COLUMNS} FROM {_VERSION_TABLES} WHERE m.id = ? AND s.name = ? AND v.number = ?",
        (id_bytes(memory_id), space, number),
    ).fetchone()
    if row is None:
        return True, None
    if max_bytes is not None and int(row[_SIZE]) > max_bytes:
        return False, None
    return True, version_of(connection, row, memory_id=memory_id, space=space, bodies=bodies)


def version_at(
    connection: apsw.Connection, space: str, memory_id: str, *, at: datetime, bodies: SqliteBodies
) -> Version | None:
    """Return the version that a memory had at a moment."""
    row = connection.execute(
        f"""SELECT {_VERSION_COLUMNS} FROM {_VERSION_TABLES} WHERE m.id = ? AND s.name = ? AND v.created_at <= ?
            ORDER BY v.number DESC LIMIT 1""",
        (id_bytes(memory_id), space, to_micros(at)),
    ).fetchone()
    return None if row is None else version_of(connection, row, memory_id=memory_id, space=space, bodies=bodies)


def versions_at(
    connection: apsw.Connection, space: str, ids: Sequence[str], *, at: datetime, bodies: SqliteBodies
) -> dict[str, Version]:
    """Return the version that each memory had at a moment, by id."""
    by_id: dict[str, Version] = {}
    for raw_ids in slices(ids):
        rows = connection.execute(
            f"""SELECT {_VERSION_COLUMNS}, m.id FROM {_VERSION_TABLES} AND v.number = (SELECT w.number FROM versions w
                  WHERE w.memory_no = m.no AND w.created_at <= ? ORDER BY w.number DESC LIMIT 1)
                WHERE m.space_no = ? AND m.id IN ({marks(raw_ids)})""",
            (to_micros(at), space_number(connection, space), *raw_ids),
        ).fetchall()
        for row in rows:
            memory_id = id_text(row[-1])
            by_id[memory_id] = version_of(connection, row[:-1], memory_id=memory_id, space=space, bodies=bodies)
    return {memory_id: by_id[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in by_id}


def relations_at(connection: apsw.Connection, space: str, ids: Sequence[str], *, at: datetime) -> list[Relation]:
    """Return the relations that any of the memories had at a moment."""
    space_no = space_number(connection, space)
    logged: dict[int, LoggedRelation] = {}
    for raw_ids in slices(ids):
        numbers = f"(SELECT no FROM memories WHERE space_no = ?1 AND id IN ({marks(raw_ids)}))"
        rows = connection.execute(
            f"""SELECT seq, action, changed_at, relation FROM changes
                WHERE memory_no IN {numbers} AND action IN {_RELATION_ACTIONS} AND relation IS NOT NULL
                UNION SELECT seq, action, changed_at, relation FROM changes
                WHERE target_no IN {numbers} AND action IN {_RELATION_ACTIONS} AND relation IS NOT NULL""",
            (space_no, *raw_ids, *raw_ids),
        ).fetchall()
        logged |= {
            int(seq): (str(action), int(changed_at), str(relation)) for seq, action, changed_at, relation in rows
        }
    in_order = [logged[seq] for seq in sorted(logged)]
    return replay_relations(relations(connection, space, ids), in_order, at=at)


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
            f"SELECT {_VERSION_COLUMNS} FROM {_VERSION_TABLES} WHERE m.id = ? AND s.name = ? ORDER BY v.number DESC",
            (id_bytes(memory_id), space),
        ).fetchall()
        # Newest first, since older ones are stored as differences from newer ones.
        newest_first = [version_of(connection, row, memory_id=memory_id, space=space, bodies=bodies) for row in rows]
        _, current, accessed, count = by_id[memory_id]
        histories.append(
            history_of(newest_first[::-1], memory_id=memory_id, current=current, accessed=accessed, count=count)
        )
    return histories


def version_of(
    connection: apsw.Connection,
    row: tuple[int, int, int | None, str, int, str, str | bytes, str, int, int, bytes, int, bytes],
    *,
    memory_id: str,
    space: str,
    bodies: SqliteBodies,
) -> Version:
    """Return the version of a row of _VERSION_COLUMNS; the error for a damaged one names it."""
    memory_no, number, parent, action, created_at, agent, run, message, *packed = row
    try:
        memory = bodies.unpack(
            connection, [number, *packed], memory_no=memory_no, memory_id=memory_id, space=space
        )  # fmt: skip
    except BodyDamaged as error:
        raise damaged_version(error, memory_id=memory_id, version=number) from error
    return Version(
        number=number,
        memory=memory,
        parent=parent,
        action=action,
        created_at=from_micros(created_at),
        agent=agent,
        run=run_name(run),
        message=message,
    )
