"""Reading records: most reads are one message."""

from collections.abc import Sequence

from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Filter, facet
from scrubjay.model.relation import Relation
from scrubjay.ports import Handle
from scrubjay.storage.postgres.bodies import Bodies
from scrubjay.storage.postgres.commit.plan import canonical_id
from scrubjay.storage.postgres.commit.read import answer_of, plain_ids, relation_of
from scrubjay.storage.postgres.commit.rows import written
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.delta_chains import Body, memory_body
from scrubjay.storage.postgres.lexicon import lexical_candidates, passing_test
from scrubjay.storage.postgres.query import Ask
from scrubjay.storage.postgres.sql_files import named_statements
from scrubjay.storage.postgres.words import digest_of
from scrubjay.storage.rows import STATE_NUMBERS, STATES, key_of
from scrubjay.storage.suggestions import most_alike
from scrubjay.text.slug import bare_slug, slug
from scrubjay.text.tokens import terms_of

_SQL = named_statements("queries/read")
_LAST_CHARACTER = "\U0010ffff"
# The indexes for prefixes hold so many characters.
_INDEXED_CHARACTERS = 64
_MOST_MATCHES = 20
_MOST_NAMES = 200
_HERE = "m.space_no = scrubjay.current_space()"


async def find_answer(database: Database, space: str, key: str, digest: bytes) -> str | None:
    """Return the answer under an idempotency key."""
    rows = await database.rows(
        """SELECT request_digest, answer FROM scrubjay.idempotency_keys
           WHERE space_no = scrubjay.current_space() AND key_digest = %s""",
        digest_of(key), space=space,
    )  # fmt: skip
    return answer_of([(written(row[0]), row[1]) for row in rows], key=key, digest=digest)


