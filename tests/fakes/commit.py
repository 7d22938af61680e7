"""Writes to the fake store: each is applied to a copy, which replaces the original if all of it succeeds."""

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
from tests.fakes.documents import copy_document, subjects_of
from tests.fakes.state import Draft, Entry, FakePart, SpaceState


class FakeWriter(FakePart):
    """The writing half of the port `Records`."""

    async def commit(self, commit: Commit) -> Committed:
        """Apply a commit as a whole, or raise an error and apply nothing."""
        # A real store never answers in the same iteration of the event loop; a fake that did would hide races.
        await asyncio.sleep(0)
        once = commit.once
        if once and (answer := self._answer(commit.space, once.key, once.digest)) is not None:
            return Committed(seq=self._state.last_seq, answer=answer)
        draft = Draft(self._state, commit.space, origin=commit.origin)
        for memory_id, version in commit.expected:
            _require_version(draft.space_state.entries.get(memory_id), memory_id, version)
        for write in commit.writes:
            _apply_write(draft, write, commit=commit)
        for edge in commit.edges:
            _apply_edge(draft, edge)
        if commit.embedded:
            _store_vectors(draft, commit.embedded, written={write.memory.id for write in commit.writes})
        for document in commit.documents:
            _put_document(draft, document, commit=commit)
        if once:
            origin = commit.origin
            draft.space_state.answers[key_digest(once.key)] = StoredAnswer(
                key=once.key, digest=once.digest, answer=once.answer, run=origin.run, agent=origin.agent, at=origin.at
            )
        return Committed(seq=draft.accept())

    async def find_answer(self, space: str, key: str, digest: bytes) -> str | None:
        """Return the answer stored under an idempotency key."""
        return self._answer(space, key, digest)

    async def adopt(self, space: str, histories: Sequence[MemoryHistory], *, origin: Origin) -> tuple[str, ...]:
        """Store memories with their history."""
        draft = Draft(self._state, space, origin=origin)
        added: list[str] = []
        for memory_history in histories:
            memory = replace(memory_history.memory, space=space)
            if memory.id in draft.space_state.entries:
                continue
            _require_free_name(draft.space_state, memory)
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
            draft.space_state.put(entry)
            draft.note(entry, Action.IMPORTED, base=None, before=0)
            added.append(memory.id)
        draft.accept()
        return tuple(added)

    async def purge(self, space: str, ids: Sequence[str], *, origin: Origin) -> int:
        """Delete memories and every trace of their text."""
        draft = Draft(self._state, space, origin=origin)
        space_state = draft.space_state
        gone = [space_state.entries[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in space_state.entries]
        for entry in gone:
            space_state.drop(entry.memory.id)
            draft.note(entry, Action.PURGED, base=entry.memory.version, before=len(entry.passages))
        purged = {entry.memory.id for entry in gone}
        space_state.relations = {
            key: relation
            for key, relation in space_state.relations.items()
            if not purged & {relation.source, relation.target}
        }
        in_use = {passage.hash for entry in space_state.entries.values() for passage in entry.passages}
        unused = {each for entry in gone for each in entry.hashes} - in_use
        space_state.vectors = {key: vector for key, vector in space_state.vectors.items() if key[1] not in unused}
        runs = {change.run for change in self._state.changes if change.space == space and change.memory_id in purged}
        runs |= {version.run for entry in gone for version in entry.versions}
        space_state.answers = {key: answer for key, answer in space_state.answers.items() if answer.run not in runs}
        space_state.documents = {
            key: document for key, document in space_state.documents.items() if not subjects_of(document) & purged
        }
        draft.forget_relations(purged)
        draft.accept()
        return len(gone)

    async def touch(self, space: str, ids: Sequence[str], *, at: datetime) -> None:
        """Count an access."""
        space_state = self._state.space(space)
        for entry in [
            space_state.entries[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in space_state.entries
        ]:
            latest = max(at, entry.memory.last_accessed or at)
            read = replace(entry.memory, access_count=entry.memory.access_count + 1, last_accessed=latest)
            space_state.put(replace(entry, memory=read))

    async def store_vectors(self, space: str, embedded: Embedded, *, memory_ids: Sequence[str], origin: Origin) -> None:
        """Store vectors that were made later than their texts."""
        draft = Draft(self._state, space, origin=origin)
        _store_vectors(draft, embedded, named=memory_ids)
        draft.accept()

    def _answer(self, space: str, key: str, digest: bytes) -> str | None:
        first = self._state.space(space).answers.get(key_digest(key))
        if first is None:
            return None
        if first.digest != digest:
            raise KeyReused(f"the idempotency key {key!r} belongs to another request", key=key)
        return first.answer


def _apply_write(draft: Draft, write: Write, *, commit: Commit) -> None:
    memory, space_state = write.memory, draft.space_state
    if memory.space != commit.space:
        raise InvalidInput("a commit writes to one space only", space=commit.space)
    before = space_state.entries.get(memory.id)
    _require_version(before, memory.id, write.base)
    _require_free_name(space_state, memory)
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
    space_state.put(entry)
    draft.note(entry, write.action, base=write.base, before=len(before.passages) if before else 0)


def _apply_edge(draft: Draft, edge: Edge) -> None:
    relation = edge.relation
    for end in (relation.source, relation.target):
        if end not in draft.space_state.entries:
            raise NotFound(f"no memory {end!r} to relate", ref=end)
    # A replaced relation is logged as removed, so that undo can restore it exactly.
    if removed := draft.space_state.relations.pop(relation.key, None):
        _note_relation(draft, Action.UNRELATED, removed)
    if edge.present:
        draft.space_state.relations[relation.key] = relation
        _note_relation(draft, Action.RELATED, relation)


def _note_relation(draft: Draft, action: Action, relation: Relation) -> None:
    source = draft.space_state.entries[relation.source]
    draft.note(source, action, base=source.memory.version, before=len(source.passages), relation=relation)


def _store_vectors(
    draft: Draft, embedded: Embedded, *, named: Sequence[str] = (), written: AbstractSet[str] = frozenset()
) -> None:
    space_state = draft.space_state
    fresh = {key for key in embedded.vectors if (embedded.model, key) not in space_state.vectors}
    space_state.vectors.update({(embedded.model, key): vector.copy() for key, vector in embedded.vectors.items()})
    # Other memories with the same text have the vector too.
    sharers = [
        entry.memory.id
        for entry in space_state.entries.values()
        if fresh & {passage.hash for passage in entry.passages}
    ]
    for memory_id in dict.fromkeys((*sharers, *named)):
        entry = space_state.entries.get(memory_id)
        if entry and memory_id not in written:
            draft.note(entry, Action.EMBEDDED, base=entry.memory.version, before=len(entry.passages))


def _put_document(draft: Draft, document: Document, *, commit: Commit) -> None:
    if document.space != commit.space:
        raise InvalidInput("a commit writes to one space only", space=commit.space)
    before = draft.space_state.documents.get((document.collection, document.key))
    draft.space_state.documents[document.collection, document.key] = copy_document(
        document, version=before.version + 1 if before else 1
    )


def _require_version(before: Entry | None, memory_id: str, expected: int | None) -> None:
    current = before.memory.version if before else None
    if current == expected:
        return
    if current is None:
        raise NotFound(f"no memory {memory_id!r}", memory_id=memory_id)
    raise StaleVersion(
        f"{memory_id!r} is at version {current}, not {expected}",
        hint="Read it again and apply your change to the new version",
        expected=expected,
        current=current,
        memory_id=memory_id,
    )


def _require_free_name(space_state: SpaceState, memory: Memory) -> None:
    holder = space_state.names.get(memory.name)
    if memory.state is State.LIVE and holder not in (None, memory.id):
        raise NameTaken(f"the name {memory.name!r} is taken", name=memory.name, id=holder)


def _with_readings(memory: Memory, before: Entry | None) -> Memory:
    if before is None:
        return memory
    existing = before.memory
    return replace(memory, access_count=existing.access_count, last_accessed=existing.last_accessed)
