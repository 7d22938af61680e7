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
from tests.fakes.state import Housed, Key


class FakeReader(Housed):
    """The reading half of the port `Records`."""

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """The memories that exist."""
        entries = self._house.room(space).entries
        return {id_: entries[id_].memory for id_ in ids if id_ in entries}

    async def find(self, space: str, ref: str, *, state: State | None = None) -> tuple[Handle, ...]:
        """Who answers to a reference."""
        memories = [entry.memory for entry in self._house.room(space).entries.values()]
        wanted = [memory for memory in memories if state in (None, memory.state)]
        for answers in _levels(ref):
            # A branch has its memory's name, and is meant only by who asks for branches, or by its id.
            found = [memory for memory in wanted if answers(memory) and (state or _is_meant(memory, ref))]
            live = [memory for memory in found if memory.state is State.LIVE]
            if found:
                return tuple(_handle(memory) for memory in live or found)
        return ()

    async def nearest(self, space: str, ref: str, *, limit: int) -> tuple[str, ...]:
        """Live names that look like a reference."""
        names = sorted(self._house.room(space).names)
        return tuple(difflib.get_close_matches(ref.casefold(), names, n=limit)) if limit else ()

    async def labels(self, space: str, field: str, *, prefix: str, limit: int) -> tuple[str, ...]:
        """Names, or values of a facet, that begin with a prefix."""
        live = [entry.memory for entry in self._house.room(space).passing(Filter())]
        if field == "name":
            starts = (prefix, prefix.casefold())
            return tuple(sorted(memory.name for memory in live if memory.name.startswith(starts)))[:limit]
        start = facet(field, prefix)
        found = {facet[len(field) + 1 :] for memory in live for facet in facets_of(memory) if facet.startswith(start)}
        return tuple(sorted(found))[:limit]

    async def same_content(self, space: str, content: str) -> tuple[str, ...]:
        """Ids of live memories with exactly this content."""
        entries = self._house.room(space).entries.values()
        return tuple(
            entry.memory.id for entry in entries if entry.memory.state is State.LIVE and entry.memory.content == content
        )

    async def versions(self, space: str, memory_id: str, *, limit: int, before: int | None = None) -> list[Version]:
        """Versions, newest first."""
        entry = self._house.room(space).entries.get(memory_id)
        kept = entry.versions if entry else ()
        found = [one for one in kept if before is None or one.number < before]
        return sorted(found, key=lambda one: -one.number)[:limit]

    async def version(self, space: str, memory_id: str, number: int) -> Version | None:
        """One version."""
        entry = self._house.room(space).entries.get(memory_id)
        return next((version for version in entry.versions if version.number == number), None) if entry else None

    async def version_at(self, space: str, memory_id: str, *, at: datetime) -> Version | None:
        """The newest version that there was at a moment."""
        entry = self._house.room(space).entries.get(memory_id)
        there = [version for version in entry.versions if version.created_at <= at] if entry else []
        return max(there, key=lambda one: one.number, default=None)

    async def versions_at(self, space: str, ids: Sequence[str], *, at: datetime) -> dict[str, Version]:
        """The newest version of each that there was at a moment."""
        found = {fromkey: await self.version_at(space, fromkey, at=at) for fromkey in dict.fromkeys(ids)}
        return {one: version for one, version in found.items() if version is not None}

    async def sizes(self, space: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """How many bytes memories have; nothing is packed here."""
        entries = self._house.room(space).entries
        said = {id_: len(json.dumps(to_body(entries[id_].memory))) for id_ in ids if id_ in entries}
        return {one: (size, size) for one, size in said.items()}

    async def relations(self, space: str, ids: Sequence[str]) -> list[Relation]:
        """Every relation that touches one of the memories."""
        ends = set(ids)
        return [
            relation
            for relation in self._house.room(space).relations.values()
            if ends & {relation.source, relation.target}
        ]

    async def relations_at(self, space: str, ids: Sequence[str], *, at: datetime) -> list[Relation]:
        """Every relation that touched one of the memories at a moment: the log played again up to there."""
        ends, known, there = set(ids), set[Key](), dict[Key, Relation]()
        for change in self._house.changes:
            relation = change.relation
            if change.space == space and relation and ends & {relation.source, relation.target}:
                first = relation.key not in known
                known.add(relation.key)
                if min(change.at, relation.created_at if first else change.at) > at:
                    continue
                if change.action is Action.RELATED:
                    there[relation.key] = relation
                else:
                    there.pop(relation.key, None)
        return sorted(there.values(), key=lambda one: (one.created_at, one.type, one.target))

    async def list_ids(self, space: str, filter: Filter, *, limit: int, after: str | None = None) -> list[str]:
        """Ids that pass a filter, most recently updated first."""
        room = self._house.room(space)
        passing = [entry.memory for entry in room.passing(filter)]
        if after is not None:
            # The id may have left the list since the last page; its place in the order has not.
            last = room.entries.get(after)
            passing = [memory for memory in passing if last and _place(memory) < _place(last.memory)]
        return [memory.id for memory in sorted(passing, key=_place, reverse=True)][:limit]

    async def pinned(self, space: str) -> list[str]:
        """Ids of the live pinned memories, oldest first."""
        live = [entry.memory for entry in self._house.room(space).passing(Filter())]
        pinned = [memory for memory in live if memory.pinned]
        return [memory.id for memory in sorted(pinned, key=lambda one: (one.created_at, one.id))]

    async def members(self, space: str, group: str) -> list[str]:
        """Ids of the records that were made from one text."""
        entries = self._house.room(space).entries.values()
        return sorted(entry.memory.id for entry in entries if group and entry.memory.group == group)


def _levels(ref: str) -> Iterator[Callable[[Memory], bool]]:
    title, bare = ref.casefold(), bare_slug(ref)
    yield lambda memory: memory.id == ref.lower()
    yield lambda memory: memory.name == ref
    yield lambda memory: memory.title != "" and memory.title.casefold() == title
    yield lambda memory: bare != "" and bare in (bare_slug(memory.title), bare_slug(memory.name))


def _is_meant(memory: Memory, ref: str) -> bool:
    return memory.state is not State.BRANCHED or memory.id == ref.lower()


def _handle(memory: Memory) -> Handle:
    return Handle(id=memory.id, name=memory.name, title=memory.title, state=memory.state)


def _place(memory: Memory) -> tuple[datetime, str]:
    return memory.updated_at, memory.id
