"""Reading records: most questions are one message."""

from collections.abc import Sequence

from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Filter, facet
from scrubjay.model.relation import Relation
from scrubjay.ports import Handle
from scrubjay.stores.alike import most_alike
from scrubjay.stores.postgres.asking import Ask
from scrubjay.stores.postgres.bodies import MEMORY_TABLES, Bodies
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.keeping import written
from scrubjay.stores.postgres.lexicon import lexical_candidates, passing_test
from scrubjay.stores.postgres.lining import Body, memory_body
from scrubjay.stores.postgres.opening import answer_of, plain_ids, relation_of
from scrubjay.stores.postgres.planning import canonical_id
from scrubjay.stores.postgres.words import digest_of
from scrubjay.stores.rows import STATE_NUMBERS, STATES, key_of
from scrubjay.text.slug import bare_slug, slug
from scrubjay.text.tokens import terms_of

_LAST_CHARACTER = "\U0010ffff"
_START = 64
_MOST_MATCHES = 20
_MOST_NAMES = 200
_HERE = "m.space_no = scrubjay.here()"


async def answered(database: Database, space: str, key: str, digest: bytes) -> str | None:
    """The answer that was given under an idempotency key."""
    rows = await database.rows(
        "SELECT digest, answer FROM scrubjay.once WHERE space_no = scrubjay.here() AND key_digest = %s",
        digest_of(key), space=space,
    )  # fmt: skip
    return answer_of([(written(row[0]), row[1]) for row in rows], key=key, digest=digest)


async def get(database: Database, space: str, ids: Sequence[str], *, bodies: Bodies) -> dict[str, Memory]:
    """The memories that exist in a space, by id, in the order asked for."""
    plain = plain_ids(ids)
    if not ids:
        return {}

    async def select() -> list[Body]:
        rows = await database.rows("SELECT * FROM scrubjay.get_1(%s::uuid[])", plain, space=space)
        return [memory_body(row) for row in rows]

    found = {memory.id: memory for memory in await bodies.read(space, select)}
    return {one: found[one] for one in dict.fromkeys(ids) if one in found}


async def find(database: Database, space: str, ref: str, *, state: State | None) -> tuple[Handle, ...]:
    """Who answers to a reference, at the first level that has an answer."""
    rows = await database.rows(
        "SELECT * FROM scrubjay.find_2(%s::uuid, %s, %s, %s, %s::smallint, %s)",
        canonical_id(ref) or None, digest_of(ref), key_of(ref.casefold()), key_of(bare_slug(ref)),
        None if state is None else STATE_NUMBERS[state], _MOST_MATCHES, space=space,
    )  # fmt: skip
    found = [Handle(id=row[0], name=row[1], title=row[2], state=STATES[int(row[3])]) for row in rows]
    live = tuple(handle for handle in found if handle.state is State.LIVE)
    return tuple(found) if state is not None else live or tuple(found)


