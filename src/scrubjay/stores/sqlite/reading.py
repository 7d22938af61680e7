"""Reading records: each function runs on a reader's connection, inside its transaction."""

import json
from collections.abc import Callable, Iterator, Sequence

import apsw

from scrubjay.model.memory import Memory, State
from scrubjay.model.moment import from_micros
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Filter, facet
from scrubjay.model.relation import Relation
from scrubjay.ports import Handle
from scrubjay.stores.alike import most_alike
from scrubjay.stores.rows import STATE_NUMBERS, STATES, id_bytes, id_text, key_of
from scrubjay.stores.sqlite.bodies import MEMORY_COLUMNS, MEMORY_TABLES, Bodies
from scrubjay.stores.sqlite.lexicon import date_bounds, facet_match, lexical_candidates
from scrubjay.stores.sqlite.rows import LAST_CHARACTER, lexicon_number, marks, space_number
from scrubjay.text.slug import bare_slug, slug
from scrubjay.text.tokens import terms_of

_RELATION_COLUMNS = "a.id, e.type, b.id, e.text, e.strength, e.metadata, e.created_at"
_RELATION_ENDS = "JOIN memories a ON a.no = e.source_no JOIN memories b ON b.no = e.target_no"
# The columns of memories; a body that is too large is not even looked at.
_SMALL_COLUMNS = MEMORY_COLUMNS.replace("v.body", "iif(v.size <= ?, v.body, NULL)")
_MOST_PARAMETERS = 5_000
# The levels of a reference. Each names its index: the planner would rather walk the space in the order of the answer.
_BY_ID = "SELECT no FROM memories INDEXED BY memories_id WHERE space_no = ?2 AND id = ?1"
_BY_NAME = """
    SELECT no FROM memories INDEXED BY memories_live_name WHERE space_no = ?2 AND name = ?1 AND state = 0
    UNION SELECT no FROM memories INDEXED BY memories_name WHERE space_no = ?2 AND name = ?1 AND state <> 0"""
_BY_TITLE = (
    "SELECT no FROM memories INDEXED BY memories_title WHERE space_no = ?2 AND title_key = ?1 AND title_key <> 0"
)
_BY_BARE = """
    SELECT no FROM memories INDEXED BY memories_bare WHERE space_no = ?2 AND bare_key = ?1 AND bare_key <> 0
    UNION SELECT no FROM memories INDEXED BY memories_bare_name WHERE space_no = ?2 AND name_key = ?1"""
# Each with what it is looked up by: only as far as nobody answers before.
_LEVELS: tuple[tuple[str, Callable[[str], str | int | bytes]], ...] = (
    (_BY_ID, id_bytes),
    (_BY_NAME, str),
    (_BY_TITLE, lambda ref: key_of(ref.casefold())),
    (_BY_BARE, lambda ref: key_of(bare_slug(ref))),
)
_MOST_MATCHES = 20
_MOST_NAMES = 200


def get(connection: apsw.Connection, space: str, ids: Sequence[str], *, bodies: Bodies) -> dict[str, Memory]:
    """The memories that exist in a space, by id, in the order asked for."""
    found: dict[str, Memory] = {}
    for raw in slices(ids):
        rows = connection.execute(
            f"SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.id IN ({marks(raw)}) AND s.name = ?", (*raw, space)
        ).fetchall()
        found |= {memory.id: memory for memory in (bodies.read_memory(connection, row) for row in rows)}
    return {one: found[one] for one in dict.fromkeys(ids) if one in found}


def get_small(
    connection: apsw.Connection, space: str, ids: Sequence[str], *, bodies: Bodies, most: int
) -> dict[str, Memory] | None:
    """The same, unless their bodies have more bytes than that."""
    raw = [id_bytes(one) for one in ids]
    rows = connection.execute(
        f"SELECT {_SMALL_COLUMNS} FROM {MEMORY_TABLES} WHERE m.id IN ({marks(raw)}) AND s.name = ?", (most, *raw, space)
    ).fetchall()
    if sum(size for *_, size, _ in rows) > most:
        return None
    found = {memory.id: memory for memory in (bodies.read_memory(connection, row) for row in rows)}
    return {one: found[one] for one in dict.fromkeys(ids) if one in found}


