"""Applying a commit: each function runs on the writer's connection, inside its transaction."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import apsw

from scrubjay.errors import KeyReused, NameTaken, NotFound, StaleVersion
from scrubjay.model.answer import key_digest
from scrubjay.model.change import Action, Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.moment import from_micros, to_micros
from scrubjay.model.passage import Passage
from scrubjay.model.query import facets_of
from scrubjay.model.relation import Relation
from scrubjay.model.version import Version
from scrubjay.ports import Commit, Committed, Dossier, Edge, Write
from scrubjay.stores.rows import (
    STATE_NUMBERS,
    STATES,
    TIER_NUMBERS,
    id_bytes,
    id_text,
    index_key_of,
    key_of,
    micros_of,
)
from scrubjay.stores.sqlite.bodies import Bodies
from scrubjay.stores.sqlite.entries import Entry, enter
from scrubjay.stores.sqlite.log import append_change, last_seq, run_number
from scrubjay.stores.sqlite.papers import file_all
from scrubjay.stores.sqlite.rows import lexicon_number, space_number
from scrubjay.stores.sqlite.shelf import fade, revive, shelve
from scrubjay.text.passages import SHAPE
from scrubjay.text.slug import bare_slug

# What a memory is looked up by, as its row has it: another name, title or content means other keys.
_LOOKED_UP = ("name", "title", "content_key", "state", "pinned", "grouped")


class _Known(NamedTuple):
    """What the row of a stored memory tells."""

    number: int
    version: int
    state: int
    passages: int
    index_key: bytes
    facets: str
    looked_up: tuple[str | int | None, ...]


def apply_commit(connection: apsw.Connection, commit: Commit, *, bodies: Bodies) -> Committed:
    """All of a commit, or an error and nothing."""
    space_no = make_space(connection, commit.space)
    if commit.once is not None:
        answer = answered(connection, commit.space, commit.once.key, commit.once.digest)
        if answer is not None:
            return Committed(seq=last_seq(connection), answer=answer)
    for memory_id, version in commit.stands:
        _check_version(connection, memory_id, version, space_no)
    run_no = run_number(connection, space_no, commit.origin)
    seq, lost = 0, set[bytes]()
    for write in commit.writes:
        seq, gone = _apply_write(
            connection, write, space_no=space_no, run_no=run_no, origin=commit.origin, bodies=bodies
        )
        lost |= gone
    for edge in commit.edges:
        seq = _apply_edge(connection, edge, space_no=space_no, run_no=run_no, origin=commit.origin) or seq
    _replace_vectors(connection, commit, lost, space_no=space_no, run_no=run_no)
    file_all(connection, commit.papers, space=commit.space, space_no=space_no)
    if commit.once is not None:
        connection.execute(
            "INSERT INTO once VALUES(?, ?, ?, ?, ?, ?)",
            (space_no, commit.once.key, commit.once.digest, commit.once.answer, run_no, to_micros(commit.origin.at)),
        )
    return Committed(seq=seq or last_seq(connection))


def answered(connection: apsw.Connection, space: str, key: str, digest: bytes) -> str | None:
    """The answer that was given under an idempotency key."""
    row = connection.execute(
        "SELECT digest, answer FROM once WHERE space_no = (SELECT no FROM spaces WHERE name = ?) AND key IN (?, ?)",
        (space, key, key_digest(key)),
    ).fetchone()
    if row is None:
        return None
    if row[0] != digest:
        raise KeyReused(
            f"idempotency key {key!r} was used for another request", hint="Use a new key for a new request", key=key
        )
    return str(row[1])


def adopt(
    connection: apsw.Connection,
    space: str,
    dossiers: Sequence[tuple[Dossier, tuple[Passage, ...]]],
    *,
    origin: Origin,
    bodies: Bodies,
) -> tuple[str, ...]:
    """Take in memories with their past; those that are there already are left alone."""
    space_no = make_space(connection, space)
    run_no = run_number(connection, space_no, origin)
    taken: list[str] = []
    for dossier, passages in dossiers:
        memory = dossier.memory
        if _known(connection, memory.id, space_no) is not None:
            continue
        _check_name(connection, memory, space_no)
        number = _insert_memory(connection, memory, space_no=space_no)
        for version in sorted(dossier.versions, key=lambda one: one.number):
            author = Origin(at=version.created_at, run=version.run or origin.run, agent=version.agent)
            _insert_version(
                connection, number, version, bodies=bodies, space_no=space_no,
                run_no=run_number(connection, space_no, author),
            )  # fmt: skip
        reindex(connection, number, memory, passages, space_no=space_no)
        append_change(
            connection, space_no=space_no, run_no=run_no, number=number, action=Action.IMPORTED,
            version=memory.version, base=None, passages_before=0, at=origin.at,
        )  # fmt: skip
        taken.append(memory.id)
    return tuple(taken)


def touch(connection: apsw.Connection, space_no: int, ids: Sequence[str], at: int) -> None:
    """Count a reading of each."""
    connection.executemany(
        """UPDATE memories SET access_count = access_count + 1, last_accessed = max(?, coalesce(last_accessed, 0))
           WHERE id = ? AND space_no = ?""",
        [(at, id_bytes(memory_id), space_no) for memory_id in ids],
    )


def make_space(connection: apsw.Connection, space: str) -> int:
    """The number of a space, which begins to exist with its first write."""
    number = space_number(connection, space)
    if number is not None:
        return number
    connection.execute("INSERT INTO spaces(name) VALUES(?)", (space,))
    return connection.last_insert_rowid()


def _apply_write(
    connection: apsw.Connection, write: Write, *, space_no: int, run_no: int, origin: Origin, bodies: Bodies
) -> tuple[int, set[bytes]]:
    """The place of a write in the log, and the hashes of the texts that its memory had and has no more."""
    memory = write.memory
    known = _check_version(connection, memory.id, write.base, space_no)
    _check_name(connection, memory, space_no)
    if known is None:
        number, before = _insert_memory(connection, memory, space_no=space_no), 0
    else:
        number, before = known.number, known.passages
        _update_known(connection, known, memory)
    version = Version(
        number=memory.version, memory=memory, parent=write.base, action=write.action,
        created_at=memory.updated_at, message=write.message,
    )  # fmt: skip
    _insert_version(connection, number, version, bodies=bodies, space_no=space_no, run_no=run_no)
    if known is None:
        lost = reindex(connection, number, memory, write.passages, space_no=space_no)
    else:
        former = Entry(lexicon_number(space_no, STATES[known.state]), tuple(json.loads(known.facets)))
        lost = reindex(
            connection, number, memory, write.passages, space_no=space_no, former=former, known=known.index_key
        )  # fmt: skip
    seq = append_change(
        connection, space_no=space_no, run_no=run_no, number=number, action=write.action,
        version=memory.version, base=write.base, passages_before=before, at=origin.at,
    )  # fmt: skip
    return seq, lost


def _replace_vectors(
    connection: apsw.Connection, commit: Commit, lost: Iterable[bytes], *, space_no: int, run_no: int
) -> None:
    """Store the vectors of a commit in the rows of those that fade with it."""
    free = fade(connection, space_no, lost)
    if commit.embedded is not None:
        written = [write.memory.id for write in commit.writes]
        shelve(connection, space_no, run_no, commit.embedded, at=commit.origin.at, written=written, free=free)


def _check_version(connection: apsw.Connection, memory_id: str, wanted: int | None, space_no: int) -> _Known | None:
    """What is known of a memory that is at a version; None for one that is not there and need not be."""
    known = _known(connection, memory_id, space_no)
    if known is None and wanted is not None:
        raise NotFound(f"no memory {memory_id}", memory_id=memory_id)
    current = None if known is None else known.version
    if current != wanted:
        raise StaleVersion(
            f"memory {memory_id} is at version {current}, not {wanted}",
            hint="Read it again and apply your change to what you find",
            memory_id=memory_id,
            expected=wanted,
            current=current,
        )
    return known


def _known(connection: apsw.Connection, memory_id: str, space_no: int) -> _Known | None:
    row = connection.execute(
        f"""SELECT no, version, state, passages, index_key, facets, {", ".join(_LOOKED_UP)} FROM memories
            WHERE id = ? AND space_no = ?""",
        (id_bytes(memory_id), space_no),
    ).fetchone()
    return None if row is None else _Known(*row[:6], looked_up=row[6:])


def _check_name(connection: apsw.Connection, memory: Memory, space_no: int) -> None:
    if memory.state is not State.LIVE:
        return
    row = connection.execute(
        "SELECT id FROM memories WHERE space_no = ? AND name = ? AND state = 0 AND id <> ?",
        (space_no, memory.name, id_bytes(memory.id)),
    ).fetchone()
    if row is not None:
        other = id_text(row[0])
        raise NameTaken(
            f"another memory is named {memory.name!r}",
            hint=f"Revise {other}, or choose another name",
            name=memory.name,
            id=other,
        )


def _insert_memory(connection: apsw.Connection, memory: Memory, *, space_no: int) -> int:
    accessed = None if memory.last_accessed is None else to_micros(memory.last_accessed)
    connection.execute(
        """INSERT INTO memories(id, space_no, created_at, last_accessed, access_count, name, title, title_key, bare_key,
             name_key, content_key, state, pinned, grouped, version, date, updated_at, tier, relevance, confirmed,
             index_key, passages, facets)
           VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, x'', 0, '[]')""",
        (
            id_bytes(memory.id), space_no, to_micros(memory.created_at), accessed, memory.access_count,
            *_columns(memory),
        ),
    )  # fmt: skip
    return connection.last_insert_rowid()


def update_memory(connection: apsw.Connection, number: int, memory: Memory) -> None:
    """Make a memory's row tell what the memory does."""
    connection.execute(
        """UPDATE memories SET name=?, title=?, title_key=?, bare_key=?, name_key=?, content_key=?, state=?, pinned=?,
             grouped=?, version=?, date=?, updated_at=?, tier=?, relevance=?, confirmed=? WHERE no = ?""",
        (*_columns(memory), number),
    )


