"""What is stored and says the same, more, or something else of what is written."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from scrubjay.detection.advice import Word, advise, says_one_thing
from scrubjay.detection.candidates import (
    Candidate,
    Fresh,
    Grounds,
    Slots,
    candidates_of,
    found_around,
    nearest_in_words,
)
from scrubjay.detection.describe import Spoken, between, date_of, source_of
from scrubjay.detection.limits import PendingCollections, bearable
from scrubjay.detection.neighbours import Searcher
from scrubjay.detection.subject import are_of_others
from scrubjay.model.conflict import PENDING_COLLECTION, SETTLED_COLLECTION, Conflict, ConflictType, Strategy
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage, Vector
from scrubjay.ports import Profile
from scrubjay.text.claims.compare import Finding, compare_lists, overlap_ratio
from scrubjay.text.claims.reading import parse_statement
from scrubjay.text.claims.statements import statements_of

__all__ = ["detect", "says_more", "unsettled"]

# So many new statements are looked up, and so many conflicts told: who writes more at once, writes a document.
_MOST_FRESH = 8
_MOST_CONFLICTS = 10
# A longer content is read so far.
_LONGEST_CONTENT = 20_000
_LONGEST_STATEMENT = 2_000
# Of a memory's own observations the latest, and of those the nearest in words.
_OWN = 200
_NEAREST_OWN = 4
# Longer lists of observations are not compared as a whole.
_LONGEST_LIST = 10_000
_TELLING_OVERLAP = 2
# How much surer than the gate, which never merges what differs, one must be to call two statements the same.
_SURER = 0.08
_GRAVITY = (ConflictType.CONTRADICTION, ConflictType.DUPLICATE, ConflictType.UPDATE)


async def detect(
    memory: Memory,
    passages: Sequence[Passage],
    vectors: Mapping[bytes, Vector],
    *,
    before: Memory | None,
    store: Grounds,
    index: Searcher,
    profile: Profile | None,
    now: datetime,
    agent: str = "",
    slots: Slots | None = None,
) -> tuple[Conflict, ...]:
    """The conflicts of a memory that is being written; of one that was there `before`, those of what is new in it."""
    if memory.state is not State.LIVE or (memory.valid_until is not None and memory.valid_until <= now):
        return ()
    fresh = list(islice(_fresh(memory, passages, before=before, now=now), _MOST_FRESH))
    if not fresh:
        return ()
    around = await found_around(fresh, vectors, memory=memory, store=store, index=index, now=now, slots=slots)
    looked = candidates_of(around, fresh, now=now)
    bench = _Bench(memory=memory, same=profile.same + _SURER if profile else 1.0, now=now, agent=agent)
    found = list(bench.wholes(around.memories.values(), namesakes=frozenset(around.namesakes)))
    twins = {conflict.other for conflict in found}
    for number, one in enumerate(fresh):
        found += bench.against(one.spoken, looked.get(number, []), twins=twins)
    # The index knows the memory as it was before.
    near = (
        [before.observations[number].text for number in around.own if number < len(before.observations)]
        if before
        else []
    )
    found += bench.within([one.spoken for one in fresh], near=near)
    return _gravest(found)


def says_more(
    memory: Memory, passages: Sequence[Passage], *, before: Memory | None, now: datetime, than: int = _MOST_FRESH
) -> bool:
    """Whether more is new in a memory than so much; `detect` looks at no more than that."""
    return next(islice(_fresh(memory, passages, before=before, now=now), than, None), None) is not None


async def unsettled(
    conflicts: Sequence[Conflict], *, documents: PendingCollections, space: str
) -> tuple[Conflict, ...]:
    """Those of some conflicts that nobody has heard of, neither waiting nor settled before; of one statement a few.

    What was superseded and is said again is a new matter: both would hold.
    """
    if not conflicts:
        return ()
    known = await asyncio.gather(
        *(
            documents.document(space, collection, conflict.id)
            for conflict in conflicts
            for collection in (PENDING_COLLECTION, SETTLED_COLLECTION)
        )
    )
    fresh = [one for at, one in enumerate(conflicts) if known[2 * at] is None and not _silences(known[2 * at + 1])]
    return await bearable(fresh, documents=documents, space=space)


def _silences(settled: Document | None) -> bool:
    return settled is not None and Conflict.from_document(settled).strategy is not Strategy.SUPERSEDE


def _fresh(
    memory: Memory, passages: Sequence[Passage], *, before: Memory | None, now: datetime
) -> Iterator[Fresh]:  # fmt: skip
    """The statements that are new, those of the content first; of many observations the last are the newest."""
    known = set[str]()
    if before is not None:
        known.update(one.text for one in before.current_observations(now))
        known.update(statements_of(before.content[:_LONGEST_CONTENT]))
    by_observation = {passage.observation: passage for passage in passages if passage.start == 0}
    content = statements_of(memory.content[:_LONGEST_CONTENT])
    for text in content:
        if text not in known and len(text) <= _LONGEST_STATEMENT:
            passage = next(
                (passage for passage in passages if passage.observation is None and _holds(memory, passage, text)), None
            )
            yield Fresh(spoken=Spoken(text=text), passage=passage, alone=len(content) == 1)
    order = range(len(memory.observations))
    for number in order if before is None else reversed(order):
        observation = memory.observations[number]
        if observation.holds(now) and observation.text not in known:
            spoken = Spoken(text=observation.text, observation=number)
            yield Fresh(spoken=spoken, passage=by_observation.get(number), alone=True)


def _holds(memory: Memory, passage: Passage, text: str) -> bool:
    return text[:200] in memory.content[passage.start : passage.end]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """Compares a memory's statements with those of others."""

    memory: Memory
    same: float
    now: datetime
    agent: str

    def wholes(self, others: Iterable[Memory], *, namesakes: frozenset[str]) -> Iterator[Conflict]:
        """The memories whose observations are much the same."""
        mine = [one.text for one in self.memory.current_observations(self.now)]
        for other in others:
            theirs = [one.text for one in other.current_observations(self.now)]
            if not mine or not theirs or max(len(mine), len(theirs)) > _LONGEST_LIST or _strangers(self.memory, other):
                continue
            found = compare_lists(mine, theirs)
            enough = (
                other.id in namesakes or overlap_ratio(mine, theirs) * max(len(mine), len(theirs)) >= _TELLING_OVERLAP
            )
            if found and enough:
                yield self._conflict(found, other)

    def against(self, spoken: Spoken, candidates: Sequence[Candidate], *, twins: set[str]) -> Iterator[Conflict]:
        """What one statement is to those of other memories: of each memory the gravest."""
        gravest: dict[str, tuple[Finding, Candidate]] = {}
        for one in candidates:
            found = between(
                self.memory, spoken.text, one.memory, one.spoken.text, cosine=one.cosine, same=self.same
            )  # fmt: skip
            if found is None or not self._tells(found, spoken, one, twins=twins):
                continue
            known = gravest.get(one.memory.id)
            if known is None or _gravity(found) < _gravity(known[0]):
                gravest[one.memory.id] = (found, one)
        for found, one in gravest.values():
            yield self._conflict(found, one.memory, spoken=spoken, against=one.spoken)

    def within(self, fresh: Sequence[Spoken], *, near: Collection[str]) -> Iterator[Conflict]:
        """What the memory itself says otherwise: an observation beside its latest, those near it and its content."""
        first = len(self.memory.observations) - _OWN
        own = [
            Spoken(text=one.text, observation=number)
            for number, one in enumerate(self.memory.observations)
            if one.holds(self.now) and (number >= first or one.text in near)
        ]
        content = [Spoken(text=statement) for statement in statements_of(self.memory.content[:_LONGEST_CONTENT])]
        done = set[frozenset[str]]()
        for spoken in fresh:
            others = [one for one in own if one.text != spoken.text]
            # The sentences of one text go together as they stand.
            others += content if spoken.observation is not None else []
            for other in nearest_in_words(spoken, others, most=_NEAREST_OWN):
                pair = frozenset((spoken.text, other.text))
                if pair in done:
                    continue
                done.add(pair)
                found = between(self.memory, spoken.text, self.memory, other.text)
                if found is not None and found.type is ConflictType.CONTRADICTION:
                    yield self._conflict(found, self.memory, spoken=spoken, against=other)

    def _tells(self, found: Finding, spoken: Spoken, one: Candidate, *, twins: set[str]) -> bool:
        """Whether a finding is worth telling, by what else is known of the two."""
        contradicts = found.type is ConflictType.CONTRADICTION
        if not contradicts and one.memory.id in twins:
            return False
        if not _strangers(self.memory, one.memory):
            return not are_of_others(self.memory, spoken.text, one.memory, one.spoken.text)
        # Of two entities each may be so; unless the statements say themselves whom they are about.
        named = all(parse_statement(text).names_another for text in (spoken.text, one.spoken.text))
        return contradicts and named and _same_place(self.memory, one.memory)

    def _conflict(
        self, found: Finding, other: Memory, *, spoken: Spoken | None = None, against: Spoken | None = None
    ) -> Conflict:
        return Conflict(
            space=self.memory.space,
            type=found.type,
            memory=self.memory.id,
            other=other.id,
            confidence=found.confidence,
            suggested=self._advised(found, other, spoken, against),
            detected_at=self.now,
            statement=spoken.key if spoken else "",
            against=against.key if against else "",
            detected_by=self.agent,
        )

    def _advised(self, found: Finding, other: Memory, spoken: Spoken | None, against: Spoken | None) -> Strategy:
        """What `auto` would do now; what it would leave to people had better stay as it is until they decide."""
        newer, older = _word(self.memory, spoken), _word(other, against)
        if older.date > newer.date:
            newer, older = older, newer
        advice = advise(
            found.type, confidence=found.confidence, suggested=found.suggested, newer=newer, older=older
        )  # fmt: skip
        return advice.strategy or Strategy.IGNORE


def _word(memory: Memory, spoken: Spoken | None) -> Word:
    observation = None if spoken is None or spoken.observation is None else memory.observations[spoken.observation]
    return Word(
        memory=memory, trust=source_of(memory, observation).trust, date=date_of(memory, observation),
        alone=spoken is None or says_one_thing(memory),
    )  # fmt: skip


def _strangers(memory: Memory, other: Memory) -> bool:
    """Whether two memories are about different things, by what is known of them."""
    return not _agree(memory.entity, other.entity) or not _same_place(memory, other)


def _same_place(memory: Memory, other: Memory) -> bool:
    return _agree(memory.project, other.project) and _agree(memory.scope, other.scope)


def _agree(one: str, other: str) -> bool:
    return not one or not other or one.casefold() == other.casefold()


def _gravity(found: Finding | Conflict) -> tuple[int, float]:
    return _GRAVITY.index(found.type), -found.confidence


def _gravest(found: Sequence[Conflict]) -> tuple[Conflict, ...]:
    distinct = {one.id: one for one in sorted(found, key=_gravity, reverse=True)}
    return tuple(sorted(distinct.values(), key=_gravity)[:_MOST_CONFLICTS])
