"""Read records: each function runs on a reader's connection, inside its transaction."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence

import apsw

from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Filter, facet
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import from_micros
from scrubjay.ports import Handle
from scrubjay.storage.lexical import similar_names
from scrubjay.storage.rows import STATE_NUMBERS, STATES, id_bytes, id_text, key_of
from scrubjay.storage.sqlite.bodies import MEMORY_COLUMNS, MEMORY_TABLES, SqliteBodies
from scrubjay.storage.sqlite.lexicon import date_bounds, facet_match, lexical_candidates
from scrubjay.storage.sqlite.rows import LAST_CHARACTER, RepeatedReads, lexicon_number, marks, space_number
from scrubjay.text.slug import bare_slug, slug
from scrubjay.text.tokens import terms_of

_RELATION_COLUMNS = "s.id, r.type, t.id, r.text, r.strength, r.metadata, r.created_at"
_RELATION_TABLES = "relations r JOIN memories s ON s.no = r.source_no JOIN memories t ON t.no = r.target_no"
# The columns of a memory without a body that is too large, which SQLite then does not read.
_SMALL_COLUMNS = MEMORY_COLUMNS.replace("v.body", "iif(v.size <= ?, v.body, NULL)")
_MAX_PARAMETERS = 5_000
# How a reference is resolved. Each names its index: the planner would rather scan the space in the order of the result.
_BY_ID = "SELECT no FROM memories INDEXED BY memories_id WHERE space_no = ?2 AND id = ?1"
_BY_NAME = """
    SELECT no FROM memories INDEXED BY memories_live_name WHERE space_no = ?2 AND name = ?1 AND state = 0
    UNION SELECT no FROM memories INDEXED BY memories_other_name WHERE space_no = ?2 AND name = ?1 AND state <> 0"""
_BY_TITLE = (
    "SELECT no FROM memories INDEXED BY memories_title WHERE space_no = ?2 AND title_hash = ?1 AND title_hash <> 0"
)
_BY_SLUG = """
    SELECT no FROM memories INDEXED BY memories_title_slug
    WHERE space_no = ?2 AND title_slug_hash = ?1 AND title_slug_hash <> 0
    UNION SELECT no FROM memories INDEXED BY memories_name_slug WHERE space_no = ?2 AND name_slug_hash = ?1"""
# Each with the function that makes its value of a reference; the first with a match decides.
_LOOKUPS: tuple[tuple[str, Callable[[str], str | int | bytes]], ...] = (
    (_BY_ID, id_bytes),
    (_BY_NAME, str),
    (_BY_TITLE, lambda ref: key_of(ref.casefold())),
    (_BY_SLUG, lambda ref: key_of(bare_slug(ref))),
)
_MAX_MATCHES = 20
_MAX_NAMES = 200


def get(connection: apsw.Connection, space: str, ids: Sequence[str], *, bodies: SqliteBodies) -> dict[str, Memory]:
    """Return the memories that exist in a space, by id, in the order of the ids."""
    by_id: dict[str, Memory] = {}
    for raw_ids in slices(ids):
        rows = connection.execute(
            f"SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.id IN ({marks(raw_ids)}) AND s.name = ?",
            (*raw_ids, space),
        ).fetchall()
        by_id |= {memory.id: memory for memory in (bodies.read_memory(connection, row) for row in rows)}
    return {memory_id: by_id[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in by_id}


def get_small(
    connection: apsw.Connection, space: str, ids: Sequence[str], *, bodies: SqliteBodies, max_bytes: int,
    repeated: RepeatedReads | None,
) -> dict[str, Memory] | None:  # fmt: skip
    """Return the same, or None if the bodies have more than `max_bytes` together; those at hand are not read."""
    present = {} if repeated is None else repeated.find(connection, [(space, memory_id) for memory_id in ids])
    by_id: dict[str, Memory] = {memory.id: memory for memory in present.values()}
    raw_ids = [id_bytes(memory_id) for memory_id in ids if memory_id not in by_id]
    if raw_ids:
        rows = connection.execute(
            f"SELECT {_SMALL_COLUMNS} FROM {MEMORY_TABLES} WHERE m.id IN ({marks(raw_ids)}) AND s.name = ?",
            (max_bytes, *raw_ids, space),
        ).fetchall()
        if sum(size for *_, size, _ in rows) > max_bytes:
            return None
        memories = [bodies.read_memory(connection, row) for row in rows]
        by_id |= {memory.id: memory for memory in memories}
        if repeated is not None:
            read = zip(rows, memories, strict=True)
            repeated.keep({(space, memory.id): memory for row, memory in read if bodies.may_keep(row, memory)})
    return {memory_id: by_id[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in by_id}


def find(connection: apsw.Connection, space: str, ref: str, *, state: State | None) -> tuple[Handle, ...]:
    """Return the memories that a reference means: those with this id, else name, else title, else slug."""
    space_no = space_number(connection, space)
    if space_no is None:
        return ()
    for lookup, value_of in _LOOKUPS:
        value = value_of(ref)
        if value and (handles := _handles(connection, space_no, lookup, value, state)):
            return handles
    return ()


def nearest(connection: apsw.Connection, space: str, ref: str, *, limit: int) -> tuple[str, ...]:
    """Return names that resemble a reference: some with the same beginning, some of memories with its words."""
    space_no = space_number(connection, space)
    start = slug(ref)[:2]
    if space_no is None or not start:
        return ()
    names = connection.execute(
        "SELECT name FROM memories WHERE space_no = ? AND state = 0 AND name >= ? AND name < ? LIMIT ?",
        (space_no, start, start + LAST_CHARACTER, _MAX_NAMES),
    ).fetchall()
    passages = lexical_candidates(connection, space, terms_of(ref)[:16], Filter(), limit=_MAX_NAMES)
    numbers = list(dict.fromkeys(number // PASSAGES_PER_MEMORY for number, _ in passages))
    names += connection.execute(
        f"SELECT name FROM memories WHERE space_no = ? AND no IN ({marks(numbers)})", (space_no, *numbers)
    ).fetchall()
    return similar_names(ref, (str(name) for (name,) in names), limit=limit)


def labels(connection: apsw.Connection, space: str, field: str, *, prefix: str, limit: int) -> tuple[str, ...]:
    """Return the names, or the values of a facet, that begin with a prefix, in order."""
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
    names: set[str] = set()
    for start in {prefix, prefix.casefold()}:
        rows = connection.execute(
            """SELECT name FROM memories INDEXED BY memories_live_name
               WHERE space_no = ? AND state = 0 AND name >= ? AND name < ? ORDER BY name LIMIT ?""",
            (space_no, start, start + LAST_CHARACTER, limit),
        )
        names |= {str(row[0]) for row in rows}
    return tuple(sorted(names)[:limit])


def same_content(connection: apsw.Connection, space: str, content: str) -> tuple[str, ...]:
    """Return the ids of live memories that may have exactly this content."""
    rows = connection.execute(
        "SELECT id FROM memories WHERE space_no = ? AND content_hash = ? AND content_hash <> 0 AND state = 0 LIMIT ?",
        (space_number(connection, space), key_of(content), _MAX_MATCHES),
    )
    return tuple(id_text(row[0]) for row in rows)


def relations(connection: apsw.Connection, space: str, ids: Sequence[str]) -> list[Relation]:
    """Return the relations that any of the memories is the source or target of."""
    space_no = space_number(connection, space)
    by_key: dict[tuple[str, str, str], Relation] = {}
    for raw_ids in slices(ids):
        rows = connection.execute(
            f"""WITH ends(no) AS (SELECT no FROM memories WHERE space_no = ? AND id IN ({marks(raw_ids)}))
                SELECT {_RELATION_COLUMNS} FROM {_RELATION_TABLES} WHERE r.source_no IN ends
                UNION SELECT {_RELATION_COLUMNS} FROM {_RELATION_TABLES} WHERE r.target_no IN ends""",
            (space_no, *raw_ids),
        )
        by_key |= {relation.key: relation for relation in map(_relation, rows)}
    return sorted(by_key.values(), key=lambda relation: (relation.created_at, relation.type, relation.target))


def sizes(connection: apsw.Connection, space: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the plain and the stored size of the bodies of memories, in bytes."""
    by_id: dict[str, tuple[int, int]] = {}
    for raw_ids in slices(ids):
        rows = connection.execute(
            f"""SELECT m.id, v.size, length(v.body) FROM memories m
                JOIN versions v ON v.memory_no = m.no AND v.number = m.version
                WHERE m.space_no = (SELECT no FROM spaces WHERE name = ?) AND m.id IN ({marks(raw_ids)})""",
            (space, *raw_ids),
        )
        by_id |= {id_text(memory_id): (int(size), int(stored)) for memory_id, size, stored in rows}
    return by_id


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


