"""Statistics and checks."""

from collections.abc import Sequence

from scrubjay.errors import BodyDamaged
from scrubjay.ports import StoreStatistics
from scrubjay.stores.packing import BATCH
from scrubjay.stores.postgres.asking import Ask, Row
from scrubjay.stores.postgres.bodies import Bodies
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.lining import BODY_COLUMNS, Body, encoded_of
from scrubjay.stores.rows import STATES

Details = dict[str, str | int | float | bool]
_HERE = "space_no = scrubjay.here()"
_MOST_PROBLEMS = 50
# What goes over every row may take its time.
_PATIENT = 600


async def statistics(database: Database, space: str) -> StoreStatistics:
    """Counts of one space, sizes of the whole store."""
    states, ledger, relations, vectors, facets = await database.read(
        Ask(f"SELECT state, memories FROM scrubjay.lexicons WHERE {_HERE} AND memories > 0"),
        Ask(f"SELECT bodies FROM scrubjay.ledgers WHERE {_HERE}"),
        Ask(f"SELECT count(*) FROM scrubjay.relations WHERE {_HERE}"),
        Ask(f"""SELECT o.name, count(*) FROM scrubjay.vectors v JOIN scrubjay.models o ON o.no = v.model_no
                WHERE v.{_HERE} GROUP BY o.name"""),
        Ask(f"""SELECT facet, memories FROM scrubjay.facets WHERE {_HERE} AND state = 0
                ORDER BY memories DESC LIMIT 1000"""),
        space=space,
    )
    sums, details, open_tables, inherits = await database.read(
        Ask(_SUMS), Ask(_DETAILS), Ask(_OPEN_TABLES), Ask(_INHERITS), keeper=True
    )
    has_walls = not open_tables and not inherits[0][0]
    body_bytes, stored_bytes, raw, flagged = (int(value) for value in sums[0])
    return StoreStatistics(
        memories={STATES[int(number)].value: int(count) for number, count in states},
        versions=int(ledger[0][0]) if ledger else 0,
        relations=int(relations[0][0]),
        body_bytes=body_bytes,
        stored_bytes=stored_bytes,
        raw_bodies=raw,
        flagged_bodies=flagged,
        vectors={str(name): int(count) for name, count in vectors},
        facets={str(facet): int(count) for facet, count in facets},
        details=_details(database, details[0], walls=has_walls),
    )


async def check(database: Database, *, deep: bool, bodies: Bodies) -> list[str]:
    """What is wrong with the database; every body is read when `deep`."""
    open_tables, invalid, inherits = await database.read(
        Ask(_OPEN_TABLES), Ask(_INVALID), Ask(_INHERITS), keeper=True, seconds=_PATIENT
    )
    problems = [f"row-level security is off for the table {row[0]}" for row in open_tables]
    problems += [f"the index {row[0]} is not valid: REINDEX INDEX {row[0]}" for row in invalid]
    if inherits[0][0]:
        problems.append(
            "the role of the server inherits the rights of scrubjay_keeper, and so sees every space: "
            "GRANT scrubjay_keeper TO it WITH INHERIT FALSE, SET TRUE"
        )
    if deep:
        ((homeless,),), ((stray,),) = await database.read(Ask(_HOMELESS), Ask(_STRAY), keeper=True, seconds=_PATIENT)
        if homeless:
            problems.append(f"{homeless} memories have no body")
        if stray:
            problems.append(f"{stray} memories have another number of passages than they should")
        problems += await _damaged_bodies(database, bodies)
    return problems


async def _damaged_bodies(database: Database, bodies: Bodies) -> list[str]:
    problems: list[str] = []
    spaces = await database.rows("SELECT name FROM scrubjay.spaces ORDER BY no", keeper=True)
    for (space,) in spaces:
        after = (0, 0)
        while rows := await database.rows(_EVERY_BODY, *after, BATCH, space=str(space)):
            after = (rows[-1][0], rows[-1][1])
            problems += await _damaged(bodies, str(space), rows)
            if len(problems) >= _MOST_PROBLEMS:
                return problems[:_MOST_PROBLEMS]
    return problems


async def _damaged(bodies: Bodies, space: str, rows: Sequence[Row]) -> list[str]:
    found = await bodies.load(
        space, [Body(encoded_of(packed), str(one), number, no) for no, number, one, *packed in rows]
    )
    problems: list[str] = []
    # Newest first, since older ones are told by what they differ in from newer ones.
    for body in reversed(found):
        try:
            bodies.unpack(body, space=space)
        except BodyDamaged as error:
            problems.append(f"memory {body.memory_id} (version {body.version}): {error.message}")
    return problems[::-1]


def _details(database: Database, row: Row, *, walls: bool) -> Details:
    size, version, extension, migrations, partitions = row
    return {
        "backend": "postgresql",
        "server": database.address.shown,
        "bytes": int(size),
        "schema": int(migrations),
        "partitions": int(partitions),
        "postgresql": str(version),
        "pgvector": str(extension or ""),
        "connections": database.in_use,
        "connections_at_most": database.address.connections,
        "walls": "in order" if walls else "broken",
    }


_SUMS = """SELECT coalesce(sum(body_bytes), 0), coalesce(sum(stored_bytes), 0), coalesce(sum(raw_bodies), 0),
    coalesce(sum(flagged_bodies), 0) FROM scrubjay.ledgers"""
_DETAILS = """SELECT pg_database_size(current_database()), current_setting('server_version'),
    (SELECT extversion FROM pg_extension WHERE extname = 'vector'), (SELECT count(*) FROM scrubjay.migrations),
    (SELECT value::integer FROM scrubjay.meta WHERE key = 'partitions')"""
_OPEN_TABLES = """SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'space_no'
    WHERE c.relnamespace = 'scrubjay'::regnamespace AND c.relkind IN ('r', 'p')
      AND NOT (c.relrowsecurity AND c.relforcerowsecurity)"""
# Indexes of vectors are made while others work, and looked after by who searches them.
_INVALID = """SELECT c.oid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_am a ON a.oid = c.relam
    WHERE c.relnamespace = 'scrubjay'::regnamespace AND NOT i.indisvalid AND a.amname NOT IN ('hnsw', 'ivfflat')"""
_INHERITS = """SELECT pg_has_role(session_user, 'scrubjay_keeper', 'USAGE')
    AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = session_user)"""
_HOMELESS = """SELECT count(*) FROM scrubjay.memories m WHERE NOT EXISTS (SELECT 1 FROM scrubjay.versions v
    WHERE v.space_no = m.space_no AND v.memory_no = m.no AND v.number = m.version)"""
_STRAY = """SELECT count(*) FROM scrubjay.memories m WHERE m.passages <> (SELECT count(*) FROM scrubjay.passages p
    WHERE p.space_no = m.space_no AND p.id >= m.no * 65536 AND p.id < (m.no + 1) * 65536)"""
_EVERY_BODY = f"""SELECT v.memory_no, v.number, m.id, {BODY_COLUMNS}
    FROM scrubjay.versions v JOIN scrubjay.memories m ON m.space_no = v.space_no AND m.no = v.memory_no
    WHERE v.{_HERE} AND (v.memory_no, v.number) > (%s, %s) ORDER BY v.memory_no, v.number LIMIT %s"""
