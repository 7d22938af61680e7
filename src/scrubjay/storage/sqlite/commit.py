"""Commits: read the state that a plan needs, and write the plan, on the writer's connection in its transaction."""

import json
from collections.abc import Mapping, Sequence

import apsw

from scrubjay.model.change import Origin
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.ports import Commit, Committed, Embedded
from scrubjay.ports.commit import key_digest
from scrubjay.storage.body_cache import StoredVersion
from scrubjay.storage.codec import Encoded
from scrubjay.storage.plan import (
    CommitPlan,
    Dependencies,
    History,
    RelationKey,
    Runs,
    StoredMemory,
    StoredState,
    dependencies_of,
    dependencies_of_histories,
    first_answer,
    plan_adoption,
    plan_commit,
    plan_vectors,
)
from scrubjay.storage.rows import (
    STATE_NUMBERS,
    STATES,
    TIER_NUMBERS,
    canonical_ids,
    id_bytes,
    id_text,
    key_of,
    micros_of,
)
from scrubjay.storage.sql_files import read_statements
from scrubjay.storage.sqlite.bodies import SqliteBodies
from scrubjay.storage.sqlite.documents import write_documents
from scrubjay.storage.sqlite.log import append_changes, assign_runs, last_seq
from scrubjay.storage.sqlite.postings import index_passages, write_counts
from scrubjay.storage.sqlite.rows import marks, note_touches, read_model, space_number
from scrubjay.storage.sqlite.vectors import insert_vectors, restore_vectors, retire_vectors
from scrubjay.text.passages import SHAPE
from scrubjay.text.slug import bare_slug

_SQL = read_statements("sqlite/commit")
# Columns that have an index: an update leaves out those that stay the same.
_INDEXED_COLUMNS = (
    "name", "title", "title_hash", "title_slug_hash", "name_slug_hash", "content_hash", "state", "pinned", "group_name",
)  # fmt: skip
_STATE_COLUMNS = f"""m.no, m.id, m.version, m.state, m.passage_count, m.index_digest, m.facets,
    {", ".join(f"m.{column}" for column in _INDEXED_COLUMNS)}"""
_READ_MEMORY = f"SELECT {_STATE_COLUMNS} FROM memories m WHERE m.space_no = ? AND m.id = ?"
_READ_SHARERS = f"""SELECT {_STATE_COLUMNS} FROM passages p JOIN memories m ON m.no = p.id / {PASSAGES_PER_MEMORY}
    WHERE p.hash = ? AND p.space_no = ?"""
# `json.dumps` would make one for each memory.
_JSON = json.JSONEncoder(ensure_ascii=False)
# No space has this number.
_NO_SPACE = 0
_Record = dict[str, str | int | float | bytes | None]


def apply_commit(connection: apsw.Connection, commit: Commit, *, bodies: SqliteBodies) -> Committed:
    """Apply all of a commit, or raise an error and apply nothing."""
    if commit.once is not None:
        answer = find_answer(connection, commit.space, commit.once.key, commit.once.digest)
        if answer is not None:
            return Committed(seq=last_seq(connection), answer=answer)
    # A new space gets its number after the plan, which is the last that refuses a commit: `creates_only` relies on it.
    known_no = space_number(connection, commit.space)
    plan = plan_commit(commit, read_state(connection, dependencies_of(commit), space_no=known_no or _NO_SPACE))
    space_no = known_no or make_space(connection, commit.space)
    write_documents(connection, commit.documents, space_no=space_no)
    return Committed(seq=write_plan(connection, plan, space_no=space_no, bodies=bodies) or last_seq(connection))


def creates_only(commit: Commit) -> bool:
    """Return whether a commit only creates memories: what makes it fail is found before the first change."""
    return not (commit.edges or commit.origin.undoes) and all(write.base is None for write in commit.writes)


def adopt(
    connection: apsw.Connection, space: str, histories: Sequence[History], *, origin: Origin, bodies: SqliteBodies
) -> tuple[str, ...]:
    """Store memories with their history; leave those alone that are stored already."""
    space_no = make_space(connection, space)
    state = read_state(connection, dependencies_of_histories(histories), space_no=space_no)
    plan = plan_adoption(histories, state, origin=origin)
    write_plan(connection, plan, space_no=space_no, bodies=bodies)
    return tuple(memory.id for memory in plan.memories.values())