def _update_known(connection: apsw.Connection, known: _Known, memory: Memory) -> None:
    """The same, but what stays as it is is left out, so that its indexes need not be written."""
    now = dict(zip(_LOOKED_UP, _looked_up(memory), strict=True))
    changed = {name: now[name] for name, was in zip(_LOOKED_UP, known.looked_up, strict=True) if now[name] != was}
    if "name" in changed or "title" in changed:
        update_memory(connection, known.number, memory)
        return
    columns = [f"{name}=?" for name in (*changed, "version", "date", "updated_at", "tier", "relevance", "confirmed")]
    connection.execute(
        f"UPDATE memories SET {', '.join(columns)} WHERE no = ?", (*changed.values(), *_told(memory), known.number)
    )


def _columns(memory: Memory) -> tuple[str | int | float | None, ...]:
    name, title, *others = _looked_up(memory)
    keys = (key_of(memory.title.casefold()), key_of(bare_slug(memory.title)), key_of(bare_slug(memory.name)))
    return (name, title, *keys, *others, *_told(memory))


def _looked_up(memory: Memory) -> tuple[str | int | None, ...]:
    """The values of `_LOOKED_UP`."""
    return (
        memory.name, memory.title, key_of(memory.content), STATE_NUMBERS[memory.state], int(memory.pinned),
        memory.group or None,
    )  # fmt: skip


