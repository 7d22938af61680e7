"""Read records: most reads are one message to the server."""

from collections.abc import Collection, Sequence

from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Filter, facet
from scrubjay.model.relation import Relation
from scrubjay.ports import Handle
from scrubjay.storage.lexical import similar_names
from scrubjay.storage.plan import first_answer
from scrubjay.storage.postgres.bodies import Body, PostgresBodies, memory_body
from scrubjay.storage.postgres.database import Database, SqlQuery
from scrubjay.storage.postgres.lexicon import lexical_candidates, passing_test
from scrubjay.storage.postgres.rows import LAST_CHARACTER, digest_of, relation_of
from scrubjay.storage.rows import STATE_NUMBERS, STATES, canonical_id, canonical_ids, key_of
from scrubjay.storage.sql_files import read_statements
from scrubjay.text.slug import bare_slug, slug
from scrubjay.text.tokens import terms_of

_SQL = read_statements("postgres/queries/read")
# The indexes for prefixes hold so many characters.
_INDEXED_CHARACTERS = 64
_MAX_MATCHES = 20
_MAX_NAMES = 200
_NO_ID = "00000000-0000-0000-0000-000000000000"
_FROM = "FROM scrubjay.memories m"
_IN_SPACE = "m.space_no = scrubjay.current_space()"


async def find_answer(database: Database, space: str, key: str, digest: bytes) -> str | None:
    """Return the result of the first request with an idempotency key."""
    rows = await database.rows(
        """SELECT request_digest, answer FROM scrubjay.idempotency_keys
           WHERE space_no = scrubjay.current_space() AND key_digest = %s""",
        digest_of(key), space=space,
    )  # fmt: skip
    return first_answer((bytes(rows[0][0]), str(rows[0][1])) if rows else None, key=key, digest=digest)


