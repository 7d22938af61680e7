"""Versions of memories, and the relations of an earlier moment."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from scrubjay.errors import BodyDamaged
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.model.version import MemoryHistory, Version
from scrubjay.storage.body_cache import damaged_version, history_of, replay_relations
from scrubjay.storage.postgres.bodies import Body, PostgresBodies, encoded_of
from scrubjay.storage.postgres.database import Database, Row
from scrubjay.storage.postgres.read import relations
from scrubjay.storage.rows import canonical_id, canonical_ids, first_within
from scrubjay.storage.sql_files import read_statements

LAST_VERSION = 2**31 - 1
_SQL = read_statements("postgres/queries/history")
# More versions than these are decompressed in a thread.
_FEW_VERSIONS = 16


async def versions(
    database: Database,
    space: str,
    memory_id: str,
    *,
    bodies: PostgresBodies,
    limit: int,
    condition: str = "v.number < %s",
    value: int = LAST_VERSION,
) -> list[Version]:
    """Return the versions of a memory that meet a condition, newest first."""
    heads: list[Sequence[object]] = []

    async def select() -> list[Body]:
        statement = _SQL["versions"].replace("{condition}", condition)
        rows = await database.rows(statement, canonical_id(memory_id) or None, value, limit, space=space)
        heads[:] = [row[1:8] for row in rows]
        return [Body(encoded_of(row[8:]), memory_id, row[1], row[0]) for row in rows]

    selected = await bodies.select(space, select)
    return [version_of(head, body, space=space, bodies=bodies) for head, body in zip(heads, selected, strict=True)]


async def version(
    database: Database, space: str, memory_id: str, *, number: int, bodies: PostgresBodies
) -> Version | None:
    """Return one version of a memory."""
    matches = await versions(
        database, space, memory_id, condition="v.number = %s", value=number, limit=1, bodies=bodies
    )
    return matches[0] if matches else None


async def version_at(
    database: Database, space: str, memory_id: str, *, at: datetime, bodies: PostgresBodies
) -> Version | None:
    """Return the newest version of a memory at a moment."""
    condition, moment = "v.created_at <= %s", to_micros(at)
    matches = await versions(database, space, memory_id, condition=condition, value=moment, limit=1, bodies=bodies)
    return matches[0] if matches else None


async def versions_at(
    database: Database, space: str, ids: Sequence[str], *, at: datetime, bodies: PostgresBodies
) -> dict[str, Version]:
    """Return the newest version of each memory at a moment, by id."""
    heads: list[Sequence[object]] = []

    async def select() -> list[Body]:
        rows = await database.rows(_SQL["versions_at"], to_micros(at), canonical_ids(ids), space=space)
        heads[:] = [row[2:9] for row in rows]
        return [Body(encoded_of(row[9:]), str(row[1]), row[2], row[0]) for row in rows]

    selected = await bodies.select(space, select)

    def unpack() -> dict[str, Version]:
        pairs = zip(heads, selected, strict=True)
        return {body.memory_id: version_of(head, body, space=space, bodies=bodies) for head, body in pairs}

    by_id = unpack() if len(heads) <= _FEW_VERSIONS else await asyncio.to_thread(unpack)
    return {memory_id: by_id[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in by_id}


async def relations_at(database: Database, space: str, ids: Sequence[str], *, at: datetime) -> list[Relation]:
    """Return the relations of memories at a moment."""
    rows = await database.rows(_SQL["relation_changes"], canonical_ids(ids), space=space)
    return replay_relations(await relations(database, space, ids), rows, at=at)


async def histories(
    database: Database, space: str, ids: Sequence[str], *, most_bytes: int, bodies: PostgresBodies
) -> list[MemoryHistory]:
    """Return memories with their whole history: as many of the first as have `most_bytes` together, at least one."""
    in_order = canonical_ids(ids)
    rows = await database.rows(_SQL["history_sizes"], in_order, space=space)
    sizes = {str(memory_id): int(size) for memory_id, size in rows if size is not None}
    chosen = first_within(most_bytes, [(memory_id, sizes[memory_id]) for memory_id in in_order if memory_id in sizes])
    heads: list[Row] = []

    async def select() -> list[Body]:
        rows = await database.rows(_SQL["histories"], chosen, space=space)
        heads[:] = [row[1:12] for row in rows]
        return [Body(encoded_of(row[12:]), str(row[1]), row[5], row[0]) for row in rows]

    packed = await bodies.select(space, select)

    def unpack() -> dict[str, MemoryHistory]:
        versions = ((head, version_of(head[4:], body, space=space, bodies=bodies)) for head, body in pairs)
        histories: dict[str, MemoryHistory] = {}
        for memory_id, group in groupby(versions, key=lambda pair: str(pair[0][0])):
            # Newest first, since older ones are stored as differences from newer ones.
            newest_first = list(group)
            _, current, accessed, count = newest_first[0][0][:4]
            in_order = [version for _, version in reversed(newest_first)]
            histories[memory_id] = history_of(
                in_order, memory_id=memory_id, current=current, accessed=accessed, count=count
            )
        return histories

    pairs = list(zip(heads, packed, strict=True))
    histories = await asyncio.to_thread(unpack)
    return [histories[memory_id] for memory_id in chosen if memory_id in histories]


def version_of(head: Sequence[object], body: Body, *, space: str, bodies: PostgresBodies) -> Version:
    """Return the version of a body; the error for a damaged one names it."""
    number, parent, action, created_at, agent, run, message = head
    try:
        memory = bodies.unpack(body, space=space)
    except BodyDamaged as error:
        raise damaged_version(error, memory_id=body.memory_id, version=body.version) from error
    return Version(
        number=int(str(number)),
        memory=memory,
        parent=None if parent is None else int(str(parent)),
        action=str(action),
        created_at=from_micros(int(str(created_at))),
        agent=str(agent),
        run=str(run),
        message=str(message),
    )