async def get(database: Database, space: str, ids: Sequence[str], *, bodies: Bodies) -> dict[str, Memory]:
    """Return the memories that exist in a space, by id, in the order of the ids."""
    plain = plain_ids(ids)
    if not ids:
        return {}

    async def select() -> list[Body]:
        rows = await database.rows("SELECT * FROM scrubjay.get_memories(%s::uuid[])", plain, space=space)
        return [memory_body(row) for row in rows]

    memories = {memory.id: memory for memory in await bodies.read(space, select)}
    return {memory_id: memories[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in memories}


async def find(database: Database, space: str, ref: str, *, state: State | None) -> tuple[Handle, ...]:
    """Return the memories that match a reference, at the first level with a match."""
    rows = await database.rows(
        "SELECT * FROM scrubjay.find_memories(%s::uuid, %s, %s, %s, %s::smallint, %s)",
        canonical_id(ref) or None, digest_of(ref), key_of(ref.casefold()), key_of(bare_slug(ref)),
        None if state is None else STATE_NUMBERS[state], _MOST_MATCHES, space=space,
    )  # fmt: skip
    handles = [Handle(id=row[0], name=row[1], title=row[2], state=STATES[int(row[3])]) for row in rows]
    live = tuple(handle for handle in handles if handle.state is State.LIVE)
    return tuple(handles) if state is not None else live or tuple(handles)


async def nearest(database: Database, space: str, ref: str, *, limit: int) -> tuple[str, ...]:
    """Return the names most similar to a reference, among names with the same start and memories with its words."""
    start = slug(ref)[:2]
    if not start:
        return ()
    passages = await lexical_candidates(database, space, terms_of(ref)[:16], Filter(), limit=_MOST_NAMES)
    numbers = list(dict.fromkeys(number // PASSAGES_PER_MEMORY for number, _ in passages))
    alike, mentioned = await database.read(
        Ask(_SQL["names_with_prefix"], (*_prefix_range(start), _MOST_NAMES)),
        Ask(f"SELECT m.name FROM scrubjay.memories m WHERE {_HERE} AND m.no = ANY(%s::bigint[])", (numbers,)),
        space=space,
        keeper=True,
    )
    return most_alike(ref, (str(name) for (name,) in (*alike, *mentioned)), limit=limit)


async def labels(database: Database, space: str, field: str, *, prefix: str, limit: int) -> tuple[str, ...]:
    """Return the names, or the values of a facet, that begin with a prefix, in order."""
    if "\x00" in field + prefix:
        return ()
    if field != "name":
        values = (*_prefix_range(facet(field, prefix)), limit)
        rows = await database.rows(_SQL["facets_with_prefix"], *values, space=space, keeper=True)
        return tuple(str(row[0])[len(field) + 1 :] for row in rows)
    queries = [Ask(_SQL["names_with_prefix"], (*_prefix_range(start), limit)) for start in {prefix, prefix.casefold()}]
    names = {str(name) for rows in await database.read(*queries, space=space, keeper=True) for (name,) in rows}
    return tuple(sorted(names)[:limit])


async def facet_values(
    database: Database, space: str, field: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """Return the values of a facet and how many memories have each, most first."""
    start = facet(field, "")
    if "\x00" in start:
        return []
    values = (STATE_NUMBERS[state], *_prefix_range(start), limit)
    rows = await database.rows(_SQL["facet_values"], *values, space=space, keeper=True)
    return [(str(value)[len(start) :], int(memories)) for value, memories in rows]


async def same_content(database: Database, space: str, content: str) -> tuple[str, ...]:
    """Return the ids of live memories that may have exactly this content."""
    statement = "SELECT * FROM scrubjay.memories_with_content(%s::bigint, %s)"
    return tuple(str(row[0]) for row in await database.rows(statement, key_of(content), _MOST_MATCHES, space=space))


async def pinned(database: Database, space: str) -> list[str]:
    """Return the ids of live pinned memories, oldest first."""
    return [str(row[0]) for row in await database.rows("SELECT * FROM scrubjay.pinned_memories()", space=space)]


async def members(database: Database, space: str, group: str) -> list[str]:
    """Return the ids of the records of a group, oldest first."""
    return await _ids(database, space, "m.group_key = %s AND m.group_key <> 0 ORDER BY m.no", key_of(group))


async def relations(database: Database, space: str, ids: Sequence[str]) -> list[Relation]:
    """Return the relations of memories."""
    rows = await database.rows(_SQL["relations"], plain_ids(ids), space=space)
    return sorted(map(relation_of, rows), key=lambda relation: (relation.created_at, relation.type, relation.target))


async def sizes(database: Database, space: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the sizes of bodies in bytes, plain and stored."""
    rows = await database.rows(_SQL["sizes"], plain_ids(ids), space=space)
    return {str(memory_id): (int(size), int(stored)) for memory_id, size, stored in rows}


async def list_ids(database: Database, space: str, filter: Filter, *, limit: int, after: str | None) -> list[str]:
    """Return the ids that pass a filter, most recently updated first."""
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
        tests.append(f"(m.updated_at, m.id) < (SELECT m.updated_at, m.id {_FROM} WHERE {_HERE} AND m.id = %s::uuid)")
        values.append(canonical_id(after) or None)
    chosen = f"{' AND '.join(tests)} ORDER BY m.updated_at DESC, m.id DESC LIMIT %s"
    return await _ids(database, space, chosen, *values, limit, keeper=bool(filter.facet_groups))


_FROM = "FROM scrubjay.memories m"


async def _ids(database: Database, space: str, chosen: str, *values: object, keeper: bool = False) -> list[str]:
    rows = await database.rows(f"SELECT m.id {_FROM} WHERE {_HERE} AND {chosen}", *values, space=space, keeper=keeper)
    return [str(row[0]) for row in rows]


def _prefix_range(prefix: str) -> tuple[str, str, str]:
    """Return the range of indexed characters that a prefix spans, and the prefix."""
    start = prefix[:_INDEXED_CHARACTERS]
    return start, start + _LAST_CHARACTER, prefix