async def get(database: Database, space: str, ids: Sequence[str], *, bodies: PostgresBodies) -> dict[str, Memory]:
    """Return the memories that exist in a space, by id, in the order of the ids."""
    if not ids:
        return {}

    async def select() -> list[Body]:
        rows = await database.rows("SELECT * FROM scrubjay.get_memories(%s::uuid[])", canonical_ids(ids), space=space)
        return [memory_body(row) for row in rows]

    memories = {memory.id: memory for memory in await bodies.read(space, select)}
    return {memory_id: memories[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in memories}


async def find(database: Database, space: str, ref: str, *, state: State | None) -> tuple[Handle, ...]:
    """Return the memories that a reference means: those with this id, else name, else title, else slug."""
    rows = await database.rows(
        "SELECT * FROM scrubjay.find_memories(%s::uuid, %s, %s, %s, %s::smallint, %s)",
        canonical_id(ref) or None, digest_of(ref), key_of(ref.casefold()), key_of(bare_slug(ref)),
        None if state is None else STATE_NUMBERS[state], _MAX_MATCHES, space=space,
    )  # fmt: skip
    handles = [Handle(id=row[0], name=row[1], title=row[2], state=STATES[int(row[3])]) for row in rows]
    live = tuple(handle for handle in handles if handle.state is State.LIVE)
    return tuple(handles) if state is not None else live or tuple(handles)


async def nearest(database: Database, space: str, ref: str, *, limit: int) -> tuple[str, ...]:
    """Return names that resemble a reference: some with the same beginning, some of memories with its words."""
    start = slug(ref)[:2]
    if not start:
        return ()
    passages = await lexical_candidates(database, space, terms_of(ref)[:16], Filter(), limit=_MAX_NAMES)
    numbers = list(dict.fromkeys(number // PASSAGES_PER_MEMORY for number, _ in passages))
    with_same_start, with_same_words = await database.read(
        SqlQuery(_SQL["names_with_prefix"], (*_prefix_range(start), _MAX_NAMES)),
        SqlQuery(f"SELECT m.name FROM scrubjay.memories m WHERE {_IN_SPACE} AND m.no = ANY(%s::bigint[])", (numbers,)),
        space=space,
        unrestricted=True,
    )
    return similar_names(ref, (str(name) for (name,) in (*with_same_start, *with_same_words)), limit=limit)


async def labels(database: Database, space: str, field: str, *, prefix: str, limit: int) -> tuple[str, ...]:
    """Return the names, or the values of a facet, that begin with a prefix, in order."""
    if "\x00" in field + prefix:
        return ()
    if field != "name":
        values = (*_prefix_range(facet(field, prefix)), limit)
        rows = await database.rows(_SQL["facets_with_prefix"], *values, space=space, unrestricted=True)
        return tuple(str(row[0])[len(field) + 1 :] for row in rows)
    queries = [
        SqlQuery(_SQL["names_with_prefix"], (*_prefix_range(start), limit)) for start in {prefix, prefix.casefold()}
    ]
    names = {str(name) for rows in await database.read(*queries, space=space, unrestricted=True) for (name,) in rows}
    return tuple(sorted(names)[:limit])


async def facet_values(
    database: Database, space: str, field: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """Return the values of a facet and how many memories have each, most first."""
    start = facet(field, "")
    if "\x00" in start:
        return []
    values = (STATE_NUMBERS[state], *_prefix_range(start), limit)
    rows = await database.rows(_SQL["facet_values"], *values, space=space, unrestricted=True)
    return [(str(value)[len(start) :], int(memories)) for value, memories in rows]


async def same_content(database: Database, space: str, content: str) -> tuple[str, ...]:
    """Return the ids of live memories that may have exactly this content."""
    statement = "SELECT * FROM scrubjay.memories_with_content(%s::bigint, %s)"
    return tuple(str(row[0]) for row in await database.rows(statement, key_of(content), _MAX_MATCHES, space=space))


async def pinned(database: Database, space: str) -> list[str]:
    """Return the ids of live pinned memories, oldest first."""
    return [str(row[0]) for row in await database.rows("SELECT * FROM scrubjay.pinned_memories()", space=space)]


async def unread(database: Database, space: str, *, but: Collection[str], limit: int) -> tuple[int, list[str]]:
    """Return the number of live memories without a read, and the ids of the oldest."""
    rows = await database.rows(
        f"""SELECT m.id, count(*) OVER () {_FROM} WHERE {_IN_SPACE} AND m.state = 0 AND m.access_count = 0
              AND m.id <> ALL(%s::uuid[]) ORDER BY m.created_at, m.id LIMIT %s""",
        canonical_ids([*but]), limit, space=space,
    )  # fmt: skip
    return int(rows[0][1]) if rows else 0, [str(row[0]) for row in rows]


async def members(database: Database, space: str, group: str) -> list[str]:
    """Return the ids of the memories of a group, oldest first."""
    return await _ids(database, space, "m.group_key = %s AND m.group_key <> 0 ORDER BY m.no", key_of(group))


async def relations(database: Database, space: str, ids: Sequence[str]) -> list[Relation]:
    """Return the relations that any of the memories is the source or target of."""
    rows = await database.rows(_SQL["relations"], canonical_ids(ids), space=space)
    return sorted(map(relation_of, rows), key=lambda relation: (relation.created_at, relation.type, relation.target))


async def sizes(database: Database, space: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the plain and the stored size of the bodies of memories, in bytes."""
    rows = await database.rows(_SQL["sizes"], canonical_ids(ids), space=space)
    return {str(memory_id): (int(size), int(stored)) for memory_id, size, stored in rows}


async def spaces(database: Database) -> list[str]:
    """Return the names of all spaces, in order."""
    return [
        str(row[0]) for row in await database.rows("SELECT name FROM scrubjay.spaces ORDER BY name", unrestricted=True)
    ]


async def ids(database: Database, space: str, *, after: str, limit: int) -> list[str]:
    """Return the ids of memories in every state, in order."""
    return await _ids(database, space, "m.id > %s::uuid ORDER BY m.id LIMIT %s", canonical_id(after) or _NO_ID, limit)


async def list_ids(database: Database, space: str, filter: Filter, *, limit: int, after: str | None) -> list[str]:
    """Return the ids of memories that pass a filter, most recently updated first."""
    tests, values = ["m.state = %s"], list[object]([STATE_NUMBERS[filter.state]])
    test = passing_test(space, filter)
    if filter.facet_groups:
        # The index of words covers all spaces; the words themselves belong to one.
        tests.append(f"""m.no = ANY(ARRAY(SELECT DISTINCT f.id / {PASSAGES_PER_MEMORY} FROM (SELECT p.id, p.space_no
            FROM scrubjay.passages p WHERE {test.statement} OFFSET 0) AS f
            WHERE f.space_no = scrubjay.current_space()))""")
    elif test.values:
        tests.append(test.statement.replace("p.date", "m.date"))
    values += test.values
    if after is not None:
        tests.append(
            f"(m.updated_at, m.id) < (SELECT m.updated_at, m.id {_FROM} WHERE {_IN_SPACE} AND m.id = %s::uuid)"
        )
        values.append(canonical_id(after) or None)
    chosen = f"{' AND '.join(tests)} ORDER BY m.updated_at DESC, m.id DESC LIMIT %s"
    return await _ids(database, space, chosen, *values, limit, unrestricted=bool(filter.facet_groups))


async def _ids(database: Database, space: str, chosen: str, *values: object, unrestricted: bool = False) -> list[str]:
    rows = await database.rows(
        f"SELECT m.id {_FROM} WHERE {_IN_SPACE} AND {chosen}", *values, space=space, unrestricted=unrestricted
    )
    return [str(row[0]) for row in rows]


def _prefix_range(prefix: str) -> tuple[str, str, str]:
    """Return the range of indexed characters that a prefix spans, and the prefix."""
    start = prefix[:_INDEXED_CHARACTERS]
    return start, start + LAST_CHARACTER, prefix
