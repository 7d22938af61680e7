"""Memories that are told otherwise, taken apart to be ranked beside what the indexes find."""

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

# So many passages of all memories and of one of them are ranked.
_MOST_PASSAGES = 20_000
_MOST_OF_ONE = 2_000
# Above the numbers of all passages that a store has.
_FIRST_NUMBER = 1 << 62
# More memories than these are taken apart where they hold nobody up.
_MANY = 32
_TIERS = tuple(Tier)


async def take_apart(aside: Overlay, memories: Sequence[Memory], *, before: Overlay) -> Overlay:
    """What is told otherwise, with the passages of those who pass; who was taken apart before is not again."""
    # The newest last: of two that are as good, the one with the higher number comes first.
    ordered = sorted(memories, key=lambda memory: (memory.updated_at, memory.id))

    def taken() -> tuple[tuple[StoredPassage, ...], bool, TermStatistics]:
        ready = _ready(ordered, before)
        passages, is_all = _passages(ordered, ready)
        # Only those who were not there before are counted, if nobody is gone.
        kept = sum(map(len, ready.values()))
        fresh = [passage for passage in passages if passage.memory_id not in ready]
        if before.counted is not None and kept == len(before.passages) and is_all:
            return passages, is_all, _counted(fresh, onto=before.counted)
        return passages, is_all, _counted(passages)

    passages, is_all, counted = taken() if len(ordered) < _MANY else await asyncio.to_thread(taken)
    degraded = () if is_all else ("some of what was said is too long to be searched whole",)
    return replace(aside, passages=passages, counted=counted, degraded=(*aside.degraded, *degraded))


def _ready(memories: Sequence[Memory], before: Overlay) -> dict[str, list[StoredPassage]]:
    """The passages of those memories that were taken apart whole before."""
    if len(before.passages) >= _MOST_PASSAGES:
        return {}
    made = {one: list(several) for one, several in groupby(before.passages, key=lambda one: one.memory_id)}
    same = [memory.id for memory in memories if before.told.get(memory.id) is memory]
    return {one: made[one] for one in same if one in made and len(made[one]) < _MOST_OF_ONE}


def _passages(
    memories: Sequence[Memory], ready: Mapping[str, list[StoredPassage]]
) -> tuple[tuple[StoredPassage, ...], bool]:
    """Memories taken apart, and whether all of them were; each passage with those around it in its thread."""
    passages: list[StoredPassage] = []
    threads: dict[str, list[int]] = {}
    is_all = True
    for memory in reversed(memories):
        made = ready.get(memory.id) or list(_stored(memory))
        room = min(_MOST_OF_ONE, _MOST_PASSAGES - len(passages))
        is_all = is_all and len(made) <= room
        threads.setdefault(memory.thread, []).extend(range(len(passages), len(passages) + len(made[:room])))
        passages += made[:room]
    return _numbered(passages, threads), is_all


def _stored(memory: Memory) -> Iterable[StoredPassage]:
    """The passages of a memory as a store would hand them out, but for their numbers."""
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


def _numbered(passages: Sequence[StoredPassage], threads: Mapping[str, Sequence[int]]) -> tuple[StoredPassage, ...]:
    """Each with its number and its neighbours; the first, which are the newest, get the highest."""
    numbers = [_FIRST_NUMBER + len(passages) - place for place in range(len(passages))]
    numbered = list(passages)
    for places in threads.values():
        row = sorted(places, key=lambda place: (passages[place].date, passages[place].memory_id, place))
        for at, place in enumerate(row):
            before, after = row[max(0, at - AROUND) : at][::-1], row[at + 1 : at + 1 + AROUND]
            numbered[place] = passages[place]._replace(
                id=numbers[place],
                before=tuple(numbers[one] for one in before),
                after=tuple(numbers[one] for one in after),
            )
    return tuple(numbered)


def _counted(passages: Sequence[StoredPassage], *, onto: TermStatistics | None = None) -> TermStatistics:
    frequencies: Counter[str] = Counter(onto.frequencies if onto else {})
    total = onto.total_length if onto else 0
    for passage in passages:
        terms = passage.terms.split()
        total += len(terms)
        frequencies.update(set(terms))
    count = len(passages) + (onto.passages if onto else 0)
    return TermStatistics(passages=count, total_length=total, frequencies=frequencies)