def _told(memory: Memory) -> tuple[int | float | None, ...]:
    return (
        memory.version,
        to_micros(memory.date),
        to_micros(memory.updated_at),
        TIER_NUMBERS[memory.tier],
        memory.relevance,
        micros_of(memory.last_confirmed),
    )


def _insert_version(
    connection: apsw.Connection, number: int, version: Version, *, bodies: Bodies, space_no: int, run_no: int
) -> None:
    packed = bodies.pack(connection, version.memory, space_no=space_no)
    bodies.fold(connection, number, number=version.number)
    connection.execute(
        "INSERT INTO versions VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number, version.number, version.parent, version.action, to_micros(version.created_at), run_no,
            version.message, int(packed.encoding), packed.dictionary, packed.sha256, packed.size, packed.data,
        ),
    )  # fmt: skip
    connection.execute("UPDATE spaces SET bodies = bodies + 1 WHERE no = ?", (space_no,))


def reindex(
    connection: apsw.Connection,
    number: int,
    memory: Memory,
    passages: tuple[Passage, ...],
    *,
    space_no: int,
    former: Entry | None = None,
    known: bytes = b"",
) -> set[bytes]:
    """Make a memory findable by its passages, and note that it is and how; returns the hashes of texts it has lost.

    If the key of all that it is found by is the `known` one, there is nothing to do.
    """
    entry = Entry(lexicon_number(space_no, memory.state), facets_of(memory))
    key = index_key_of(memory, passages, facets=entry.facets)
    if key == known:
        return set()
    lost, gained = enter(connection, number, memory, passages, entry=entry, former=former)
    revive(connection, space_no, gained)
    connection.execute(
        "UPDATE memories SET index_key = ?, passages = ?, facets = ?, shape = ? WHERE no = ?",
        (key, len(passages), json.dumps(entry.facets, ensure_ascii=False), SHAPE, number),
    )
    return lost