def find(connection: apsw.Connection, space: str, ref: str, *, state: State | None) -> tuple[Handle, ...]:
    """Who answers to a reference, at the first level that has an answer."""
    space_no = space_number(connection, space)
    if space_no is None:
        return ()
    for level, key in _LEVELS:
        value = key(ref)
        if value and (handles := _handles(connection, space_no, level, value, state)):
            return handles
    return ()


def nearest(connection: apsw.Connection, space: str, ref: str, *, limit: int) -> tuple[str, ...]:
    """Names that look like a reference: those that begin alike, and those of memories with its words."""
    space_no = space_number(connection, space)
    start = slug(ref)[:2]
    if space_no is None or not start:
        return ()
    names = connection.execute(
        "SELECT name FROM memories WHERE space_no = ? AND state = 0 AND name >= ? AND name < ? LIMIT ?",
        (space_no, start, start + LAST_CHARACTER, _MOST_NAMES),
    ).fetchall()
    passages = lexical_candidates(connection, space, terms_of(ref)[:16], Filter(), limit=_MOST_NAMES)
    numbers = list(dict.fromkeys(number // PASSAGES_PER_MEMORY for number, _ in passages))
    names += connection.execute(
        f"SELECT name FROM memories WHERE space_no = ? AND no IN ({marks(numbers)})", (space_no, *numbers)
    ).fetchall()
    return most_alike(ref, (str(name) for (name,) in names), limit=limit)


def labels(connection: apsw.Connection, space: str, field: str, *, prefix: str, limit: int) -> tuple[str, ...]:
    """The names, or the values of a facet, that begin with a prefix, in order."""
    space_no = space_number(connection, space)
    if space_no is None:
        return ()
    if field != "name":
        start = facet(field, prefix)
        rows = connection.execute(
            "SELECT facet FROM facets WHERE lexicon_no = ? AND facet >= ? AND facet < ? ORDER BY facet LIMIT ?",
            (lexicon_number(space_no, State.LIVE), start, start + LAST_CHARACTER, limit),
        )
        return tuple(str(row[0])[len(field) + 1 :] for row in rows)
    found: set[str] = set()
    for start in {prefix, prefix.casefold()}:
        rows = connection.execute(
            """SELECT name FROM memories INDEXED BY memories_live_name
               WHERE space_no = ? AND state = 0 AND name >= ? AND name < ? ORDER BY name LIMIT ?""",
            (space_no, start, start + LAST_CHARACTER, limit),
        )
        found |= {str(row[0]) for row in rows}
    return tuple(sorted(found)[:limit])


def same_content(connection: apsw.Connection, space: str, content: str) -> tuple[str, ...]:
    """Ids of live memories that may have exactly this content."""
    rows = connection.execute(
        "SELECT id FROM memories WHERE space_no = ? AND content_key = ? AND content_key <> 0 AND state = 0 LIMIT ?",
        (space_number(connection, space), key_of(content), _MOST_MATCHES),
    )
    return tuple(id_text(row[0]) for row in rows)


def relations(connection: apsw.Connection, space: str, ids: Sequence[str]) -> list[Relation]:
    """Relations that touch one of the memories."""
    space_no = space_number(connection, space)
    found: dict[tuple[str, str, str], Relation] = {}
    for raw in slices(ids):
        rows = connection.execute(
            f"""WITH ends(no) AS (SELECT no FROM memories WHERE space_no = ? AND id IN ({marks(raw)}))
                SELECT {_RELATION_COLUMNS} FROM relations e {_RELATION_ENDS} WHERE e.source_no IN ends
                UNION SELECT {_RELATION_COLUMNS} FROM relations e {_RELATION_ENDS} WHERE e.target_no IN ends""",
            (space_no, *raw),
        )
        found |= {relation.key: relation for relation in map(_relation, rows)}
    return sorted(found.values(), key=lambda one: (one.created_at, one.type, one.target))


def sizes(connection: apsw.Connection, space: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """How many bytes the bodies of memories have, and in how many they are stored."""
    space_no = space_number(connection, space)
    found: dict[str, tuple[int, int]] = {}
    for raw in slices(ids):
        rows = connection.execute(
            f"""SELECT m.id, v.size, length(v.body) FROM memories m
                JOIN versions v ON v.memory_no = m.no AND v.number = m.version
                WHERE m.space_no = ? AND m.id IN ({marks(raw)})""",
            (space_no, *raw),
        )
        found |= {id_text(memory_id): (int(size), int(stored)) for memory_id, size, stored in rows}
    return found


def list_ids(connection: apsw.Connection, space: str, wanted: Filter, *, limit: int, after: str | None) -> list[str]:
    """Ids that pass a filter, most recently updated first."""
    space_no = space_number(connection, space)
    if space_no is None:
        return []
    tests, values = ["m.space_no = ?", "m.state = ?"], [space_no, STATE_NUMBERS[wanted.state]]
    for test, moment in (("m.date >= ?", wanted.since), ("m.date < ?", wanted.until)):
        if moment is not None:
            tests.append(test)
    values += date_bounds(wanted)
    parameters: list[str | int | bytes] = [*values]
    if match := facet_match(space_no, wanted):
        tests.append(f"m.no IN (SELECT rowid / {PASSAGES_PER_MEMORY} FROM lexicon WHERE lexicon MATCH ?)")
        parameters.append(match)
    if after is not None:
        tests.append("(m.updated_at, m.id) < (SELECT updated_at, id FROM memories WHERE id = ? AND space_no = ?)")
        parameters += [id_bytes(after), space_no]
    rows = connection.execute(
        f"SELECT m.id FROM memories m WHERE {' AND '.join(tests)} ORDER BY m.updated_at DESC, m.id DESC LIMIT ?",
        (*parameters, limit),
    )
    return [id_text(row[0]) for row in rows]


def pinned(connection: apsw.Connection, space: str) -> list[str]:
    """Ids of the live pinned memories, oldest first."""
    rows = connection.execute(
        "SELECT id FROM memories WHERE space_no = ? AND pinned = 1 AND state = 0 ORDER BY created_at, id",
        (space_number(connection, space),),
    )
    return [id_text(row[0]) for row in rows]


def members(connection: apsw.Connection, space: str, group: str) -> list[str]:
    """Ids of the records of a group, oldest first."""
    rows = connection.execute(
        "SELECT id FROM memories WHERE space_no = ? AND grouped = ? ORDER BY no",
        (space_number(connection, space), group),
    )
    return [id_text(row[0]) for row in rows]


def slices(ids: Sequence[str]) -> Iterator[list[bytes]]:
    """Ids in portions that fit into one statement."""
    raw = [id_bytes(one) for one in dict.fromkeys(ids)]
    for start in range(0, len(raw), _MOST_PARAMETERS):
        yield raw[start : start + _MOST_PARAMETERS]


def _relation(row: tuple[bytes, str, bytes, str, float, str, int]) -> Relation:
    source, kind, target, text, strength, metadata, created_at = row
    return Relation(
        source=id_text(source),
        type=kind,
        target=id_text(target),
        text=text,
        strength=strength,
        metadata=json.loads(metadata),
        created_at=from_micros(created_at),
    )


def _handles(
    connection: apsw.Connection, space_no: int, level: str, value: str | int | bytes, state: State | None
) -> tuple[Handle, ...]:
    # A branch has its memory's name, and is meant only by who asks for branches, or by its id.
    hidden = STATE_NUMBERS[State.BRANCHED] if state is None and level is not _BY_ID else None
    rows = connection.execute(
        f"""SELECT id, name, title, state FROM memories
            WHERE no IN ({level}) AND state = coalesce(?4, state) AND state IS NOT ?5
            ORDER BY +state, +no LIMIT ?3""",
        (value, space_no, _MOST_MATCHES, None if state is None else STATE_NUMBERS[state], hidden),
    )
    found = [Handle(id=id_text(row[0]), name=row[1], title=row[2], state=STATES[int(row[3])]) for row in rows]
    live = tuple(handle for handle in found if handle.state is State.LIVE)
    return live or tuple(found)
