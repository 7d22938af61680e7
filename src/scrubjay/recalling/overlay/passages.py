"""Passages of the memories in an overlay, made in memory so that they can be ranked with the indexed ones."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from scrubjay.model.memory import Memory, Tier
from scrubjay.model.passage import StoredPassage
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import TermStatistics
from scrubjay.recalling.candidates import AROUND
from scrubjay.recalling.overlay.overlay import Overlay
from scrubjay.text.passages import passages_of

_MAX_PASSAGES = 20_000
_MAX_PASSAGES_PER_MEMORY = 2_000
# Above the numbers of all passages in any store.
_FIRST_NUMBER = 1 << 62
# From so many memories on, splitting runs in a thread and leaves the event loop free.
_THREAD_THRESHOLD = 32
_TIERS = tuple(Tier)


async def add_passages(overlay: Overlay, memories: Sequence[Memory], *, previous: Overlay) -> Overlay:
    """Return the overlay with the passages of some of its memories, reusing those of a previous overlay."""
    # The newest last: of two equal scores the passage with the higher number comes first.
    ordered = sorted(memories, key=lambda memory: (memory.updated_at, memory.id))

    def split() -> tuple[tuple[StoredPassage, ...], bool, TermStatistics]:
        reusable = _reusable_passages(ordered, previous)
        passages, is_complete = _split_memories(ordered, reusable)
        # If all previous passages are still there, only the new ones need counting.
        reused_count = sum(map(len, reusable.values()))
        added = [passage for passage in passages if passage.memory_id not in reusable]
        if previous.statistics is not None and reused_count == len(previous.passages) and is_complete:
            return passages, is_complete, _count_terms(added, onto=previous.statistics)
        return passages, is_complete, _count_terms(passages)

    passages, is_complete, statistics = split() if len(ordered) < _THREAD_THRESHOLD else await asyncio.to_thread(split)
    degraded = () if is_complete else ("some memories are too long to be searched completely",)
    return replace(overlay, passages=passages, statistics=statistics, degraded=(*overlay.degraded, *degraded))


def _reusable_passages(memories: Sequence[Memory], previous: Overlay) -> dict[str, list[StoredPassage]]:
    """Return the passages of those memories that a previous overlay has split completely."""
    if len(previous.passages) >= _MAX_PASSAGES:
        return {}
    by_memory = {
        memory_id: list(passages)
        for memory_id, passages in groupby(previous.passages, key=lambda passage: passage.memory_id)
    }
    same = [memory.id for memory in memories if previous.memories.get(memory.id) is memory]
    return {
        memory_id: by_memory[memory_id]
        for memory_id in same
        if memory_id in by_memory and len(by_memory[memory_id]) < _MAX_PASSAGES_PER_MEMORY
    }


def _split_memories(
    memories: Sequence[Memory], reusable: Mapping[str, list[StoredPassage]]
) -> tuple[tuple[StoredPassage, ...], bool]:
    """Return the passages of memories, each with its neighbours in its thread, and whether none is missing."""
    passages: list[StoredPassage] = []
    threads: dict[str, list[int]] = {}
    is_complete = True
    for memory in reversed(memories):
        own = reusable.get(memory.id) or list(_stored_passages(memory))
        room = min(_MAX_PASSAGES_PER_MEMORY, _MAX_PASSAGES - len(passages))
        is_complete = is_complete and len(own) <= room
        threads.setdefault(memory.thread, []).extend(range(len(passages), len(passages) + len(own[:room])))
        passages += own[:room]
    return _number_passages(passages, threads), is_complete


def _stored_passages(memory: Memory) -> Iterable[StoredPassage]:
    """Yield the passages of a memory as a store returns them, without their numbers."""
    confirmed = memory.last_confirmed
    for passage in passages_of(memory):
        yield StoredPassage(
            id=0,
            memory_id=memory.id,
            observation=passage.observation,
            start=passage.start,
            end=passage.end,
            hash=passage.hash,
            terms=" ".join(passage.terms),
            date=to_micros(memory.date),
            who=" ".join(passage.who),
            asks=passage.asks,
            tier=_TIERS.index(memory.tier),
            relevance=memory.relevance,
            confirmed=None if confirmed is None else to_micros(confirmed),
            accesses=memory.access_count,
        )


def _number_passages(
    passages: Sequence[StoredPassage], threads: Mapping[str, Sequence[int]]
) -> tuple[StoredPassage, ...]:
    """Give each passage its number and its neighbours; the first, which are the newest, get the highest numbers."""
    numbers = [_FIRST_NUMBER + len(passages) - position for position in range(len(passages))]
    numbered = list(passages)
    for positions in threads.values():
        thread = sorted(
            positions, key=lambda position: (passages[position].date, passages[position].memory_id, position)
        )
        for at, position in enumerate(thread):
            before, after = thread[max(0, at - AROUND) : at][::-1], thread[at + 1 : at + 1 + AROUND]
            numbered[position] = passages[position]._replace(
                id=numbers[position],
                before=tuple(numbers[neighbour] for neighbour in before),
                after=tuple(numbers[neighbour] for neighbour in after),
            )
    return tuple(numbered)


def _count_terms(passages: Sequence[StoredPassage], *, onto: TermStatistics | None = None) -> TermStatistics:
    frequencies: Counter[str] = Counter(onto.frequencies if onto else {})
    total = onto.total_length if onto else 0
    for passage in passages:
        terms = passage.terms.split()
        total += len(terms)
        frequencies.update(set(terms))
    count = len(passages) + (onto.passages if onto else 0)
    return TermStatistics(passages=count, total_length=total, frequencies=frequencies)
