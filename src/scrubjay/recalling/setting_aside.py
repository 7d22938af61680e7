"""Which memories are told otherwise than they stand on main now, read and taken apart to be ranked."""

import asyncio
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.branches import presented
from scrubjay.model.memory import MAIN, Memory, State, Tier
from scrubjay.model.moment import to_iso, to_micros
from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter, Question
from scrubjay.ports import RecordStore, TermStatistics
from scrubjay.recalling.aside import Aside, AsideReader, Asides
from scrubjay.recalling.bygone import as_they_were, bygone
from scrubjay.recalling.candidates import AROUND
from scrubjay.recalling.collapse import passes
from scrubjay.references import SoundReader
from scrubjay.text.passages import passages_of

# So many memories are ranked one by one rather than searched for.
FEW = 500
# So many that have changed since are read, so many with a branch of one name, and so many passages of all and of one of
# them are ranked.
_MOST_READ = 5_000
_MOST_PASSAGES = 20_000
_MOST_OF_ONE = 2_000
# Above the numbers of all passages that a store has.
_FIRST_NUMBER = 1 << 62
_AT_ONCE = 200
# More memories than these are taken apart where they hold nobody up.
_MANY = 32
_TIERS = tuple(Tier)


async def open_reader(
    question: Question,
    *,
    space: str,
    store: RecordStore,
    now: datetime,
    asides: Asides,
    most: int = _MOST_READ,
) -> AsideReader:
    """Whoever reads one space as a question wants it told; no more than `most` memories otherwise than they are."""
    branch = unicodedata.normalize("NFC", question.branch) if question.filter.state is State.LIVE else MAIN
    if question.as_of is None and branch in (MAIN, ""):
        return AsideReader(store, space=space)
    # On a branch of now, what is told ends with time; what was told then does not.
    key = None if question.as_of is None else (space, question.as_of, branch, repr(question.filter))
    place = await store.last_place(space)
    kept = None if key is None else asides.get(key, place=place)
    if kept is not None:
        return AsideReader(store, space=space, aside=kept)
    reader = AsideReader(store, space=space)
    aside = await _set_aside(question, branch, now=now, most=most, reader=reader)
    if key is not None and not reader.problems:
        asides.put(key, aside, place=place)
    opened = AsideReader(store, space=space, aside=aside)
    opened.problems |= reader.problems
    return opened


async def _set_aside(question: Question, branch: str, *, now: datetime, most: int, reader: SoundReader) -> Aside:
    aside = Aside()
    if question.as_of is not None:
        aside = await _then(question.filter, at=question.as_of, most=most, reader=reader)
    if branch not in (MAIN, ""):
        aside = await _on_branch(branch, aside, most=most, reader=reader)
    there = [memory for memory in aside.told.values() if memory is not None]
    return await _with_passages(aside, [memory for memory in there if passes(memory, question.filter, now=now)])


async def _then(wanted: Filter, *, at: datetime, most: int, reader: SoundReader) -> Aside:
    """All that has changed since a moment as it was at it; and who has not, if these are few."""
    # A branch is another line of a memory: what becomes of it changes nothing on main.
    states = [state for state in State if state is not State.BRANCHED]
    past = await bygone(at, states=states, most=most, reader=reader)
    last = past.last.get(wanted.state)
    others = await reader.store.list_ids(reader.space, wanted, limit=FEW + 1, after=last)
    degraded: tuple[str, ...] = ()
    if past.unread:
        degraded = (f"{past.unread:,} more memories have changed since {to_iso(at)} than are read as they were",)
    among = tuple(others) if len(others) <= FEW else None
    return Aside(told=past.then, at=at, after=last, among=among, degraded=degraded)


async def _on_branch(branch: str, aside: Aside, *, most: int, reader: SoundReader) -> Aside:
    """The memories that have a branch of this name as they are on it; at a moment of the past, as they were."""
    wanted = Filter(state=State.BRANCHED, branch=branch)
    ids = await reader.store.list_ids(reader.space, wanted, limit=most + 1)
    lines = await _lines(ids[:most], at=aside.at, reader=reader)
    # One that was dropped since is among what has changed.
    dropped = [memory for memory in aside.told.values() if memory is not None and memory.state is State.BRANCHED]
    # A facet is spelled without regard to case, and a name is not.
    shown = {line.trunk: presented(line) for line in (*lines, *dropped) if line.branch == branch}
    main = AsideReader(reader.store, space=reader.space, aside=aside)
    live: set[str] = set()
    trunks = list(shown)
    for start in range(0, len(trunks), _AT_ONCE):
        some = await main.get(trunks[start : start + _AT_ONCE])
        live |= {memory.id for memory in some if memory.state is State.LIVE}
    told = {**aside.told, **{trunk: memory for trunk, memory in shown.items() if trunk in live}}
    degraded = aside.degraded
    if len(ids) > most:
        why = f"more than {most:,} memories have the branch {branch[:100]!r}: the others are told as on main"
        degraded = (*degraded, why)
    return replace(aside, told=told, degraded=degraded)


async def _lines(ids: Sequence[str], *, at: datetime | None, reader: SoundReader) -> list[Memory]:
    found: list[Memory] = []
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        if at is None:
            found += await reader.get(some)
        else:
            then = await as_they_were(some, at=at, reader=reader)
            found += [line for line in then.values() if line is not None and line.state is State.BRANCHED]
    return found


async def _with_passages(aside: Aside, memories: Sequence[Memory]) -> Aside:
    # The newest last: of two that are as good, the one with the higher number comes first.
    ordered = sorted(memories, key=lambda memory: (memory.updated_at, memory.id))
    passages, is_all = _passages(ordered) if len(ordered) < _MANY else await asyncio.to_thread(_passages, ordered)
    degraded = () if is_all else ("some of what was said is too long to be searched whole",)
    counted = _counted(passages)
    return replace(aside, passages=passages, counted=counted, degraded=(*aside.degraded, *degraded))


def _passages(memories: Sequence[Memory]) -> tuple[tuple[StoredPassage, ...], bool]:
    """Memories taken apart, and whether all of them were; each passage with those around it in its thread."""
    passages: list[StoredPassage] = []
    threads: dict[str, list[int]] = {}
    is_all = True
    for memory in reversed(memories):
        made = list(_stored(memory))
        room = min(_MOST_OF_ONE, _MOST_PASSAGES - len(passages))
        is_all = is_all and len(made) <= room
        threads.setdefault(memory.thread, []).extend(range(len(passages), len(passages) + len(made[:room])))
        passages += made[:room]
    return _numbered(passages, threads), is_all


def _stored(memory: Memory) -> Iterable[StoredPassage]:
    """The passages of a memory as a store would hand them out, but for their numbers."""
    confirmed = memory.last_confirmed
    for one in passages_of(memory):
        yield StoredPassage(
            id=0,
            memory_id=memory.id,
            observation=one.observation,
            start=one.start,
            end=one.end,
            hash=one.hash,
            terms=" ".join(one.terms),
            date=to_micros(memory.date),
            who=" ".join(one.who),
            asks=one.asks,
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


def _counted(passages: Sequence[StoredPassage]) -> TermStatistics:
    frequencies: Counter[str] = Counter()
    total = 0
    for passage in passages:
        terms = passage.terms.split()
        total += len(terms)
        frequencies.update(set(terms))
    return TermStatistics(passages=len(passages), total_length=total, frequencies=frequencies)