def list_ids(connection: apsw.Connection, space: str, filter: Filter, *, limit: int, after: str | None) -> list[str]:
    """Return the ids of memories that pass a filter, most recently updated first."""
    space_no = space_number(connection, space)
    if space_no is None:
        return []
    tests, values = ["m.space_no = ?", "m.state = ?"], [space_no, STATE_NUMBERS[filter.state]]
    for test, moment in (("m.date >= ?", filter.since), ("m.date < ?", filter.until)):
        if moment is not None:
            tests.append(test)
    values += date_bounds(filter)
    parameters: list[str | int | bytes] = [*values]
    if match := facet_match(space_no, filter):
        tests.append(f"m.no IN (SELECT rowid / {PASSAGES_PER_MEMORY} FROM postings WHERE postings MATCH ?)")
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
    """Return the ids of the live pinned memories, oldest first."""
    rows = connection.execute(
        """SELECT id FROM memories WHERE space_no = (SELECT no FROM spaces WHERE name = ?) AND pinned = 1 AND state = 0
           ORDER BY created_at, id""",
        (space,),
    )
    return [id_text(row[0]) for row in rows]


def unread(connection: apsw.Connection, space: str, *, but: Collection[str], limit: int) -> tuple[int, list[str]]:
    """Return the number of live memories without a read, and the ids of the oldest."""
    others = json.dumps([id_bytes(memory_id).hex() for memory_id in but])
    rows = connection.execute(
        """SELECT id, count(*) OVER () FROM memories WHERE space_no = ? AND state = 0 AND access_count = 0
             AND id NOT IN (SELECT unhex(value) FROM json_each(?))
           ORDER BY created_at, id LIMIT ?""",
        (space_number(connection, space), others, limit),
    ).fetchall()
    return int(rows[0][1]) if rows else 0, [id_text(row[0]) for row in rows]