async def nearest(database: Database, space: str, ref: str, *, limit: int) -> tuple[str, ...]:
    """Names that look like a reference: those that begin alike, and those of memories with its words."""
    start = slug(ref)[:2]
    if not start:
        return ()
    passages = await lexical_candidates(database, space, terms_of(ref)[:16], Filter(), limit=_MOST_NAMES)
    numbers = list(dict.fromkeys(number // PASSAGES_PER_MEMORY for number, _ in passages))
    named = f"SELECT m.name FROM scrubjay.memories m WHERE {_HERE}"
    alike, mentioned = await database.read(
        Ask(
            f"""{named} AND m.state = 0 AND {_begins("m.name")}
                ORDER BY substr(m.name, 1, {_START}), m.name LIMIT {_MOST_NAMES}""",
            _beginning(start),
        ),
        Ask(f"{named} AND m.no = ANY(%s::bigint[])", (numbers,)),
        space=space,
        keeper=True,
    )
    return most_alike(ref, (str(name) for (name,) in (*alike, *mentioned)), limit=limit)


async def labels(database: Database, space: str, field: str, *, prefix: str, limit: int) -> tuple[str, ...]:
    """The names, or the values of a facet, that begin with a prefix, in order."""
    if "\x00" in field + prefix:
        return ()
    if field != "name":
        rows = await database.rows(
            f"""SELECT m.facet FROM scrubjay.facets m WHERE {_HERE} AND m.state = 0 AND {_begins("m.facet")}
                ORDER BY substr(m.facet, 1, {_START}), m.facet LIMIT %s""",
            *_beginning(facet(field, prefix)), limit, space=space, keeper=True,
        )  # fmt: skip
        return tuple(str(row[0])[len(field) + 1 :] for row in rows)
    asks = [
        Ask(
            f"""SELECT m.name FROM scrubjay.memories m WHERE {_HERE} AND m.state = 0 AND {_begins("m.name")}
                ORDER BY substr(m.name, 1, {_START}), m.name LIMIT %s""",
            (*_beginning(start), limit),
        )
        for start in {prefix, prefix.casefold()}
    ]
    found = {str(name) for rows in await database.read(*asks, space=space, keeper=True) for (name,) in rows}
    return tuple(sorted(found)[:limit])


async def facet_values(
    database: Database, space: str, field: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """The values of a facet and how many memories have each, most first."""
    start = facet(field, "")
    if "\x00" in start:
        return []
    rows = await database.rows(
        f"""SELECT m.facet, m.memories FROM scrubjay.facets m WHERE {_HERE} AND m.state = %s AND {_begins("m.facet")}
            ORDER BY m.memories DESC, m.facet LIMIT %s""",
        STATE_NUMBERS[state], *_beginning(start), limit, space=space, keeper=True,
    )  # fmt: skip
    return [(str(value)[len(start) :], int(memories)) for value, memories in rows]


async def same_content(database: Database, space: str, content: str) -> tuple[str, ...]:
    """Ids of live memories that may have exactly this content."""
    asked = "SELECT * FROM scrubjay.same_content_1(%s::bigint, %s)"
    return tuple(str(row[0]) for row in await database.rows(asked, key_of(content), _MOST_MATCHES, space=space))


async def pinned(database: Database, space: str) -> list[str]:
    """Ids of the live pinned memories, oldest first."""
    return [str(row[0]) for row in await database.rows("SELECT * FROM scrubjay.pinned_1()", space=space)]


async def members(database: Database, space: str, group: str) -> list[str]:
    """Ids of the records of a group, oldest first."""
    return await _ids(database, space, "m.group_key = %s AND m.group_key <> 0 ORDER BY m.no", key_of(group))


async def relations(database: Database, space: str, ids: Sequence[str]) -> list[Relation]:
    """Relations that touch one of the memories."""
    rows = await database.rows(
        f"""WITH ends AS (SELECT m.no FROM scrubjay.memories m WHERE {_HERE} AND m.id = ANY(%s::uuid[])),
              touching AS (
                SELECT r.* FROM ends e JOIN scrubjay.relations r ON r.space_no = scrubjay.here() AND r.source_no = e.no
                UNION
                SELECT r.* FROM ends e JOIN scrubjay.relations r ON r.space_no = scrubjay.here() AND r.target_no = e.no)
            SELECT a.id, r.type, b.id, r.text, r.strength, r.metadata, r.created_at FROM touching r
            JOIN scrubjay.memories a ON a.space_no = r.space_no AND a.no = r.source_no
            JOIN scrubjay.memories b ON b.space_no = r.space_no AND b.no = r.target_no""",
        plain_ids(ids), space=space,
    )  # fmt: skip
    return sorted(map(relation_of, rows), key=lambda one: (one.created_at, one.type, one.target))


async def sizes(database: Database, space: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """How many bytes the bodies of memories have, and in how many they are stored."""
    rows = await database.rows(
        f"SELECT m.id, v.size, length(v.body) FROM {MEMORY_TABLES} WHERE {_HERE} AND m.id = ANY(%s::uuid[])",
        plain_ids(ids), space=space,
    )  # fmt: skip
    return {str(memory_id): (int(size), int(stored)) for memory_id, size, stored in rows}


async def list_ids(database: Database, space: str, wanted: Filter, *, limit: int, after: str | None) -> list[str]:
    """Ids that pass a filter, most recently updated first."""
    tests, values = ["m.state = %s"], list[object]([STATE_NUMBERS[wanted.state]])
    test = passing_test(space, wanted)
    if wanted.facet_groups:
        # Words are looked up in all spaces, as they are keys of one.
        tests.append(f"""m.no = ANY(ARRAY(SELECT DISTINCT f.id / {PASSAGES_PER_MEMORY} FROM (SELECT p.id, p.space_no
            FROM scrubjay.passages p WHERE {test.statement} OFFSET 0) AS f WHERE f.space_no = scrubjay.here()))""")
    elif test.values:
        tests.append(test.statement.replace("p.date", "m.date"))
    values += test.values
    if after is not None:
        tests.append(f"(m.updated_at, m.id) < (SELECT m.updated_at, m.id {_FROM} WHERE {_HERE} AND m.id = %s::uuid)")
        values.append(canonical_id(after) or None)
    chosen = f"{' AND '.join(tests)} ORDER BY m.updated_at DESC, m.id DESC LIMIT %s"
    return await _ids(database, space, chosen, *values, limit, keeper=bool(wanted.facet_groups))


_FROM = "FROM scrubjay.memories m"


async def _ids(database: Database, space: str, chosen: str, *values: object, keeper: bool = False) -> list[str]:
    rows = await database.rows(f"SELECT m.id {_FROM} WHERE {_HERE} AND {chosen}", *values, space=space, keeper=keeper)
    return [str(row[0]) for row in rows]


def _begins(column: str) -> str:
    """The test for a beginning; the index has the first characters, and only the keeper may use it."""
    start = f"substr({column}, 1, {_START})"
    return f"{start} >= %s AND {start} < %s AND starts_with({column}, %s)"


def _beginning(prefix: str) -> tuple[str, str, str]:
    return prefix[:_START], prefix[:_START] + _LAST_CHARACTER, prefix
