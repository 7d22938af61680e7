"""Apply commits: each function runs on the writer's connection, inside its transaction."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import apsw

from scrubjay.errors import KeyReused, NameTaken, NotFound, StaleVersion
from scrubjay.model.change import Action, Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage
from scrubjay.model.query import facets_of
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.model.version import Version
from scrubjay.ports import Commit, Committed, Edge, MemoryHistory, Write
from scrubjay.ports.commit import key_digest
from scrubjay.storage.rows import (
    STATE_NUMBERS,
    STATES,
    TIER_NUMBERS,
    id_bytes,
    id_text,
    index_key_of,
    key_of,
    micros_of,
)
from scrubjay.storage.sql_files import read_statements
from scrubjay.storage.sqlite.bodies import SqliteBodies
from scrubjay.storage.sqlite.documents import write_documents
from scrubjay.storage.sqlite.log import append_change, last_seq, run_number
from scrubjay.storage.sqlite.postings import IndexEntry, index_passages
from scrubjay.storage.sqlite.rows import lexicon_number, space_number
from scrubjay.storage.sqlite.vectors import restore_vectors, retire_vectors, store_vectors
from scrubjay.text.passages import SHAPE
from scrubjay.text.slug import bare_slug

_SQL = read_statements("sqlite/commit")
# Columns that have an index: an update leaves out those that stay the same. The name and title have hashes beside them.
_INDEXED_COLUMNS = ("name", "title", "content_hash", "state", "pinned", "group_name")
_OTHER_COLUMNS = ("version", "date", "updated_at", "tier", "relevance", "last_confirmed")


class _StoredMemory(NamedTuple):
    """The row of a stored memory."""

    number: int
    version: int
    state: int
    passage_count: int
    index_digest: bytes
    facets: str
    indexed: tuple[str | int | None, ...]


def apply_commit(connection: apsw.Connection, commit: Commit, *, bodies: SqliteBodies) -> Committed:
    """Apply all of a commit, or raise an error and apply nothing."""
    space_no = make_space(connection, commit.space)
    if commit.once is not None:
        result = find_answer(connection, commit.space, commit.once.key, commit.once.digest)
        if result is not None:
            return Committed(seq=last_seq(connection), answer=result)
    for memory_id, version in commit.expected:
        _check_version(connection, memory_id, version, space_no)
    run_no = run_number(connection, space_no, commit.origin)
    seq, lost_hashes = 0, set[bytes]()
    for write in commit.writes:
        seq, lost = _apply_write(
            connection, write, space_no=space_no, run_no=run_no, origin=commit.origin, bodies=bodies
        )
        lost_hashes |= lost
    for edge in commit.edges:
        seq = _apply_edge(connection, edge, space_no=space_no, run_no=run_no, origin=commit.origin) or seq
    # The new vectors go into the rows that those of the lost texts leave.
    free = retire_vectors(connection, space_no, lost_hashes)
    if commit.embedded is not None:
        written = [write.memory.id for write in commit.writes]
        store_vectors(connection, space_no, run_no, commit.embedded, at=commit.origin.at, written=written, free=free)
    write_documents(connection, commit.documents, space=commit.space, space_no=space_no)
    if commit.once is not None:
        connection.execute(
            "INSERT INTO idempotency_keys VALUES(?, ?, ?, ?, ?, ?)",
            (space_no, commit.once.key, commit.once.digest, commit.once.answer, run_no, to_micros(commit.origin.at)),
        )
    return Committed(seq=seq or last_seq(connection))


def find_answer(connection: apsw.Connection, space: str, key: str, digest: bytes) -> str | None:
    """Return the result of the first request with an idempotency key."""
    row = connection.execute(_SQL["find_result"], (space, key, key_digest(key))).fetchone()
    if row is None:
        return None
    request_digest, result = row
    if request_digest != digest:
        raise KeyReused(
            f"idempotency key {key!r} was used for another request", hint="Use a new key for a new request", key=key
        )
    return str(result)


def adopt(
    connection: apsw.Connection,
    space: str,
    histories: Sequence[tuple[MemoryHistory, tuple[Passage, ...]]],
    *,
    origin: Origin,
    bodies: SqliteBodies,
) -> tuple[str, ...]:
    """Store memories with their history; leave those alone that are stored already."""
    space_no = make_space(connection, space)
    run_no = run_number(connection, space_no, origin)
    adopted: list[str] = []
    for memory_history, passages in histories:
        memory = memory_history.memory
        if _find(connection, memory.id, space_no) is not None:
            continue
        _check_name(connection, memory, space_no)
        number = _insert_memory(connection, memory, space_no=space_no)
        for version in sorted(memory_history.versions, key=lambda version: version.number):
            author = Origin(at=version.created_at, run=version.run or origin.run, agent=version.agent)
            _insert_version(
                connection, number, version, bodies=bodies, space_no=space_no,
                run_no=run_number(connection, space_no, author),
            )  # fmt: skip
        index_memory(connection, number, memory, passages, space_no=space_no)
        append_change(
            connection, space_no=space_no, run_no=run_no, number=number, action=Action.IMPORTED,
            version=memory.version, base=None, passages_before=0, at=origin.at,
        )  # fmt: skip
        adopted.append(memory.id)
    return tuple(adopted)


def touch(connection: apsw.Connection, space_no: int, ids: Sequence[str], at: int) -> None:
    """Count one access to each memory."""
    connection.executemany(_SQL["count_access"], [(at, id_bytes(memory_id), space_no) for memory_id in ids])


def make_space(connection: apsw.Connection, space: str) -> int:
    """Return the number of a space; its first write creates it."""
    number = space_number(connection, space)
    if number is not None:
        return number
    connection.execute("INSERT INTO spaces(name) VALUES(?)", (space,))
    return connection.last_insert_rowid()


def _apply_write(
    connection: apsw.Connection, write: Write, *, space_no: int, run_no: int, origin: Origin, bodies: SqliteBodies
) -> tuple[int, set[bytes]]:
    """Return the `seq` of a write, and the hashes of the texts that its memory had before and has no longer."""
    memory = write.memory
    stored = _check_version(connection, memory.id, write.base, space_no)
    _check_name(connection, memory, space_no)
    if stored is None:
        number, passages_before = _insert_memory(connection, memory, space_no=space_no), 0
    else:
        number, passages_before = stored.number, stored.passage_count
        _update_changed(connection, stored, memory)
    version = Version(
        number=memory.version, memory=memory, parent=write.base, action=write.action,
        created_at=memory.updated_at, message=write.message,
    )  # fmt: skip
    _insert_version(connection, number, version, bodies=bodies, space_no=space_no, run_no=run_no)
    if stored is None:
        lost_hashes = index_memory(connection, number, memory, write.passages, space_no=space_no)
    else:
        former = IndexEntry(lexicon_number(space_no, STATES[stored.state]), tuple(json.loads(stored.facets)))
        lost_hashes = index_memory(
            connection, number, memory, write.passages, space_no=space_no, former=former,
            former_digest=stored.index_digest,
        )  # fmt: skip
    seq = append_change(
        connection, space_no=space_no, run_no=run_no, number=number, action=write.action,
        version=memory.version, base=write.base, passages_before=passages_before, at=origin.at,
    )  # fmt: skip
    return seq, lost_hashes


def _check_version(
    connection: apsw.Connection, memory_id: str, expected: int | None, space_no: int
) -> _StoredMemory | None:
    """Return a memory that is at the expected version; None if it is expected not to exist, and does not."""
    stored = _find(connection, memory_id, space_no)
    if stored is None and expected is not None:
        raise NotFound(f"no memory {memory_id}", memory_id=memory_id)
    current = None if stored is None else stored.version
    if current != expected:
        raise StaleVersion(
            f"memory {memory_id} is at version {current}, not {expected}",
            hint="Read it again and apply your change to the new version",
            memory_id=memory_id,
            expected=expected,
            current=current,
        )
    return stored


def _find(connection: apsw.Connection, memory_id: str, space_no: int) -> _StoredMemory | None:
    row = connection.execute(
        f"""SELECT no, version, state, passage_count, index_digest, facets, {", ".join(_INDEXED_COLUMNS)} FROM memories
            WHERE id = ? AND space_no = ?""",
        (id_bytes(memory_id), space_no),
    ).fetchone()
    return None if row is None else _StoredMemory(*row[:6], indexed=row[6:])


def _check_name(connection: apsw.Connection, memory: Memory, space_no: int) -> None:
    if memory.state is not State.LIVE:
        return
    row = connection.execute(
        "SELECT id FROM memories WHERE space_no = ? AND name = ? AND state = 0 AND id <> ?",
        (space_no, memory.name, id_bytes(memory.id)),
    ).fetchone()
    if row is not None:
        other_id = id_text(row[0])
        raise NameTaken(
            f"another memory is named {memory.name!r}",
            hint=f"Revise {other_id}, or choose another name",
            name=memory.name,
            id=other_id,
        )


def _insert_memory(connection: apsw.Connection, memory: Memory, *, space_no: int) -> int:
    connection.execute(
        _SQL["insert_memory"],
        (
            id_bytes(memory.id), space_no, to_micros(memory.created_at), micros_of(memory.last_accessed),
            memory.access_count, *_columns(memory),
        ),
    )  # fmt: skip
    return connection.last_insert_rowid()


def update_memory(connection: apsw.Connection, number: int, memory: Memory) -> None:
    """Write the fields of a memory into its row."""
    connection.execute(_SQL["update_memory"], (*_columns(memory), number))


def _update_changed(connection: apsw.Connection, stored: _StoredMemory, memory: Memory) -> None:
    """Do the same, but leave out indexed columns that stay the same: their indexes need not be written."""
    values = zip(_INDEXED_COLUMNS, _indexed_values(memory), stored.indexed, strict=True)
    changed = {column: value for column, value, before in values if value != before}
    if "name" in changed or "title" in changed:
        update_memory(connection, stored.number, memory)
        return
    assignments = [f"{column}=?" for column in (*changed, *_OTHER_COLUMNS)]
    connection.execute(
        f"UPDATE memories SET {', '.join(assignments)} WHERE no = ?",
        (*changed.values(), *_other_values(memory), stored.number),
    )


def _columns(memory: Memory) -> tuple[str | int | float | None, ...]:
    """Return the values of the columns that an insert and an update have in common."""
    name, title, *others = _indexed_values(memory)
    hashes = (key_of(memory.title.casefold()), key_of(bare_slug(memory.title)), key_of(bare_slug(memory.name)))
    return (name, title, *hashes, *others, *_other_values(memory))


def _indexed_values(memory: Memory) -> tuple[str | int | None, ...]:
    """Return the values of `_INDEXED_COLUMNS`."""
    return (
        memory.name, memory.title, key_of(memory.content), STATE_NUMBERS[memory.state], int(memory.pinned),
        memory.group or None,
    )  # fmt: skip


def _other_values(memory: Memory) -> tuple[int | float | None, ...]:
    """Return the values of `_OTHER_COLUMNS`."""
    return (
        memory.version,
        to_micros(memory.date),
        to_micros(memory.updated_at),
        TIER_NUMBERS[memory.tier],
        memory.relevance,
        micros_of(memory.last_confirmed),
    )


def _insert_version(
    connection: apsw.Connection, number: int, version: Version, *, bodies: SqliteBodies, space_no: int, run_no: int
) -> None:
    packed = bodies.pack(connection, version.memory, space_no=space_no)
    bodies.replace_by_delta(connection, number, number=version.number)
    connection.execute(
        "INSERT INTO versions VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number, version.number, version.parent, version.action, to_micros(version.created_at), run_no,
            version.message, int(packed.encoding), packed.dictionary, packed.sha256, packed.size, packed.data,
        ),
    )  # fmt: skip
    connection.execute("UPDATE spaces SET body_count = body_count + 1 WHERE no = ?", (space_no,))


def index_memory(
    connection: apsw.Connection,
    number: int,
    memory: Memory,
    passages: tuple[Passage, ...],
    *,
    space_no: int,
    former: IndexEntry | None = None,
    former_digest: bytes = b"",
) -> set[bytes]:
    """Index a memory by its passages, and return the hashes of the texts it has lost.

    Nothing is written if the digest of all indexed fields is still `former_digest`.
    """
    entry = IndexEntry(lexicon_number(space_no, memory.state), facets_of(memory))
    digest = index_key_of(memory, passages, facets=entry.facets)
    if digest == former_digest:
        return set()
    lost_hashes, gained_hashes = index_passages(connection, number, memory, passages, entry=entry, former=former)
    restore_vectors(connection, space_no, gained_hashes)
    connection.execute(
        "UPDATE memories SET index_digest = ?, passage_count = ?, facets = ?, passage_format = ? WHERE no = ?",
        (digest, len(passages), json.dumps(entry.facets, ensure_ascii=False), SHAPE, number),
    )
    return lost_hashes


def stored_facets(connection: apsw.Connection, number: int) -> tuple[str, ...]:
    """Return the facets that a memory was indexed with."""
    row = connection.execute("SELECT facets FROM memories WHERE no = ?", (number,)).fetchone()
    return () if row is None else tuple(json.loads(row[0]))


def _apply_edge(connection: apsw.Connection, edge: Edge, *, space_no: int, run_no: int, origin: Origin) -> int | None:
    relation = edge.relation
    source_no, source_version = _number_and_version(connection, relation.source, space_no)
    target_no, _ = _number_and_version(connection, relation.target, space_no)
    earlier = _delete_relation(connection, relation, source_no, target_no)
    # A replaced relation is logged as removed, so that undo can restore it exactly.
    entries = [(Action.UNRELATED, earlier)] if earlier else []
    if edge.present:
        connection.execute(
            "INSERT INTO relations VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (
                source_no, relation.type, target_no, space_no, relation.text, relation.strength,
                json.dumps(dict(relation.metadata), ensure_ascii=False), to_micros(relation.created_at),
            ),
        )  # fmt: skip
        entries.append((Action.RELATED, relation))
    seq = None
    for action, logged in entries:
        seq = append_change(
            connection, space_no=space_no, run_no=run_no, number=source_no, action=action,
            version=source_version, base=source_version, passages_before=0, at=origin.at, relation=logged,
            target_no=target_no,
        )  # fmt: skip
    return seq


def _delete_relation(
    connection: apsw.Connection, relation: Relation, source_no: int, target_no: int
) -> Relation | None:
    """Delete a relation and return it as it was stored."""
    row = connection.execute(_SQL["delete_relation"], (source_no, relation.type, target_no)).fetchone()
    if row is None:
        return None
    text, strength, metadata, created_at = row
    return replace(
        relation,
        text=str(text),
        strength=float(strength),
        metadata=json.loads(metadata),
        created_at=from_micros(int(created_at)),
    )


def _number_and_version(connection: apsw.Connection, memory_id: str, space_no: int) -> tuple[int, int]:
    row = connection.execute(
        "SELECT no, version FROM memories WHERE id = ? AND space_no = ?", (id_bytes(memory_id), space_no)
    ).fetchone()
    if row is None:
        raise NotFound(f"no memory {memory_id}", memory_id=memory_id)
    return int(row[0]), int(row[1])