def members(connection: apsw.Connection, space: str, group: str) -> list[str]:
    """Return the ids of the memories of a group, oldest first."""
    rows = connection.execute(
        "SELECT id FROM memories WHERE space_no = ? AND group_name = ? ORDER BY no",
        (space_number(connection, space), group),
    )
    return [id_text(row[0]) for row in rows]


def slices(ids: Sequence[str]) -> Iterator[list[bytes]]:
    """Yield ids in portions that fit into one statement."""
    raw_ids = [id_bytes(memory_id) for memory_id in dict.fromkeys(ids)]
    for start in range(0, len(raw_ids), _MAX_PARAMETERS):
        yield raw_ids[start : start + _MAX_PARAMETERS]


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
    connection: apsw.Connection, space_no: int, lookup: str, value: str | int | bytes, state: State | None
) -> tuple[Handle, ...]:
    # A branch has its memory's name: unless the caller wants branches, only its id matches it.
    hidden = STATE_NUMBERS[State.BRANCHED] if state is None and lookup is not _BY_ID else None
    rows = connection.execute(
        f"""SELECT id, name, title, state FROM memories
            WHERE no IN ({lookup}) AND state = coalesce(?4, state) AND state IS NOT ?5
            ORDER BY +state, +no LIMIT ?3""",
        (value, space_no, _MAX_MATCHES, None if state is None else STATE_NUMBERS[state], hidden),
    )
    handles = [Handle(id=id_text(row[0]), name=row[1], title=row[2], state=STATES[int(row[3])]) for row in rows]
    live = tuple(handle for handle in handles if handle.state is State.LIVE)
    return live or tuple(handles)
