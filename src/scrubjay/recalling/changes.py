"""What has changed since: the current fact stands in the place of the former one, and says what it was before.

A former fact is shown where the question asks about the past, and is marked. The sides of an open conflict are marked
with the id that settles it, and of two sources that are trusted alike the newer one comes first. Of two memories that
an update has weighed against each other, the one with more relevance comes first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

from scrubjay.detection.statement import DisputedStatement, find_statement
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.conflict import (
    PENDING_COLLECTION,
    SETTLED_COLLECTION,
    ConflictRecord,
    ConflictType,
    Strategy,
    parse_conflict,
)
from scrubjay.model.memory import Memory, State, Trust
from scrubjay.model.results import Hit
from scrubjay.ports import RecordStore
from scrubjay.recalling.collapse import RankedMemory
from scrubjay.recalling.render import first_passage
from scrubjay.text.claims.pairs import PastQuestion

__all__ = ["FiledChanges", "load_changes", "weightier_first"]

_MAX_CONFLICTS = 60
# Of a former statement so much is quoted.
_MAX_QUOTED = 60
# A fact may have changed often; the current one is at the end of such a chain.
_MAX_CHAIN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledChanges:
    """The conflicts of some memories: `replaced` by the id of the former one, `current` by that of the newer one.

    `updated`: by an update, by the id of the one with less relevance. `open` are the contradictions that no one has
    settled, by the id of each side. `memories` are all of both sides.
    """

    replaced: Mapping[str, ConflictRecord] = field(default_factory=dict[str, ConflictRecord])
    current: Mapping[str, ConflictRecord] = field(default_factory=dict[str, ConflictRecord])
    updated: Mapping[str, ConflictRecord] = field(default_factory=dict[str, ConflictRecord])
    open: Mapping[str, ConflictRecord] = field(default_factory=dict[str, ConflictRecord])
    memories: Mapping[str, Memory] = field(default_factory=dict[str, Memory])
    now: datetime

    def order(
        self,
        ranked: Sequence[RankedMemory],
        outdated: Sequence[RankedMemory],
        *,
        past: PastQuestion,
        admits: Callable[[Memory], bool],
    ) -> list[RankedMemory]:
        """Return the memories of an answer with the current ones in the places of the former ones.

        Where the question is about the past, the former ones come too: before the current ones, or else after them.
        """
        by_key = {_key(match.memory): match for match in ranked}
        ordered: dict[str, RankedMemory] = {}
        waiting = list(outdated)
        for match in ranked:
            while waiting and _stands_before(waiting[0], match):
                self._place(waiting.pop(0), ordered, by_key, past=past, admits=admits)
            ordered.setdefault(_key(match.memory), match)
        for match in waiting:
            self._place(match, ordered, by_key, past=past, admits=admits)
        return self._former_first(list(ordered.values())) if past is PastQuestion.FORMER else list(ordered.values())

    def _place(
        self,
        former: RankedMemory,
        ordered: dict[str, RankedMemory],
        by_key: Mapping[str, RankedMemory],
        *,
        past: PastQuestion,
        admits: Callable[[Memory], bool],
    ) -> None:
        """Add what has replaced a former memory, and that one too where the question is about the past."""
        current = self._current_of(former)
        if current is not None and admits(current.memory):
            ordered.setdefault(_key(current.memory), by_key.get(_key(current.memory)) or current)
        if past is not PastQuestion.NO:
            ordered.setdefault(_key(former.memory), former)

    def weightier(self, memory_id: str) -> tuple[Memory, str] | None:
        """Return what an update has given more relevance than a memory, and the key of its statement."""
        if (conflict := self.updated.get(memory_id)) is None:
            return None
        is_other = conflict.memory == memory_id
        memory = self.memories.get(conflict.other if is_other else conflict.memory)
        if memory is None or memory.state is not State.LIVE or not memory.holds(self.now):
            return None
        return memory, conflict.against if is_other else conflict.statement

    def weightier_first(
        self, ranked: Sequence[RankedMemory], *, admits: Callable[[Memory], bool]
    ) -> list[RankedMemory]:  # fmt: skip
        """Return the memories of an answer, each after what an update has given more relevance, found or not."""
        by_key = {_key(match.memory): match for match in ranked}
        ordered: dict[str, RankedMemory] = {}
        for match in ranked:
            chain = [match]
            while len(chain) < _MAX_CHAIN and (other := self.weightier(chain[-1].memory.id)) is not None:
                memory, statement = other
                if not admits(memory) or any(link.memory.id == memory.id for link in chain):
                    break
                chain.append(by_key.get(_key(memory)) or _stand_in(memory, statement, chain[-1]))
            for link in reversed(chain):
                ordered.setdefault(_key(link.memory), link)
        return list(ordered.values())

    def mark(self, hit: Hit, ranked: RankedMemory) -> Hit:
        """Return a hit with what it was before, what it is outdated by, or what disputes it."""
        memory = ranked.memory
        if (conflict := self.replaced.get(memory.id)) is not None and self._is_ended(ranked):
            return replace(hit, outdated=self._outdated(conflict))
        disputed = self._disputed(memory, conflict) if (conflict := self.open.get(memory.id)) else ""
        former = self._before(memory, conflict) if (conflict := self.current.get(memory.id)) else ""
        return replace(hit, disputed=disputed, before=former) if disputed or former else hit

    def _former_first(self, ranked: list[RankedMemory]) -> list[RankedMemory]:
        """Return the memories, each current one after that which it has replaced, found or not."""
        by_key = {_key(match.memory): match for match in ranked}
        ordered: dict[str, RankedMemory] = {}
        for match in ranked:
            conflict = self.current.get(match.memory.id) or self.open.get(match.memory.id)
            former = self._former_of(conflict, match) if conflict is not None else None
            if former is not None:
                ordered.setdefault(_key(former.memory), by_key.get(_key(former.memory)) or former)
            ordered.setdefault(_key(match.memory), match)
        return list(ordered.values())

    def _former_of(self, conflict: ConflictRecord, match: RankedMemory) -> RankedMemory | None:
        """Return what a memory has replaced, with the score of that memory."""
        older = self.memories.get(conflict.other)
        statement = find_statement(older, conflict.against) if older is not None else None
        if statement is None or statement.memory.id == match.memory.id:
            return None
        return _stand_in(statement.memory, conflict.against, match)._replace(evidence=None)

    def _siblings(self, memory: Memory) -> tuple[str, ...]:
        if not memory.group:
            return ()
        return tuple(other.id for other in self.memories.values() if other.group == memory.group)

    def _current_of(self, outdated: RankedMemory) -> RankedMemory | None:
        """Return what has replaced a memory, at last, with the score of that memory."""
        memory = outdated.memory
        for _ in range(_MAX_CHAIN):
            conflict = self.replaced.get(memory.id)
            newer = self.memories.get(conflict.memory) if conflict else None
            if newer is None:
                return None
            if newer.holds(self.now):
                best = first_passage(newer)._replace(score=outdated.best.score, answers=outdated.best.answers)
                entities = (newer.entity,) if newer.entity else ()
                return RankedMemory(memory=newer, best=best, entities=entities, evidence=outdated.evidence)
            memory = newer
        return None

    def _is_ended(self, ranked: RankedMemory) -> bool:
        """Check that the passage shown is the former statement, and not another one of its memory."""
        memory, number = ranked.memory, ranked.best.passage.observation
        if not memory.holds(self.now):
            return True
        if number is None or number >= len(memory.observations):
            return False
        return not memory.observations[number].holds(self.now)

    def _outdated(self, conflict: ConflictRecord) -> str:
        newer = self.memories.get(conflict.memory)
        since = newer.date if newer is not None else conflict.resolved_at or conflict.detected_at
        by = newer.name if newer is not None else conflict.memory
        return f"outdated by {by} since {since.date().isoformat()}"

    def _before(self, memory: Memory, conflict: ConflictRecord) -> str:
        older = self.memories.get(conflict.other)
        former = find_statement(older, conflict.against) if older is not None else None
        if former is None:
            return ""
        return f"was: {_quote(former)} until {memory.date.date().isoformat()}"

    def _disputed(self, memory: Memory, conflict: ConflictRecord) -> str:
        is_newer = conflict.memory in (memory.id, *self._siblings(memory))
        other = self.memories.get(conflict.other if is_newer else conflict.memory)
        if other is None or other.state is not State.LIVE or not other.holds(self.now):
            return ""
        return f"disputed by {other.name}; settle {conflict.id}"


async def weightier_first(
    memories: Sequence[Memory], *, reader: TolerantReader[RecordStore], now: datetime
) -> list[Memory]:  # fmt: skip
    """Return memories of one space, each after what an update has given more relevance."""
    if not any(_is_weighed_down(memory) for memory in memories):
        return list(memories)
    changes = await load_changes(filter(_is_weighed_down, memories), reader=reader, now=now)
    ordered: dict[str, Memory] = {}
    for memory in memories:
        chain = [memory]
        while len(chain) < _MAX_CHAIN and (other := changes.weightier(chain[-1].id)) is not None:
            chain.append(other[0])
        ordered |= {link.id: link for link in reversed(chain) if link.id not in ordered}
    return list(ordered.values())


async def load_changes(
    hits: Iterable[Memory], *, reader: TolerantReader[RecordStore], now: datetime
) -> FiledChanges:  # fmt: skip
    """Read the conflicts of memories that were filed against them."""
    memories = {memory.id: memory for memory in hits if memory.space == reader.space}
    for group in {memory.group for memory in memories.values() if memory.group}:
        siblings = await reader.get(await reader.store.members(reader.space, group))
        memories |= {memory.id: memory for memory in siblings}
    changes = FiledChanges(memories=memories, now=now)
    todo = list(memories)
    for _ in range(_MAX_CHAIN):
        if not todo:
            break
        changes = await _read(changes, todo, reader=reader)
        # What has replaced a memory may have been replaced itself.
        todo = [
            id_
            for id_, memory in changes.memories.items()
            if id_ not in memories and (not memory.holds(now) or _is_weighed_down(memory))
        ]
        memories |= changes.memories
    return _for_siblings(changes)


async def _read(changes: FiledChanges, ids: Sequence[str], *, reader: TolerantReader[RecordStore]) -> FiledChanges:
    store, space = reader.store, reader.space
    settled = await store.documents_about(space, SETTLED_COLLECTION, ids, limit=_MAX_CONFLICTS)
    waiting = await store.documents_about(space, PENDING_COLLECTION, ids, limit=_MAX_CONFLICTS)
    if not settled and not waiting:
        return changes
    between = [
        conflict
        for conflict in map(parse_conflict, settled)
        if conflict is not None and conflict.memory != conflict.other
    ]
    # Of several, the one with the newest memory counts: ids begin with the time.
    between.sort(key=lambda conflict: (conflict.memory, conflict.other))
    superseding = [conflict for conflict in between if conflict.strategy is Strategy.SUPERSEDE]
    updating = [conflict for conflict in between if conflict.strategy is Strategy.UPDATE]
    pending = [
        conflict
        for conflict in map(parse_conflict, waiting)
        if conflict is not None and conflict.type is ConflictType.CONTRADICTION and conflict.memory != conflict.other
    ]
    pending.sort(key=lambda conflict: (conflict.memory, conflict.other))
    ends = {end for conflict in (*superseding, *updating, *pending) for end in (conflict.memory, conflict.other)}
    missing = sorted(ends - changes.memories.keys())
    memories = {**changes.memories, **{memory.id: memory for memory in (await reader.get(missing) if missing else [])}}
    superseding = [_in_order(conflict, memories) for conflict in superseding]
    return replace(
        changes,
        memories=memories,
        replaced={**changes.replaced, **{conflict.other: conflict for conflict in superseding}},
        current={**changes.current, **{conflict.memory: conflict for conflict in superseding}},
        updated={**changes.updated, **dict(_weigh(updating, memories))},
        open={**changes.open, **{end: conflict for conflict in pending for end in (conflict.memory, conflict.other)}},
    )


def _weigh(
    updating: Iterable[ConflictRecord], memories: Mapping[str, Memory]
) -> Iterator[tuple[str, ConflictRecord]]:  # fmt: skip
    """Yield updates by the id of the memory with less relevance; its writer may have changed that since."""
    for conflict in updating:
        memory, other = memories.get(conflict.memory), memories.get(conflict.other)
        if memory is not None and other is not None and memory.relevance != other.relevance:
            yield min((memory, other), key=lambda side: side.relevance).id, conflict


def _is_weighed_down(memory: Memory) -> bool:
    return memory.resolution == Strategy.UPDATE and memory.relevance < 1


def _stand_in(memory: Memory, statement: str, match: RankedMemory) -> RankedMemory:
    """Return a memory that no search has found in the place of one that was, with its score."""
    best = first_passage(memory)._replace(score=match.best.score, answers=match.best.answers)
    place = find_statement(memory, statement)
    if place is not None and place.observation is not None:
        passage = best.passage._replace(observation=place.observation, start=0, end=len(place.text))
        best = best._replace(passage=passage)
    entities = (memory.entity,) if memory.entity else ()
    return RankedMemory(memory=memory, best=best, entities=entities, evidence=match.evidence)


def _in_order(conflict: ConflictRecord, memories: Mapping[str, Memory]) -> ConflictRecord:
    """Return a settled conflict with the newer statement as its first side: a later write may be about the past."""
    memory, other = memories.get(conflict.memory), memories.get(conflict.other)
    if memory is None or other is None or memory.valid_until is None or other.valid_until is not None:
        return conflict
    return replace(
        conflict, memory=conflict.other, other=conflict.memory, statement=conflict.against, against=conflict.statement
    )


def _for_siblings(changes: FiledChanges) -> FiledChanges:
    """Return the changes for all records of one text, of which a conflict names one."""
    by_group: dict[str, list[str]] = {}
    for memory in changes.memories.values():
        if memory.group:
            by_group.setdefault(memory.group, []).append(memory.id)
    if not by_group:
        return changes
    spread = [dict(filed) for filed in (changes.replaced, changes.current, changes.open)]
    for filed in spread:
        for ids in by_group.values():
            conflict = next((filed[id_] for id_ in ids if id_ in filed), None)
            if conflict is not None:
                filed.update({id_: conflict for id_ in ids if id_ not in filed})
    return replace(changes, replaced=spread[0], current=spread[1], open=spread[2])


def _key(memory: Memory) -> str:
    return memory.group or memory.id


def _stands_before(former: RankedMemory, match: RankedMemory) -> bool:
    """Check whether what has replaced a former memory comes before a match: never before the user's own word."""
    if match.source.trust is Trust.USER and former.source.trust is not Trust.USER:
        return False
    return former.best.score >= match.best.score


def _quote(statement: DisputedStatement) -> str:
    text = " ".join(statement.text.split()).rstrip(".")
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED].rsplit(' ', 1)[0]}\u2026"