def stored_facets(connection: apsw.Connection, number: int) -> tuple[str, ...]:
    """The facets a memory was indexed with."""
    row = connection.execute("SELECT facets FROM memories WHERE no = ?", (number,)).fetchone()
    return () if row is None else tuple(json.loads(row[0]))


def _apply_edge(connection: apsw.Connection, edge: Edge, *, space_no: int, run_no: int, origin: Origin) -> int | None:
    relation = edge.relation
    source_no, source_version = _end(connection, relation.source, space_no)
    target_no, _ = _end(connection, relation.target, space_no)
    earlier = _take_relation(connection, relation, source_no, target_no)
    # What was there before is logged as removed, so that undo can bring it back exactly.
    logged = [(Action.UNRELATED, earlier)] if earlier else []
    if edge.present:
        _put_relation(connection, relation, source_no, target_no, space_no)
        logged.append((Action.RELATED, relation))
    seq = None
    for action, told in logged:
        seq = append_change(
            connection, space_no=space_no, run_no=run_no, number=source_no, action=action,
            version=source_version, base=source_version, passages_before=0, at=origin.at, relation=told,
            target_no=target_no,
        )  # fmt: skip
    return seq


def _take_relation(connection: apsw.Connection, relation: Relation, source_no: int, target_no: int) -> Relation | None:
    row = connection.execute(
        """DELETE FROM relations WHERE source_no = ? AND type = ? AND target_no = ?
           RETURNING text, strength, metadata, created_at""",
        (source_no, relation.type, target_no),
    ).fetchone()
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


def _put_relation(
    connection: apsw.Connection, relation: Relation, source_no: int, target_no: int, space_no: int
) -> None:
    connection.execute(
        "INSERT INTO relations VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
        (
            source_no, relation.type, target_no, space_no, relation.text, relation.strength,
            json.dumps(dict(relation.metadata), ensure_ascii=False), to_micros(relation.created_at),
        ),
    )  # fmt: skip


def _end(connection: apsw.Connection, memory_id: str, space_no: int) -> tuple[int, int]:
    row = connection.execute(
        "SELECT no, version FROM memories WHERE id = ? AND space_no = ?", (id_bytes(memory_id), space_no)
    ).fetchone()
    if row is None:
        raise NotFound(f"no memory {memory_id}", memory_id=memory_id)
    return int(row[0]), int(row[1])
