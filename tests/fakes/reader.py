"""Reads of records from the fake store."""

import difflib
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter, facet, facets_of
from scrubjay.model.relation import Relation
from scrubjay.model.snapshot import to_body
from scrubjay.model.version import Version
from scrubjay.ports import Handle
from scrubjay.text.slug import bare_slug
from tests.fakes.state import FakePart, Key


class FakeReader(FakePart):
    """The reading half of the port `Records`."""

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories that exist."""
        entries = self._state.space(space).entries
        return {id_: entries[id_].memory for id_ in ids if id_ in entries}

    async def find(self, space: str, ref: str, *, state: State | None = None) -> tuple[Handle, ...]:
        """Return the memories that a reference means."""
        memories = [entry.memory for entry in self._state.space(space).entries.values()]
        expected = [memory for memory in memories if state in (None, memory.state)]
        for answers in _levels(ref):
            # A branch has its memory's name: unless the caller wants branches, only its id matches it.
            results = [memory for memory in expected if answers(memory) and (state or _matches_ref(memory, ref))]
            live = [memory for memory in results if memory.state is State.LIVE]
            if results:
                return tuple(_handle(memory) for memory in live or results)
        return ()

    async def nearest(self, space: str, ref: str, *, limit: int) -> tuple[str, ...]:
        """Return live names that resemble a reference."""
        names = sorted(self._state.space(space).names)
        return tuple(difflib.get_close_matches(ref.casefold(), names, n=limit)) if limit else ()

    async def labels(self, space: str, field: str, *, prefix: str, limit: int) -> tuple[str, ...]:
        """Return names, or values of a facet, that begin with a prefix."""
        live = [entry.memory for entry in self._state.space(space).passing(Filter())]
        if field == "name":
            starts = (prefix, prefix.casefold())
            return tuple(sorted(memory.name for memory in live if memory.name.startswith(starts)))[:limit]
        start = facet(field, prefix)
        results = {facet[len(field) + 1 :] for memory in live for facet in facets_of(memory) if facet.startswith(start)}
        return tuple(sorted(results))[:limit]

    async def same_content(self, space: str, content: str) -> tuple[str, ...]:
        """Return the ids of live memories with exactly this content."""
        entries = self._state.space(space).entries.values()
        return tuple(
            entry.memory.id for entry in entries if entry.memory.state is State.LIVE and entry.memory.content == content
        )

    async def versions(self, space: str, memory_id: str, *, limit: int, before: int | None = None) -> list[Version]:
        """Return versions, newest first."""
        entry = self._state.space(space).entries.get(memory_id)
        stored = entry.versions if entry else ()
        results = [version for version in stored if before is None or version.number < before]
        return sorted(results, key=lambda version: -version.number)[:limit]

    async def version(self, space: str, memory_id: str, number: int) -> Version | None:
        """Return one version."""
        entry = self._state.space(space).entries.get(memory_id)
        return next((version for version in entry.versions if version.number == number), None) if entry else None

    async def version_at(self, space: str, memory_id: str, *, at: datetime) -> Version | None:
        """Return the newest version at a moment."""
        entry = self._state.space(space).entries.get(memory_id)
        there = [version for version in entry.versions if version.created_at <= at] if entry else []
        return max(there, key=lambda version: version.number, default=None)

    async def versions_at(self, space: str, ids: Sequence[str], *, at: datetime) -> dict[str, Version]:
        """Return the newest version of each memory at a moment."""
        results = {fromkey: await self.version_at(space, fromkey, at=at) for fromkey in dict.fromkeys(ids)}
        return {memory_id: version for memory_id, version in results.items() if version is not None}

    async def sizes(self, space: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return the sizes of memories; nothing is compressed here."""
        entries = self._state.space(space).entries
        sizes = {id_: len(json.dumps(to_body(entries[id_].memory))) for id_ in ids if id_ in entries}
        return {memory_id: (size, size) for memory_id, size in sizes.items()}

    async def relations(self, space: str, ids: Sequence[str]) -> list[Relation]:
        """Return the relations of any of the memories."""
        ends = set(ids)
        return [
            relation
            for relation in self._state.space(space).relations.values()
            if ends & {relation.source, relation.target}
        ]

    async def relations_at(self, space: str, ids: Sequence[str], *, at: datetime) -> list[Relation]:
        """Return the relations of any of the memories at a moment, by replaying the log."""
        ends, existing, there = set(ids), set[Key](), dict[Key, Relation]()
        for change in self._state.changes:
            relation = change.relation
            if change.space == space and relation and ends & {relation.source, relation.target}:
                first = relation.key not in existing
                existing.add(relation.key)
                if min(change.at, relation.created_at if first else change.at) > at:
                    continue
                if change.action is Action.RELATED:
                    there[relation.key] = relation
                else:
                    there.pop(relation.key, None)
        return sorted(there.values(), key=lambda memory: (memory.created_at, memory.type, memory.target))

    async def list_ids(self, space: str, filter: Filter, *, limit: int, after: str | None = None) -> list[str]:
        """Return the ids that pass a filter, most recently updated first."""
        space_state = self._state.space(space)
        passing = [entry.memory for entry in space_state.passing(filter)]
        if after is not None:
            # The id may have left the list since the last page; its place in the order has not.
            last = space_state.entries.get(after)
            passing = [memory for memory in passing if last and _place(memory) < _place(last.memory)]
        return [memory.id for memory in sorted(passing, key=_place, reverse=True)][:limit]

    async def pinned(self, space: str) -> list[str]:
        """Return the ids of the live pinned memories, oldest first."""
        live = [entry.memory for entry in self._state.space(space).passing(Filter())]
        pinned = [memory for memory in live if memory.pinned]
        return [memory.id for memory in sorted(pinned, key=lambda memory: (memory.created_at, memory.id))]

    async def members(self, space: str, group: str) -> list[str]:
        """Return the ids of the memories of a group."""
        entries = self._state.space(space).entries.values()
        return sorted(entry.memory.id for entry in entries if group and entry.memory.group == group)


def _levels(ref: str) -> Iterator[Callable[[Memory], bool]]:
    title, bare = ref.casefold(), bare_slug(ref)
    yield lambda memory: memory.id == ref.lower()
    yield lambda memory: memory.name == ref
    yield lambda memory: memory.title != "" and memory.title.casefold() == title
    yield lambda memory: bare != "" and bare in (bare_slug(memory.title), bare_slug(memory.name))


def _matches_ref(memory: Memory, ref: str) -> bool:
    return memory.state is not State.BRANCHED or memory.id == ref.lower()


def _handle(memory: Memory) -> Handle:
    return Handle(id=memory.id, name=memory.name, title=memory.title, state=memory.state)


def _place(memory: Memory) -> tuple[datetime, str]:
    return memory.updated_at, memory.id