def store_vectors(
    connection: apsw.Connection,
    space: str,
    embedded: Embedded,
    *,
    memory_ids: Sequence[str],
    origin: Origin,
    bodies: SqliteBodies,
) -> None:
    """Store vectors that were made later than their texts."""
    space_no = make_space(connection, space)
    dependencies = Dependencies(memory_ids=canonical_ids(memory_ids), embedded=embedded)
    state = read_state(connection, dependencies, space_no=space_no)
    plan = plan_vectors(embedded, state, memory_ids=memory_ids, origin=origin)
    write_plan(connection, plan, space_no=space_no, bodies=bodies)


def touch(connection: apsw.Connection, space: str, ids: Sequence[str], at: int) -> tuple[int, list[int]]:
    """Count one access to each memory; return how often that was done, and the numbers of the memories."""
    space_no = make_space(connection, space)
    listed = json.dumps([id_bytes(memory_id).hex() for memory_id in dict.fromkeys(ids)])
    numbers = [int(number) for (number,) in connection.execute(_SQL["count_access"], (at, space_no, listed)).fetchall()]
    return note_touches(connection), numbers


def label(connection: apsw.Connection, key: tuple[str, str, int], before: str, message: str) -> bool:
    """Replace the message of a version, unless it has changed."""
    space, memory_id, number = key
    connection.execute(_SQL["label_version"], (message, id_bytes(memory_id), space, number, before))
    return bool(connection.changes())


def find_answer(connection: apsw.Connection, space: str, key: str, digest: bytes) -> str | None:
    """Return the result of the first request with an idempotency key."""
    row = connection.execute(_SQL["find_result"], (space, key, key_digest(key))).fetchone()
    return first_answer(row, key=key, digest=digest)


def make_space(connection: apsw.Connection, space: str) -> int:
    """Return the number of a space; its first write creates it."""
    number = space_number(connection, space)
    if number is not None:
        return number
    connection.execute("INSERT INTO spaces(name) VALUES(?)", (space,))
    return connection.last_insert_rowid()


# ---- read ----


def read_state(connection: apsw.Connection, dependencies: Dependencies, *, space_no: int) -> StoredState:
    """Return the state that a plan depends on."""
    memory_ids = [(space_no, id_bytes(memory_id)) for memory_id in dependencies.memory_ids]
    memories = dict(map(_stored_memory, connection.executemany(_READ_MEMORY, memory_ids).fetchall()))
    holders = connection.executemany(
        "SELECT name, id FROM memories WHERE space_no = ? AND name = ? AND state = 0",
        [(space_no, name) for name in dependencies.names],
    ).fetchall()
    names = {str(name): id_text(raw_id) for name, raw_id in holders}
    relations = _read_relations(connection, dependencies.relations, memories)
    if dependencies.embedded is None:
        return StoredState(memories=memories, names=names, relations=relations)
    model_no, dimension = read_model(connection, dependencies.embedded.model)
    hashes = list(dependencies.embedded.vectors)
    stored = connection.executemany(
        "SELECT hash FROM vectors WHERE space_no = ? AND model_no = ? AND hash = ?",
        [(space_no, model_no, digest) for digest in hashes],
    ).fetchall()
    embedded = {bytes(digest) for (digest,) in stored}
    sharers = connection.executemany(
        _READ_SHARERS,
        [(digest, space_no) for digest in hashes if digest not in embedded],
    ).fetchall()
    return StoredState(
        memories=memories,
        names=names,
        relations=relations,
        dimension=dimension or None,
        embedded=embedded,
        sharers=dict(map(_stored_memory, sharers)),
    )


