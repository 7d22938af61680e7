"""Statistics and checks."""

from collections.abc import Sequence

from scrubjay.errors import BodyDamaged
from scrubjay.ports import StoreStatistics
from scrubjay.storage.body_cache import BATCH
from scrubjay.storage.postgres.bodies import Bodies
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.delta_chains import Body, encoded_of
from scrubjay.storage.postgres.query import Ask, Row
from scrubjay.storage.postgres.sql_files import named_statements
from scrubjay.storage.rows import STATES

Details = dict[str, str | int | float | bool]
_SQL = named_statements("queries/upkeep")
_MOST_PROBLEMS = 50
# Checks that read every row take long.
_PATIENT = 600


async def statistics(database: Database, space: str) -> StoreStatistics:
    """Return counts of one space and sizes of the whole store."""
    states, versions, relations, vectors, facets = await database.read(
        *_queries("memories_by_state", "versions", "relations", "vectors_by_model", "facets"), space=space
    )
    totals, details, unprotected, inherits = await database.read(
        *_queries("store_totals", "server_details", "unprotected_tables", "login_inherits_keeper"), keeper=True
    )
    is_protected = not unprotected and not inherits[0][0]
    body_bytes, stored_bytes, raw, flagged = (int(value) for value in totals[0])
    return StoreStatistics(
        memories={STATES[int(number)].value: int(count) for number, count in states},
        versions=int(versions[0][0]) if versions else 0,
        relations=int(relations[0][0]),
        body_bytes=body_bytes,
        stored_bytes=stored_bytes,
        raw_bodies=raw,
        flagged_bodies=flagged,
        vectors={str(name): int(count) for name, count in vectors},
        facets={str(facet): int(count) for facet, count in facets},
        details=_details(database, details[0], walls=is_protected),
    )


async def check(database: Database, *, deep: bool, bodies: Bodies) -> list[str]:
    """Return the problems of the database; reads every body when `deep`."""
    queries = _queries("unprotected_tables", "invalid_indexes", "login_inherits_keeper")
    unprotected, invalid, inherits = await database.read(*queries, keeper=True, seconds=_PATIENT)
    problems = [f"row-level security is off for the table {row[0]}" for row in unprotected]
    problems += [f"the index {row[0]} is not valid: REINDEX INDEX {row[0]}" for row in invalid]
    if inherits[0][0]:
        problems.append(
            "the role of the server inherits the rights of scrubjay_keeper, and so sees every space: "
            "GRANT scrubjay_keeper TO it WITH INHERIT FALSE, SET TRUE"
        )
    if deep:
        queries = _queries("memories_without_body", "memories_with_wrong_passages")
        ((without_body,),), ((with_wrong_passages,),) = await database.read(*queries, keeper=True, seconds=_PATIENT)
        if without_body:
            problems.append(f"{without_body} memories have no body")
        if with_wrong_passages:
            problems.append(f"{with_wrong_passages} memories have another number of passages than they should")
        problems += await _damaged_bodies(database, bodies)
    return problems


def _queries(*names: str) -> list[Ask]:
    return [Ask(_SQL[name]) for name in names]


async def _damaged_bodies(database: Database, bodies: Bodies) -> list[str]:
    problems: list[str] = []
    spaces = await database.rows("SELECT name FROM scrubjay.spaces ORDER BY no", keeper=True)
    for (space,) in spaces:
        after = (0, 0)
        while rows := await database.rows(_SQL["bodies"], *after, BATCH, space=str(space)):
            after = (rows[-1][0], rows[-1][1])
            problems += await _damaged(bodies, str(space), rows)
            if len(problems) >= _MOST_PROBLEMS:
                return problems[:_MOST_PROBLEMS]
    return problems


async def _damaged(bodies: Bodies, space: str, rows: Sequence[Row]) -> list[str]:
    loaded = await bodies.load(
        space, [Body(encoded_of(packed), str(memory_id), number, no) for no, number, memory_id, *packed in rows]
    )
    problems: list[str] = []
    # Newest first: older versions may be deltas of newer ones.
    for body in reversed(loaded):
        try:
            bodies.unpack(body, space=space)
        except BodyDamaged as error:
            problems.append(f"memory {body.memory_id} (version {body.version}): {error.message}")
    return problems[::-1]


def _details(database: Database, row: Row, *, walls: bool) -> Details:
    size, version, extension, schema, partitions = row
    return {
        "backend": "postgresql",
        "server": database.address.shown,
        "bytes": int(size),
        "schema": int(schema),
        "partitions": int(partitions),
        "postgresql": str(version),
        "pgvector": str(extension or ""),
        "connections": database.in_use,
        "connections_at_most": database.address.connections,
        "walls": "in order" if walls else "broken",
    }
