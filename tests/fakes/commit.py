"""Writes to the fake store: each is tried on a copy and made real only when all of it went well."""

import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from scrubjay.errors import InvalidInput, KeyReused, NameTaken, NotFound, StaleVersion
from scrubjay.model.change import Action, Origin
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import Relation
from scrubjay.model.version import Version
from scrubjay.ports import Commit, Committed, Edge, Embedded, MemoryHistory, Write
from scrubjay.ports.commit import StoredAnswer, key_digest
from scrubjay.text.passages import passages_of
from tests.fakes.documents import subjects_of, written
from tests.fakes.state import Draft, Entry, Housed, Room


class FakeWriter(Housed):
    """The writing half of the port `Records`."""

    async def commit(self, commit: Commit) -> Committed:
        """Apply a commit, whole or not at all."""
        # A real store never answers within the same turn of the loop; a fake that did would hide races.
        await asyncio.sleep(0)
        once = commit.once
        if once and (answer := self._answer(commit.space, once.key, once.digest)) is not None:
            return Committed(seq=self._house.last_seq, answer=answer)
        draft = Draft(self._house, commit.space, origin=commit.origin)
        for memory_id, version in commit.expected:
            _require_version(draft.room.entries.get(memory_id), memory_id, version)
        for write in commit.writes:
            _apply_write(draft, write, commit=commit)
        for edge in commit.edges:
            _apply_edge(draft, edge)
        if commit.embedded:
            _store_vectors(draft, commit.embedded, written={write.memory.id for write in commit.writes})
        for document in commit.documents:
            _file(draft, document, commit=commit)
        if once:
            origin = commit.origin
            draft.room.answers[key_digest(once.key)] = StoredAnswer(
                key=once.key, digest=once.digest, answer=once.answer, run=origin.run, agent=origin.agent, at=origin.at
            )
        return Committed(seq=draft.accept())

    async def find_answer(self, space: str, key: str, digest: bytes) -> str | None:
        """The answer given under an idempotency key."""
        return self._answer(space, key, digest)

    async def adopt(self, space: str, histories: Sequence[MemoryHistory], *, origin: Origin) -> tuple[str, ...]:
        """Take in memories with their past."""
        draft = Draft(self._house, space, origin=origin)
        added: list[str] = []
        for memory_history in histories:
            memory = replace(memory_history.memory, space=space)
            if memory.id in draft.room.entries:
                continue
            _require_free_name(draft.room, memory)
            versions = tuple(
                replace(version, memory=replace(version.memory, space=space)) for version in memory_history.versions
            )
            passages = passages_of(memory)
            entry = Entry(
                memory=memory,
                number=draft.next_number(),
                versions=versions,
                passages=passages,
                hashes=frozenset(passage.hash for passage in passages),
            )
            draft.room.put(entry)
            draft.note(entry, Action.IMPORTED, base=None, before=0)
            added.append(memory.id)
        draft.accept()
        return tuple(added)

    async def purge(self, space: str, ids: Sequence[str], *, origin: Origin) -> int:
        """Destroy memories and every trace of their text."""
        draft = Draft(self._house, space, origin=origin)
        room = draft.room
        gone = [room.entries[fromkey] for fromkey in dict.fromkeys(ids) if fromkey in room.entries]
        for entry in gone:
            room.drop(entry.memory.id)
            draft.note(entry, Action.PURGED, base=entry.memory.version, before=len(entry.passages))
        purged = {entry.memory.id for entry in gone}
        room.relations = {key: one for key, one in room.relations.items() if not purged & {one.source, one.target}}
        in_use = {passage.hash for entry in room.entries.values() for passage in entry.passages}
        unused = {each for entry in gone for each in entry.hashes} - in_use
        room.vectors = {key: vector for key, vector in room.vectors.items() if key[1] not in unused}
        runs = {change.run for change in self._house.changes if change.space == space and change.memory_id in purged}
        runs |= {version.run for entry in gone for version in entry.versions}
        room.answers = {key: answer for key, answer in room.answers.items() if answer.run not in runs}
        room.documents = {
            key: document for key, document in room.documents.items() if not subjects_of(document) & purged
        }
        draft.forget_relations(purged)
        draft.accept()
        return len(gone)

    async def touch(self, space: str, ids: Sequence[str], *, at: datetime) -> None:
        """Count a reading."""
        room = self._house.room(space)
        for entry in [room.entries[fromkey] for fromkey in dict.fromkeys(ids) if fromkey in room.entries]:
            latest = max(at, entry.memory.last_accessed or at)
            read = replace(entry.memory, access_count=entry.memory.access_count + 1, last_accessed=latest)
            room.put(replace(entry, memory=read))

    async def store_vectors(self, space: str, embedded: Embedded, *, memory_ids: Sequence[str], origin: Origin) -> None:
        """Store vectors that were made later than their texts."""
        draft = Draft(self._house, space, origin=origin)
        _store_vectors(draft, embedded, named=memory_ids)
        draft.accept()

    def _answer(self, space: str, key: str, digest: bytes) -> str | None:
        first = self._house.room(space).answers.get(key_digest(key))
        if first is None:
            return None
        if first.digest != digest:
            raise KeyReused(f"the idempotency key {key!r} belongs to another request", key=key)
        return first.answer