def _stored_memory(row: tuple[int, bytes, int, int, int, bytes, str]) -> tuple[str, StoredMemory]:
    """Return the id and the row of a memory, from _STATE_COLUMNS."""
    number, raw_id, version, state, passages, index_key, facets, *columns = row
    name = columns[0]
    return id_text(raw_id), StoredMemory(
        number=number, version=version, state=STATES[state], passages=passages, index_key=index_key, name=str(name),
        facets=tuple(json.loads(facets)), columns=tuple(columns),
    )  # fmt: skip


def _read_relations(
    connection: apsw.Connection, keys: Sequence[RelationKey], memories: Mapping[str, StoredMemory]
) -> dict[RelationKey, Relation]:
    relations: dict[RelationKey, Relation] = {}
    for source, kind, target in keys:
        if source not in memories or target not in memories:
            continue
        row = connection.execute(
            _SQL["find_relation"], (memories[source].number, kind, memories[target].number)
        ).fetchone()
        if row is not None:
            text, strength, metadata, created_at = row
            relations[source, kind, target] = Relation(
                source=source, type=kind, target=target, text=text, strength=strength, metadata=json.loads(metadata),
                created_at=from_micros(created_at),
            )  # fmt: skip
    return relations


# ---- write ----


def write_plan(connection: apsw.Connection, plan: CommitPlan, *, space_no: int, bodies: SqliteBodies) -> int:
    """Write a plan; return the `seq` of its last change, 0 if it has none."""
    if plan.is_empty:
        return 0
    origin = plan.origin
    runs = Runs(origin)
    if plan.is_logged:
        runs = assign_runs(connection, space_no, origin, plan.authors, changes=len(plan.changes))
    numbers = _write_memories(connection, plan, space_no=space_no)
    if plan.versions:
        _write_versions(connection, plan, numbers, runs=runs, space_no=space_no, bodies=bodies)
    lost_hashes = _index(connection, plan, numbers, space_no=space_no) if plan.passages else set[bytes]()
    _write_relations(connection, plan, numbers, space_no=space_no)
    # The new vectors go into the rows that those of the lost texts leave.
    free = retire_vectors(connection, space_no, lost_hashes)
    if plan.embedded is not None:
        insert_vectors(connection, space_no, plan.embedded, plan.vectors, free=free)
    if not plan.is_logged:
        return 0
    if plan.once is not None:
        connection.execute(
            "INSERT INTO idempotency_keys VALUES(?, ?, ?, ?, ?, ?)",
            (space_no, plan.once.key, plan.once.digest, plan.once.answer, runs.number, to_micros(origin.at)),
        )
    return append_changes(
        connection, plan.changes, numbers, space_no=space_no, run_no=runs.number, at=origin.at,
        bodies=len(plan.authors),
    )  # fmt: skip


def _write_memories(connection: apsw.Connection, plan: CommitPlan, *, space_no: int) -> dict[str, int]:
    """Write the rows of memories; return the numbers of all memories by id."""
    numbers = {memory_id: stored.number for memory_id, stored in plan.after.items() if stored.number is not None}
    if not plan.memories:
        return numbers
    renamed_ids = {
        memory_id for memory_id in plan.revised_ids if plan.before[memory_id].name != plan.memories[memory_id].name
    }
    # Live names are unique, and one may pass from memory to memory: first every renamed memory gives its name up.
    if renamed_ids:
        connection.executemany(
            f"UPDATE memories SET state = {len(STATES)} WHERE no = ?",
            [(numbers[memory_id],) for memory_id in renamed_ids],
        )
    for memory_id in plan.revised_ids:
        record = _record(plan, memory_id)
        stored = dict(zip(_INDEXED_COLUMNS, plan.before[memory_id].columns, strict=True))
        if memory_id in renamed_ids:
            del stored["state"]
        changed = {column: value for column, value in record.items() if column not in stored or stored[column] != value}
        connection.execute(
            f"UPDATE memories SET {', '.join(f'{column} = ?' for column in changed)} WHERE no = ?",
            (*changed.values(), numbers[memory_id]),
        )
    for memory_id in plan.new_ids:
        memory = plan.memories[memory_id]
        record = _record(plan, memory_id) | {
            "id": id_bytes(memory_id), "space_no": space_no, "created_at": to_micros(memory.created_at),
            "last_accessed": micros_of(memory.last_accessed), "access_count": memory.access_count,
        }  # fmt: skip
        connection.execute(f"INSERT INTO memories({', '.join(record)}) VALUES({marks(record)})", tuple(record.values()))
        numbers[memory_id] = connection.last_insert_rowid()
    return numbers


