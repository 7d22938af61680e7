"""Collapses ranked passages into memories, and the records of one text into one result."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from scrubjay.lookup.references import TolerantReader
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter, facets_of
from scrubjay.ports import RecordStore
from scrubjay.recalling.fuse import ScoredPassage


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedMemory:
    """A memory with its best passage, and the entities of all records of its text."""

    memory: Memory
    best: ScoredPassage
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Which memories to return, how many, and which are excluded: by id alone, or by the whole record."""

    filter: Filter
    count: int
    now: datetime
    excludes_id: Callable[[str], bool]
    admits: Callable[[Memory], bool]


async def collapse(
    ranking: Iterable[ScoredPassage], *, request: PageRequest, reader: TolerantReader[RecordStore]
) -> list[RankedMemory]:
    """Return the best memories, each checked against its record, each group once."""
    ranked: dict[str, RankedMemory] = {}
    passages: dict[str, list[ScoredPassage]] = {}
    # Reading a record costs more than ranking it: read as many as requested, and more only if some do not pass.
    for ids in _batch_memories(ranking, request, passages):
        for memory in await reader.get(ids):
            if not passes(memory, request.filter, now=request.now) or not request.admits(memory):
                continue
            best = next((scored for scored in passages[memory.id] if _is_valid(scored, memory, now=request.now)), None)
            if best is None:
                # Its passages so far have been superseded; another one may follow further down.
                del passages[memory.id]
                continue
            entities = (memory.entity,) if memory.entity else ()
            key = memory.group or memory.id
            ranked.setdefault(key, RankedMemory(memory=memory, best=best, entities=entities))
        if len(ranked) >= request.count:
            break
    best_ranked = list(ranked.values())[: request.count]
    return [await _add_entities(match, filter=request.filter, reader=reader) for match in best_ranked]


def passes(memory: Memory, filter: Filter, *, now: datetime) -> bool:
    """Return whether a record passes a filter now; the indexes may lag behind it for a moment."""
    if memory.state is not filter.state or not memory.holds(now):
        return False
    if filter.since is not None and memory.date < filter.since:
        return False
    if filter.until is not None and memory.date >= filter.until:
        return False
    groups = filter.facet_groups
    facets = set(facets_of(memory)) if groups else set[str]()
    return all(facets.intersection(group) for group in groups)


def _batch_memories(
    scored: Iterable[ScoredPassage], request: PageRequest, passages: dict[str, list[ScoredPassage]]
) -> Iterator[list[str]]:
    """Yield ids of memories in the order of their best passages; `passages` collects the passages of each."""
    batch: list[str] = []
    for passage in scored:
        memory_id = passage.passage.memory_id
        if memory_id in passages:
            passages[memory_id].append(passage)
            continue
        passages[memory_id] = [passage]
        if not request.excludes_id(memory_id):
            batch.append(memory_id)
        if len(batch) == request.count:
            yield batch
            batch = []
    if batch:
        yield batch


def _is_valid(scored: ScoredPassage, memory: Memory, *, now: datetime) -> bool:
    """Return whether a passage is not of a superseded observation; unknown ones of a newer record count as valid."""
    number = scored.passage.observation
    return number is None or number >= len(memory.observations) or memory.observations[number].holds(now)


async def _add_entities(match: RankedMemory, *, filter: Filter, reader: TolerantReader[RecordStore]) -> RankedMemory:
    if not match.memory.group or filter.entity:
        return match
    siblings = await reader.get(await reader.store.members(reader.space, match.memory.group))
    return replace(match, entities=tuple(memory.entity for memory in siblings if memory.state is match.memory.state))
