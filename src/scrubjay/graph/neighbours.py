"""Where a walk along relations can go: who stands at their ends, now or at a moment of the past.

A memory that was merged into another is that other here, and so is a mention of somebody who was created since.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from scrubjay.errors import NotFound
from scrubjay.graph.entity import is_mention, type_of
from scrubjay.lookup.references import SoundReader, resolve
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import LINK, Relation
from scrubjay.model.timestamps import to_iso
from scrubjay.ports import RecordStore

DIRECTIONS = ("out", "in", "both")
BACK = {"out": "in", "in": "out", "both": "both"}
# What was merged may have been merged again; more than so often in a row is a circle.
_LONGEST_CHAIN = 16
_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A relation, gone along from a memory to whoever is at its other end."""

    start: str
    end: str
    relation: Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationGraph:
    """The relations of a space that may be gone along. One is made for one call and remembers whom it has met."""

    store: RecordStore
    space: str
    types: frozenset[str] = frozenset()
    as_of: datetime | None = None
    _met: dict[str, Memory] = field(default_factory=dict[str, Memory])
    _twins: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    _created: dict[str, str] = field(default_factory=dict[str, str])

    async def start(self, ref: str) -> Memory:
        """The memory that answers to a reference; raises NotFound where there is none, or was none at that time."""
        memory = await resolve(self.store, ref, space=self.space)
        asked = memory.trunk or memory.id
        found = (await self.standing([asked])).get(asked)
        if found is None:
            raise self._absent(memory)
        mentions = await self.store.find(self.space, found.name, state=State.ARCHIVED)
        self._twins[found.id] = tuple(
            mention.id for mention in mentions if mention.name == found.name and mention.id != found.id
        )
        return found

    async def standing(self, ids: Iterable[str]) -> dict[str, Memory]:
        """By id, who stands for each memory; what is in the trash, or was not there at that time, is left out."""
        at = {id_: id_ for id_ in ids}
        found: dict[str, Memory] = {}
        for _ in range(_LONGEST_CHAIN):
            await self._meet(dict.fromkeys(at.values()))
            onward: dict[str, str] = {}
            for asked, current in at.items():
                memory = self._met.get(current)
                if memory is None:
                    continue
                if next_one := self._created.get(current) or _merged_into(memory):
                    onward[asked] = next_one
                elif memory.state is State.LIVE or is_mention(memory):
                    found[asked] = memory
            if not onward:
                break
            at = onward
        return found

    async def steps(self, memories: Sequence[Memory], *, direction: str) -> list[Step]:
        """All steps from some memories, the strongest relations first."""
        owners = {part: memory.id for memory in memories for part in self._parts(memory)}
        relations = await self._relations(list(owners)) if owners else []
        found: list[Step] = []
        for relation in sorted(relations, key=lambda relation: (-relation.strength, relation.created_at, relation.key)):
            if self.types and self.types.isdisjoint({relation.type.casefold(), type_of(relation).casefold()}):
                continue
            # A link leads both ways.
            is_open = direction == "both" or relation.type == LINK
            if (is_open or direction == "out") and relation.source in owners:
                found.append(Step(start=owners[relation.source], end=relation.target, relation=relation))
            if (is_open or direction == "in") and relation.target in owners:
                found.append(Step(start=owners[relation.target], end=relation.source, relation=relation))
        return found

    def between(self, step: Step, *, end: str) -> Relation | None:
        """A step's relation as one between those who stand at its ends; None where both are one since they merged."""
        one = step.relation
        if end == step.start and one.source != one.target:
            return None
        is_forward = one.target == step.end and one.source in self._parts_of(step.start)
        source, target = (step.start, end) if is_forward else (end, step.start)
        return one if (source, target) == (one.source, one.target) else replace(one, source=source, target=target)

    def _parts_of(self, memory_id: str) -> tuple[str, ...]:
        memory = self._met.get(memory_id)
        return self._parts(memory) if memory else (memory_id,)

    def _parts(self, memory: Memory) -> tuple[str, ...]:
        """All ids under which relations of a memory may be kept."""
        return memory.id, *(one.id for one in memory.merged), *self._twins.get(memory.id, ())

    async def _relations(self, ids: Sequence[str]) -> list[Relation]:
        if self.as_of is None:
            return await self.store.relations(self.space, ids)
        return await self.store.relations_at(self.space, ids, at=self.as_of)

    async def _meet(self, ids: Iterable[str]) -> None:
        unknown = [id_ for id_ in ids if id_ not in self._met]
        found = await SoundReader(self.store, space=self.space).get(unknown)
        if self.as_of is not None:
            found = await self._as_they_were(found, at=self.as_of)
        self._met.update((memory.id, memory) for memory in found)
        for memory in found:
            if is_mention(memory):
                handles = await self.store.find(self.space, memory.name, state=State.LIVE)
                # Who answers to it by a title or half a name is somebody else.
                self._created.update((memory.id, handle.id) for handle in handles if handle.name == memory.name)

    async def _as_they_were(self, memories: Sequence[Memory], *, at: datetime) -> list[Memory]:
        found = [memory for memory in memories if memory.updated_at <= at]
        changed = [memory.id for memory in memories if memory.updated_at > at and memory.created_at <= at]
        for first in range(0, len(changed), _AT_ONCE):
            versions = await self.store.versions_at(self.space, changed[first : first + _AT_ONCE], at=at)
            found += [version.memory for version in versions.values()]
        return found

    def _absent(self, memory: Memory) -> NotFound:
        if self.as_of is not None:
            message, hint = f"{memory.name!r} was not there at {to_iso(self.as_of)}", "Ask for another time"
        elif memory.state is State.TRASHED:
            message, hint = f"{memory.name!r} is in the trash", "`restore` it first"
        else:
            message, hint = f"{memory.name!r} is {memory.state.value}", "Begin with one that is live"
        return NotFound(message, hint=hint, memory_id=memory.id, state=memory.state.value)


def _merged_into(memory: Memory) -> str:
    return memory.merged_into if memory.state is State.MERGED else ""
