"""What the store was: versions of memories, and the relations of a moment."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Action
from scrubjay.model.moment import from_micros, to_micros
from scrubjay.model.relation import Relation
from scrubjay.model.version import Version
from scrubjay.stores.packing import damaged_version
from scrubjay.stores.postgres.bodies import Bodies
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.lining import BODY_COLUMNS, Body, encoded_of
from scrubjay.stores.postgres.opening import plain_ids
from scrubjay.stores.postgres.planning import canonical_id
from scrubjay.stores.postgres.reading import relations
from scrubjay.stores.relating import relations_then

LAST = 2**31 - 1
_RELATING = f"('{Action.RELATED}', '{Action.UNRELATED}')"
# More are unpacked where they hold nobody up.
_FEW = 16
_VERSIONS_AT = f"""SELECT m.no, m.id::text, v.number, v.parent, v.action, v.created_at, r.agent, r.id, v.message,
      {BODY_COLUMNS}
    FROM scrubjay.memories m CROSS JOIN LATERAL (SELECT * FROM scrubjay.versions w
      WHERE w.space_no = m.space_no AND w.memory_no = m.no AND w.created_at <= %s ORDER BY w.number DESC LIMIT 1) AS v
    JOIN scrubjay.runs r ON r.space_no = v.space_no AND r.no = v.run_no
    WHERE m.space_no = scrubjay.here() AND m.id = ANY(%s::uuid[])"""


async def versions(
    database: Database,
    space: str,
    memory_id: str,
    *,
    bodies: Bodies,
    limit: int,
    test: str = "v.number < %s",
    value: int = LAST,
) -> list[Version]:
    """Versions of a memory that pass a test, newest first."""
    heads: list[Sequence[object]] = []

    async def select() -> list[Body]:
        rows = await database.rows(
            f"""SELECT m.no, v.number, v.parent, v.action, v.created_at, r.agent, r.id, v.message, {BODY_COLUMNS}
                FROM scrubjay.memories m JOIN scrubjay.versions v ON v.space_no = m.space_no AND v.memory_no = m.no
                JOIN scrubjay.runs r ON r.space_no = v.space_no AND r.no = v.run_no
                WHERE m.space_no = scrubjay.here() AND m.id = %s::uuid AND {test} ORDER BY v.number DESC LIMIT %s""",
            canonical_id(memory_id) or None, value, limit, space=space,
        )  # fmt: skip
        heads[:] = [row[1:8] for row in rows]
        return [Body(encoded_of(row[8:]), memory_id, row[1], row[0]) for row in rows]

    found = await bodies.select(space, select)
    return [version_of(head, body, space=space, bodies=bodies) for head, body in zip(heads, found, strict=True)]


async def version(database: Database, space: str, memory_id: str, *, number: int, bodies: Bodies) -> Version | None:
    """One version of a memory."""
    found = await versions(database, space, memory_id, test="v.number = %s", value=number, limit=1, bodies=bodies)
    return found[0] if found else None


async def version_at(database: Database, space: str, memory_id: str, *, at: datetime, bodies: Bodies) -> Version | None:
    """The newest version of a memory that there was at a moment."""
    test, moment = "v.created_at <= %s", to_micros(at)
    found = await versions(database, space, memory_id, test=test, value=moment, limit=1, bodies=bodies)
    return found[0] if found else None


async def versions_at(
    database: Database, space: str, ids: Sequence[str], *, at: datetime, bodies: Bodies
) -> dict[str, Version]:
    """The newest version of each memory that there was at a moment, by id."""
    heads: list[Sequence[object]] = []

    async def select() -> list[Body]:
        rows = await database.rows(_VERSIONS_AT, to_micros(at), plain_ids(ids), space=space)
        heads[:] = [row[2:9] for row in rows]
        return [Body(encoded_of(row[9:]), str(row[1]), row[2], row[0]) for row in rows]

    bodies_then = await bodies.select(space, select)

    def told() -> dict[str, Version]:
        pairs = zip(heads, bodies_then, strict=True)
        return {body.memory_id: version_of(head, body, space=space, bodies=bodies) for head, body in pairs}

    found = told() if len(heads) <= _FEW else await asyncio.to_thread(told)
    return {one: found[one] for one in dict.fromkeys(ids) if one in found}


async def relations_at(database: Database, space: str, ids: Sequence[str], *, at: datetime) -> list[Relation]:
    """Relations that touched one of the memories at a moment."""
    rows = await database.rows(
        f"""WITH ends AS (SELECT m.no FROM scrubjay.memories m
              WHERE m.space_no = scrubjay.here() AND m.id = ANY(%s::uuid[])),
              touching AS (
                SELECT c.seq, c.action, c.at, c.relation FROM ends e
                  JOIN scrubjay.changes c ON c.space_no = scrubjay.here() AND c.memory_no = e.no
                UNION
                SELECT c.seq, c.action, c.at, c.relation FROM ends e
                  JOIN scrubjay.changes c ON c.space_no = scrubjay.here() AND c.target_no = e.no)
            SELECT action, at, relation FROM touching
            WHERE relation IS NOT NULL AND action IN {_RELATING} ORDER BY seq""",
        plain_ids(ids), space=space,
    )  # fmt: skip
    return relations_then(await relations(database, space, ids), rows, at=at)


def version_of(head: Sequence[object], body: Body, *, space: str, bodies: Bodies) -> Version:
    """The version of a body; a damaged one is named."""
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
