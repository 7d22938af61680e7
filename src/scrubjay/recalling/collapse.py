"""Passages become memories, and records of one text become one answer."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from scrubjay.lookup.references import SoundReader
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter, facets_of
from scrubjay.recalling.fuse import Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A memory with its best passage, and the entities its text is filed under."""

    memory: Memory
    best: Scored
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which memories are to be found, how many, and which are there already."""

    filter: Filter
    count: int
    now: datetime
    is_there: Callable[[str], bool]
    admits: Callable[[Memory], bool]


async def collapse(scored: Iterable[Scored], *, wanted: Wanted, reader: SoundReader) -> list[Found]:
    """The best memories, each checked against its record, each group once."""
    found: dict[str, Found] = {}
    seen: dict[str, list[Scored]] = {}
    # Reading a record costs more than ranking it: as many as asked for, and more only if some do not pass.
    for ids in _portions(scored, wanted, seen):
        for memory in await reader.get(ids):
            if not passes(memory, wanted.filter, now=wanted.now) or not wanted.admits(memory):
                continue
            best = next((one for one in seen[memory.id] if _is_said(one, memory, now=wanted.now)), None)
            if best is None:
                # What was found of it has come to its end; it may say something else, further down.
                del seen[memory.id]
            else:
                _add(found, memory, best)
        if len(found) >= wanted.count:
            break
    answers = list(found.values())[: wanted.count]
    return [await _with_entities(answer, filter=wanted.filter, reader=reader) for answer in answers]


def _portions(scored: Iterable[Scored], wanted: Wanted, seen: dict[str, list[Scored]]) -> Iterator[list[str]]:
    """Memories by their best passages, as many at once as are wanted; `seen` gets the passages of each."""
    portion: list[str] = []
    for one in scored:
        memory_id = one.passage.memory_id
        if memory_id in seen:
            seen[memory_id].append(one)
            continue
        seen[memory_id] = [one]
        if not wanted.is_there(memory_id):
            portion.append(memory_id)
        if len(portion) == wanted.count:
            yield portion
            portion = []
    if portion:
        yield portion


def _is_said(one: Scored, memory: Memory, *, now: datetime) -> bool:
    """Whether what was found holds still; where the record is newer than the index, nobody knows."""
    number = one.passage.observation
    return number is None or number >= len(memory.observations) or memory.observations[number].holds(now)


def passes(memory: Memory, filter: Filter, *, now: datetime) -> bool:
    """Whether a record still is what the indexes said: they may lag behind it for a moment."""
    if memory.state is not filter.state or not is_current(memory, now=now):
        return False
    if filter.since is not None and memory.date < filter.since:
        return False
    if filter.until is not None and memory.date >= filter.until:
        return False
    groups = filter.facet_groups
    facets = set(facets_of(memory)) if groups else set[str]()
    return all(facets.intersection(group) for group in groups)


def is_current(memory: Memory, *, now: datetime) -> bool:
    """Whether a memory has neither expired nor been superseded as a whole."""
    return memory.holds(now)


def _add(found: dict[str, Found], memory: Memory, best: Scored) -> None:
    found.setdefault(memory.group or memory.id, Found(memory=memory, best=best, entities=_entity(memory)))


async def _with_entities(one: Found, *, filter: Filter, reader: SoundReader) -> Found:
    if not one.memory.group or filter.entity:
        return one
    siblings = await reader.get(await reader.store.members(reader.space, one.memory.group))
    entities = tuple(memory.entity for memory in siblings if memory.state is one.memory.state)
    return Found(memory=one.memory, best=one.best, entities=entities)


def _entity(memory: Memory) -> tuple[str, ...]:
    return (memory.entity,) if memory.entity else ()