def _apply_write(draft: Draft, write: Write, *, commit: Commit) -> None:
    memory, room = write.memory, draft.room
    if memory.space != commit.space:
        raise InvalidInput("a commit writes to one space only", space=commit.space)
    before = room.entries.get(memory.id)
    _require_version(before, memory.id, write.base)
    _require_free_name(room, memory)
    version = Version(
        number=memory.version,
        memory=replace(memory, access_count=0, last_accessed=None),
        parent=write.base,
        action=write.action.value,
        created_at=memory.updated_at,
        agent=commit.origin.agent,
        run=commit.origin.run,
        message=write.message,
    )
    hashes = frozenset(passage.hash for passage in write.passages)
    entry = Entry(
        memory=_with_readings(memory, before),
        number=before.number if before else draft.next_number(),
        versions=(*before.versions, version) if before else (version,),
        passages=write.passages,
        hashes=before.hashes | hashes if before else hashes,
    )
    room.put(entry)
    draft.note(entry, write.action, base=write.base, before=len(before.passages) if before else 0)


def _apply_edge(draft: Draft, edge: Edge) -> None:
    relation = edge.relation
    for end in (relation.source, relation.target):
        if end not in draft.room.entries:
            raise NotFound(f"no memory {end!r} to relate", ref=end)
    # What was there before is logged as removed, so that an undo can bring it back exactly.
    if removed := draft.room.relations.pop(relation.key, None):
        _note_relation(draft, Action.UNRELATED, removed)
    if edge.present:
        draft.room.relations[relation.key] = relation
        _note_relation(draft, Action.RELATED, relation)


def _note_relation(draft: Draft, action: Action, relation: Relation) -> None:
    source = draft.room.entries[relation.source]
    draft.note(source, action, base=source.memory.version, before=len(source.passages), relation=relation)


def _store_vectors(
    draft: Draft, embedded: Embedded, *, named: Sequence[str] = (), written: AbstractSet[str] = frozenset()
) -> None:
    room = draft.room
    fresh = {key for key in embedded.vectors if (embedded.model, key) not in room.vectors}
    room.vectors.update({(embedded.model, key): vector.copy() for key, vector in embedded.vectors.items()})
    # A text that others have too is embedded for them as well.
    sharers = [
        entry.memory.id for entry in room.entries.values() if fresh & {passage.hash for passage in entry.passages}
    ]
    for memory_id in dict.fromkeys((*sharers, *named)):
        entry = room.entries.get(memory_id)
        if entry and memory_id not in written:
            draft.note(entry, Action.EMBEDDED, base=entry.memory.version, before=len(entry.passages))


def _file(draft: Draft, document: Document, *, commit: Commit) -> None:
    if document.space != commit.space:
        raise InvalidInput("a commit writes to one space only", space=commit.space)
    before = draft.room.documents.get((document.collection, document.key))
    draft.room.documents[document.collection, document.key] = written(
        document, version=before.version + 1 if before else 1
    )


def _require_version(before: Entry | None, memory_id: str, wanted: int | None) -> None:
    current = before.memory.version if before else None
    if current == wanted:
        return
    if current is None:
        raise NotFound(f"no memory {memory_id!r}", memory_id=memory_id)
    raise StaleVersion(
        f"{memory_id!r} is at version {current}, not {wanted}",
        hint="Read it again and repeat the change",
        expected=wanted,
        current=current,
        memory_id=memory_id,
    )


def _require_free_name(room: Room, memory: Memory) -> None:
    holder = room.names.get(memory.name)
    if memory.state is State.LIVE and holder not in (None, memory.id):
        raise NameTaken(f"the name {memory.name!r} is taken", name=memory.name, id=holder)


def _with_readings(memory: Memory, before: Entry | None) -> Memory:
    if before is None:
        return memory
    known = before.memory
    return replace(memory, access_count=known.access_count, last_accessed=known.last_accessed)
