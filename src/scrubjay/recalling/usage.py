"""`usage`: what is asked of a space, what is found and read, and what never is.

One small document a day and space holds the counts. They are collected in memory and written a little later; a question
is kept in lower case, without secrets, and goes with the memories that it found when they are purged.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Self, cast

from scrubjay.cancelling import cancel
from scrubjay.errors import StoreError
from scrubjay.lookup.daily import DailyDocuments
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.checks import require_integer
from scrubjay.model.document import USAGE
from scrubjay.model.memory import Json, Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.requests import UsageRequest
from scrubjay.model.results import FrequentQuestion, UnreadMemory, Usage, UsageDay, UsedMemory
from scrubjay.ports import Clock, RecordStore
from scrubjay.recalling.collapse import passes
from scrubjay.text.screening.secrets import redact
from scrubjay.text.tokens import terms_of

_DELAY = 20.0
_KEPT_DAYS = 90
# Of a day, the most frequent questions and memories stay.
_MAX_QUESTIONS = 50
_MAX_MEMORIES = 100
# The best hits of a question, with which it is purged.
_MAX_FOUND = 5
_MAX_QUESTION = 200
# A secret is searched for in so much of a question, so that none is cut in two.
_MAX_SCREENED = 4_000
_PAGE = 20


@dataclass(slots=True, kw_only=True)
class _Question:
    count: int = 0
    nothing: int = 0
    hit_ids: list[str] = field(default_factory=list[str])


@dataclass(slots=True, kw_only=True)
class _Counts:
    """The counts of a day; the latest questions and memories are at the end."""

    recalls: int = 0
    nothing: int = 0
    reads: int = 0
    questions: dict[str, _Question] = field(default_factory=dict[str, _Question])
    found: Counter[str] = field(default_factory=Counter[str])
    read: Counter[str] = field(default_factory=Counter[str])

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Self:
        """Read stored counts; a damaged document counts nothing."""
        try:
            questions = cast("dict[str, tuple[int | str, ...]]", value["questions"])
            memories = cast("dict[str, list[int]]", value["memories"])
            recalls, nothing, reads = cast("list[int]", value["totals"])
            return cls(
                recalls=int(recalls), nothing=int(nothing), reads=int(reads),
                questions={
                    text: _Question(count=int(count), nothing=int(nothing), hit_ids=[*map(str, ids)])
                    for text, (count, nothing, *ids) in questions.items()
                },
                found=Counter({memory_id: int(finds) for memory_id, (finds, _) in memories.items() if finds}),
                read=Counter({memory_id: int(reads) for memory_id, (_, reads) in memories.items() if reads}),
            )  # fmt: skip
        except (AttributeError, KeyError, TypeError, ValueError):
            return cls()

    @property
    def as_json(self) -> dict[str, Json]:
        return {
            "totals": [self.recalls, self.nothing, self.reads],
            "questions": {text: [entry.count, entry.nothing, *entry.hit_ids] for text, entry in self.questions.items()},
            "memories": {memory_id: [self.found[memory_id], self.read[memory_id]] for memory_id in self.ids},
        }

    @property
    def ids(self) -> list[str]:
        return list(dict.fromkeys((*self.found, *self.read)))

    def ask(self, text: str, *, count: int = 1, nothing: int, hit_ids: Iterable[str]) -> None:
        entry = self.questions.pop(text, None) or _Question()
        entry.count, entry.nothing = entry.count + count, entry.nothing + nothing
        entry.hit_ids = list(dict.fromkeys((*hit_ids, *entry.hit_ids)))[:_MAX_FOUND]
        self.questions[text] = entry

    def add(self, other: "_Counts") -> None:
        self.recalls, self.nothing = self.recalls + other.recalls, self.nothing + other.nothing
        self.reads += other.reads
        self.found.update(other.found)
        self.read.update(other.read)
        for text, entry in other.questions.items():
            self.ask(text, count=entry.count, nothing=entry.nothing, hit_ids=entry.hit_ids)

    def trim(self) -> None:
        """Keep the most frequent; of equals, the latest."""
        texts = _most_frequent(self.questions, most=_MAX_QUESTIONS, count=lambda text: self.questions[text].count)
        self.questions = {text: entry for text, entry in self.questions.items() if text in texts}
        ids = _most_frequent(self.ids, most=_MAX_MEMORIES, count=lambda id_: self.found[id_] + self.read[id_])
        self.found, self.read = (
            Counter({id_: number for id_, number in counts.items() if id_ in ids}) for counts in (self.found, self.read)
        )

    def drop(self, *, is_gone: Callable[[str], bool], tells: Callable[[str], bool] = lambda _: False) -> bool:
        """Remove memories that are gone, and the questions that found them or tell of them; return whether any was."""
        before = len(self.questions), len(self.found), len(self.read)
        self.questions = {
            text: entry
            for text, entry in self.questions.items()
            if not any(map(is_gone, entry.hit_ids)) and not tells(text)
        }
        self.found, self.read = (
            Counter({id_: number for id_, number in counts.items() if not is_gone(id_)})
            for counts in (self.found, self.read)
        )
        return before != (len(self.questions), len(self.found), len(self.read))


class UsageLog:
    """Counts questions and reads by space and day; with `counts` off it counts none, and deletes what was counted."""

    def __init__(self, store: RecordStore, *, clock: Clock, counts: bool = True) -> None:
        self.counts = counts
        self._store = store
        self._documents = DailyDocuments(store, USAGE)
        self._clock = clock
        self._pending: dict[tuple[str, str], _Counts] = {}
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def note_question(self, question: str, *, space: str, hits: Sequence[tuple[str, str]], is_answered: bool) -> None:
        """Count a question of a space, and the memories that it found, each as its space and its id."""
        counts = self._counts(space)
        if not self.counts:
            return
        nothing = 0 if is_answered else 1
        counts.recalls, counts.nothing = counts.recalls + 1, counts.nothing + nothing
        text = _normalise(question)
        if text:
            own = [memory_id for place, memory_id in hits if place == space] if is_answered else []
            counts.ask(text, nothing=nothing, hit_ids=own)
        for place in {place for place, _ in hits} if is_answered else ():
            self._counts(place).found.update(memory_id for of, memory_id in hits if of == place)
        if len(counts.questions) > 2 * _MAX_QUESTIONS:
            counts.trim()

    def note_reads(self, memories: Iterable[tuple[str, str]]) -> None:
        """Count that memories were read, each as its space and its id."""
        for space, memory_id in memories:
            counts = self._counts(space)
            if self.counts:
                counts.reads += 1
                counts.read[memory_id] += 1

    async def usage(self, request: UsageRequest, *, space: str, unread_but: Iterable[str]) -> Usage:
        """Return the counts of the last days, and what was never read besides some memories."""
        require_integer(request.days, field="days")
        require_integer(request.limit, field="limit")
        now = self._clock.now()
        since = (now.date() - timedelta(days=request.days - 1)).isoformat()
        # A space without a change has nothing to be found, and is not made by a question.
        async with self._writing:
            days = await self._days(space, since=since) if await self._store.last_place(space) else {}
        total = _Counts()
        for counts in days.values():
            total.add(counts)
        never, ids = await self._store.unread(space, but=[*unread_but], limit=request.limit)
        reader = TolerantReader(self._store, space=space)
        return Usage(
            since=since, recalls=total.recalls, nothing_relevant=total.nothing, reads=total.reads,
            days=tuple(
                UsageDay(date=day, recalls=counts.recalls, nothing_relevant=counts.nothing, reads=counts.reads)
                for day, counts in days.items()
            ),
            questions=_questions(total, limit=request.limit),
            memories=await _used(total, limit=request.limit, now=now, reader=reader),
            never_read=tuple(
                UnreadMemory(id=memory.id, name=memory.name, created_at=memory.created_at)
                for memory in await reader.get(ids)
            ),
            never_read_count=never, counted=self.counts,
        )  # fmt: skip

    async def forget(self, memories: Sequence[Memory], *, space: str) -> None:
        """Remove memories that are purged, the questions that found them, and those with a word of theirs alone."""
        ids = {memory.id for memory in memories}
        async with self._writing:
            pending = [counts for (place, _), counts in self._pending.items() if place == space]
            stored = [document async for document in self._documents.all(space)]
            texts = {text for counts in pending for text in counts.questions}
            texts |= {text for document in stored for text in _Counts.from_json(document.value).questions}
            terms = await asyncio.to_thread(_terms_of_all, memories if texts else ())
            words = {text: terms.intersection(terms_of(text)) for text in texts}
            gone = await self._gone_words(space, {word for shared in words.values() for word in shared})

            def tells(text: str) -> bool:
                return not gone.isdisjoint(words.get(text, ()))

            for counts in pending:
                counts.drop(is_gone=ids.__contains__, tells=tells)
            for document in stored:
                await self._change(
                    space, document.key, lambda counts: counts.drop(is_gone=ids.__contains__, tells=tells)
                )

    async def flush(self) -> None:
        """Write the pending counts; a store that fails now loses counts, never a fact."""
        async with self._writing:
            pending, self._pending = self._pending, {}
            for (space, day), counts in pending.items():
                try:
                    if not self.counts:
                        await self._documents.delete(space, before="~")
                    elif await self._store.last_place(space):
                        await self._write(space, day, counts)
                except StoreError:
                    continue

    async def close(self) -> None:
        """Write the rest and stop."""
        if self._task is not None:
            await cancel(self._task)
        await self.flush()

    def _counts(self, space: str) -> _Counts:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._flush_later())
        return self._pending.setdefault((space, self._today), _Counts())

    @property
    def _today(self) -> str:
        return self._clock.now().date().isoformat()

    async def _flush_later(self) -> None:
        await asyncio.sleep(_DELAY)
        self._task = None
        await self.flush()

    async def _days(self, space: str, *, since: str) -> dict[str, _Counts]:
        days = {
            document.key: _Counts.from_json(document.value)
            async for document in self._documents.all(space)
            if since <= document.key <= self._today
        }
        for (place, day), counts in self._pending.items():
            if place == space:
                days.setdefault(day, _Counts()).add(counts)
        return dict(sorted(days.items()))

    async def _write(self, space: str, day: str, counts: _Counts) -> None:
        # Another server may have purged one meanwhile.
        ids = list(dict.fromkeys((*counts.ids, *(id_ for entry in counts.questions.values() for id_ in entry.hit_ids))))
        existing = await self._store.sizes(space, ids) if ids else {}
        counts.drop(is_gone=lambda memory_id: memory_id not in existing)

        def add(stored: _Counts) -> bool:
            stored.add(counts)
            stored.trim()
            return True

        if await self._change(space, day, add):
            await self._documents.delete(
                space, before=(date.fromisoformat(day) - timedelta(days=_KEPT_DAYS)).isoformat()
            )

    async def _change(self, space: str, day: str, change: Callable[[_Counts], bool]) -> bool:
        """Change the counts of a day; return whether the day is new."""

        async def changed(value: Mapping[str, Json]) -> Mapping[str, Json] | None:
            counts = _Counts.from_json(value)
            return counts.as_json if change(counts) else None

        return await self._documents.change(space, day, changed, at=self._clock.now())

    async def _gone_words(self, space: str, words: Collection[str]) -> set[str]:
        """Return the words that no live memory has any more."""
        left = await self._store.term_statistics(space, sorted(words), state=State.LIVE) if words else None
        return {word for word in words if left is not None and not left.frequencies.get(word)}


def _terms_of_all(memories: Iterable[Memory]) -> set[str]:
    terms: set[str] = set()
    for memory in memories:
        statements = (observation.text for observation in memory.observations)
        text = "\n".join((memory.name, memory.title, memory.entity, *memory.tags, memory.content, *statements))
        terms.update(terms_of(text))
    return terms


def _normalise(question: str) -> str:
    text = " ".join(redact(question[:_MAX_SCREENED])[0].casefold().split())
    return text[:_MAX_QUESTION].strip(" ?!.\u2026\u00bf\u00a1")


def _most_frequent(keys: Iterable[str], *, most: int, count: Callable[[str], int]) -> set[str]:
    """Return the keys with the highest counts; of equals, the last."""
    latest_first = [*keys][::-1]
    return set(sorted(latest_first, key=count, reverse=True)[:most])


def _questions(total: _Counts, *, limit: int) -> tuple[FrequentQuestion, ...]:
    ranked = sorted(total.questions.items(), key=lambda item: (-item[1].count, item[0]))
    return tuple(
        FrequentQuestion(text=text, count=entry.count, nothing_relevant=entry.nothing) for text, entry in ranked[:limit]
    )


async def _used(
    total: _Counts, *, limit: int, now: datetime, reader: TolerantReader[RecordStore]
) -> tuple[UsedMemory, ...]:  # fmt: skip
    """Return the live memories that were found and read most often."""
    # Equals stay in the order of their first use.
    ranked = sorted(total.ids, key=lambda id_: -total.found[id_] - total.read[id_])
    used: list[UsedMemory] = []
    for start in range(0, len(ranked), _PAGE):
        used += [
            UsedMemory(id=memory.id, name=memory.name, found=total.found[memory.id], read=total.read[memory.id])
            for memory in await reader.get(ranked[start : start + _PAGE])
            if passes(memory, Filter(), now=now)
        ]
        if len(used) >= limit:
            break
    return tuple(used[:limit])