def _record(plan: CommitPlan, memory_id: str) -> _Record:
    """Return the columns of a memory; those of its index entry only if that changes."""
    memory, after = plan.memories[memory_id], plan.after[memory_id]
    record: _Record = {
        "name": memory.name,
        "title": memory.title,
        "title_hash": key_of(memory.title.casefold()),
        "title_slug_hash": key_of(bare_slug(memory.title)),
        "name_slug_hash": key_of(bare_slug(memory.name)),
        "content_hash": key_of(memory.content),
        "state": STATE_NUMBERS[memory.state],
        "pinned": int(memory.pinned),
        "group_name": memory.group or None,
        "version": memory.version,
        "date": to_micros(memory.date),
        "updated_at": to_micros(memory.updated_at),
        "tier": TIER_NUMBERS[memory.tier],
        "relevance": memory.relevance,
        "last_confirmed": micros_of(memory.last_confirmed),
    }
    if memory_id in plan.passages:
        record |= {
            "index_digest": after.index_key,
            "passage_count": after.passages,
            "facets": _JSON.encode(after.facets),
            "passage_format": SHAPE,
        }
    return record


def _write_versions(
    connection: apsw.Connection,
    plan: CommitPlan,
    numbers: Mapping[str, int],
    *,
    runs: Runs,
    space_no: int,
    bodies: SqliteBodies,
) -> None:
    entries = [(memory_id, entry) for memory_id, its_entries in plan.versions.items() for entry in its_entries]
    whole = iter(bodies.pack(connection, [entry.version.memory for _, entry in entries], space_no=space_no))
    packed: list[Encoded] = []
    for memory_id, its_entries in plan.versions.items():
        new = [StoredVersion(entry.version.number, next(whole)) for entry in its_entries]
        is_new = memory_id not in plan.before
        packed += bodies.extend_chain(connection, numbers[memory_id], new, is_new=is_new)
        if its_entries:
            bodies.keep_written(its_entries[-1].version, packed[-1], memory_id=memory_id)
    connection.executemany(
        "INSERT INTO versions VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                numbers[memory_id], version.number, version.parent, version.action, to_micros(version.created_at),
                runs.numbers[author], version.message, int(body.encoding), body.dictionary, body.sha256, body.size,
                body.data,
            )
            for (memory_id, (version, author)), body in zip(entries, packed, strict=True)
        ],
    )  # fmt: skip


def _index(connection: apsw.Connection, plan: CommitPlan, numbers: Mapping[str, int], *, space_no: int) -> set[bytes]:
    """Index memories by their passages, and return the hashes of the texts that they have lost."""
    texts: dict[str, list[str]] = {}
    lost: set[bytes] = set()
    for memory_id, passages in plan.passages.items():
        texts[memory_id], lost_here, gained = index_passages(
            connection, numbers[memory_id], plan.memories[memory_id], passages, space_no=space_no,
            before=plan.before.get(memory_id), after=plan.after[memory_id],
        )  # fmt: skip
        lost |= lost_here
        restore_vectors(connection, space_no, gained)
    write_counts(connection, plan.count(texts), space_no=space_no)
    return lost


def _write_relations(
    connection: apsw.Connection, plan: CommitPlan, numbers: Mapping[str, int], *, space_no: int
) -> None:
    for (source, kind, target), relation in plan.relations.items():
        key = (numbers[source], kind, numbers[target])
        if relation is None:
            connection.execute("DELETE FROM relations WHERE source_no = ? AND type = ? AND target_no = ?", key)
        else:
            metadata = json.dumps(dict(relation.metadata), ensure_ascii=False)
            connection.execute(
                "INSERT OR REPLACE INTO relations VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                (*key, space_no, relation.text, relation.strength, metadata, to_micros(relation.created_at)),
            )
