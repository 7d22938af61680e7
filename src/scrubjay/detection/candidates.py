"""Where statements like a new one may stand: the passages nearest to it in meaning, by its words, and its namesakes."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Protocol

from scrubjay.detection.describe import Spoken
from scrubjay.detection.neighbours import NeighbourLookup, Searcher
from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage, StoredPassage, Vector
from scrubjay.model.query import Filter
from scrubjay.text.claims.relations import alternative_words
from scrubjay.text.claims.statements import statements_of
from scrubjay.text.tokens import running_terms_of, terms_of

__all__ = [
    "Candidate", "Fresh", "Grounds", "Slots", "candidates_of", "found_around", "nearest_in_words", "statements_at",
]  # fmt: skip

_NEAREST = 8
_NAMESAKES = 6
# So many statements of one text are looked at, those with the most words in common.
_OF_ONE_TEXT = 2
_OF_NAMESAKE = 4
# What is longer is a document: there only the slice that was found is looked through.
_LONGEST_CONTENT = 20_000
_LATEST_OBSERVATIONS = 200
# From this cosine on two statements are compared whatever their words; below, so many must be the same.
_NEAR = 0.5
_VERY_NEAR = 0.65
_SHARE = 0.3
_AT_LEAST = 2
_FEW = 3
_TURNS = frozenset(running_terms_of("switched replaced migrated left quit sold cancelled stopped instead"))
# What tells of the same relation counts as so many words.
_SAME_RELATION = 2
_TELLING = re.compile(r"\w{3,}")
_ALL = Filter()


class Grounds(NeighbourLookup, Protocol):
    """What is asked of the store."""

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        """(passage number, weight) of passages that have some of the terms, best first."""
        ...


class Slots(Protocol):
    """Who knows which statements tell of the same relation of the same thing, however common their words are."""

    def of_same_slot(self, statement: str, *, memory: Memory) -> Sequence[int]:
        """Passages with statements that have the same slot as one of a memory."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """A new statement, the passage that it stands in, and whether that says nothing else."""

    spoken: Spoken
    passage: Passage | None
    alone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement of another memory that may be about the same, and its cosine where that is known."""

    memory: Memory
    spoken: Spoken
    cosine: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hit:
    """That a passage was found for a new statement, and how near it is."""

    fresh: int
    passage: StoredPassage
    cosine: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What was found: hits, namesakes, and the memories of both by their ids; `own` are observations of the memory."""

    hits: tuple[_Hit, ...] = ()
    own: frozenset[int] = frozenset()
    namesakes: tuple[str, ...] = ()
    memories: Mapping[str, Memory] = field(default_factory=dict[str, Memory])


async def found_around(
    fresh: Sequence[Fresh], vectors: Mapping[bytes, Vector], *, memory: Memory, store: Grounds, index: Searcher,
    now: datetime, slots: Slots | None = None,
) -> Around:  # fmt: skip
    """What there is around some new statements, whatever the size of the store; less if an index is not there."""
    space = memory.space
    looks = [_numbers(one, vectors, space=space, store=store, index=index) for one in fresh]
    if len(looks) == 1 and not _has_namesakes(memory):
        found, namesakes = [await looks[0]], list[str]()
    else:
        # Where the store is far away, each look is a journey: what can be asked at once is.
        found, namesakes = await asyncio.gather(asyncio.gather(*looks), _namesakes(memory, store=store))
    if slots is not None:
        found = [_with_same_slot(one, some, memory=memory, slots=slots) for one, some in zip(fresh, found, strict=True)]
    numbers = list(dict.fromkeys(number for some in found for number, _ in some))
    passages = {one.id: one for one in (await store.stored_passages(space, numbers) if numbers else [])}
    sought = [_Sought.of(one.spoken.text) for one in fresh]
    hits = [
        _Hit(fresh=at, passage=passages[number], cosine=cosine)
        for at, some in enumerate(found)
        for number, cosine in some
        if number in passages and passages[number].memory_id != memory.id
        # A memory that has nothing to do with it need not be read.
        if sought[at].is_worth_reading(passages[number], cosine)
    ]
    own = {passage.observation for passage in passages.values() if passage.memory_id == memory.id}
    ids = list(dict.fromkeys([*(hit.passage.memory_id for hit in hits), *namesakes]))
    memories = await store.get(space, ids) if ids else {}
    standing = {one.id: one for one in memories.values() if _stands(one, memory, now=now)}
    return Around(
        hits=tuple(hits),
        own=frozenset(number for number in own if number is not None),
        namesakes=tuple(namesakes),
        memories=standing,
    )


def candidates_of(around: Around, fresh: Sequence[Fresh], *, now: datetime) -> dict[int, list[Candidate]]:
    """The statements that each new one is to be compared with, by its number; the nearest first."""
    found: defaultdict[int, dict[tuple[str, str], Candidate]] = defaultdict(dict)
    for hit in around.hits:
        other = around.memories.get(hit.passage.memory_id)
        if other is None:
            continue
        texts = statements_at(other, hit.passage, now=now)
        cosine = hit.cosine if len(texts) == 1 and fresh[hit.fresh].alone else None
        # What the model finds near need share no word, as in a language that is written without spaces.
        near = (cosine is not None and cosine >= _NEAR) or (
            len(texts) == 1 and alternative_words(fresh[hit.fresh].spoken.text)
        )
        least = 0 if near else _AT_LEAST
        for spoken in nearest_in_words(fresh[hit.fresh].spoken, texts, most=_OF_ONE_TEXT, least=least):
            found[hit.fresh].setdefault((other.id, spoken.text), Candidate(memory=other, spoken=spoken, cosine=cosine))
    for other in (around.memories[namesake] for namesake in around.namesakes if namesake in around.memories):
        texts = _latest(other, now=now)
        for number, one in enumerate(fresh):
            for spoken in nearest_in_words(one.spoken, texts, most=_OF_NAMESAKE, least=_AT_LEAST):
                found[number].setdefault((other.id, spoken.text), Candidate(memory=other, spoken=spoken))
    return {number: list(some.values()) for number, some in found.items()}


def nearest_in_words(spoken: Spoken, others: Sequence[Spoken], *, most: int, least: int = 1) -> list[Spoken]:
    """Of some statements those that have the most words in common with one, at least so many."""
    words, ways = _telling_words(spoken.text), set(alternative_words(spoken.text) or ())
    shared: list[tuple[int, Spoken]] = []
    for other in others:
        its = _telling_words(other.text)
        shared.append((len(words & its) + _SAME_RELATION * (not ways.isdisjoint(its)), other))
    best = sorted((pair for pair in shared if pair[0] >= least), key=lambda pair: pair[0], reverse=True)
    return [one for _, one in best[:most]]


# One statement is held beside many, and each of those beside several.
@lru_cache(maxsize=1_024)
def _telling_words(text: str) -> frozenset[str]:
    return frozenset(_TELLING.findall(text.casefold()))


async def _numbers(
    one: Fresh, vectors: Mapping[bytes, Vector], *, space: str, store: Grounds, index: Searcher
) -> list[tuple[int, float | None]]:
    """The passages nearest to a statement: in meaning if it stands alone, else its words say what it is about."""
    vector = vectors.get(one.passage.hash) if one.passage else None
    found: list[tuple[int, float | None]] = []
    if vector is not None:
        try:
            found += await index.search(space, vector, _ALL, limit=_NEAREST)
        except (EmbeddingUnavailable, IndexUnavailable):
            vector = None
    if vector is None or not one.alone:
        terms = tuple(dict.fromkeys(terms_of(one.spoken.text)))
        by_words = await store.lexical_candidates(space, terms, _ALL, limit=_NEAREST)
        found += [(number, None) for number, _ in by_words]
    # I live in Rome, I moved to Oslo: they have no word in common, and are not near to each other either.
    if others := alternative_words(one.spoken.text):
        terms = tuple(dict.fromkeys(terms_of(" ".join(others))))
        known = {number for number, _ in found}
        by_relation = await store.lexical_candidates(space, terms, _ALL, limit=_NEAREST)
        found += [(number, None) for number, _ in by_relation if number not in known]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sought:
    """The words of a new statement; `others` are those that tell of the same relation, None if it has many values."""

    terms: frozenset[str]
    others: frozenset[str] | None

    @classmethod
    def of(cls, text: str) -> "_Sought":
        others = alternative_words(text)
        return cls(
            terms=frozenset(running_terms_of(text)),
            others=None if others is None else frozenset(running_terms_of(" ".join(others))),
        )

    def is_worth_reading(self, passage: StoredPassage, cosine: float | None) -> bool:
        if cosine is not None and cosine >= _VERY_NEAR:
            return True
        known = passage.terms.split()
        # Of a relation with one value the other need share no more than what it is told of.
        if self.others is not None and not (self.others | self.terms).isdisjoint(known):
            return True
        shared = len(self.terms.intersection(known))
        # Of a few words one that is the same is much; so it is beside a word for a change.
        is_near = cosine is not None and cosine >= _NEAR and len(self.terms) <= _FEW
        least = 1 if is_near or not _TURNS.isdisjoint(known) else min(_AT_LEAST, len(self.terms))
        return shared >= least and shared >= _SHARE * len(self.terms)


def _with_same_slot(
    one: Fresh, found: Sequence[tuple[int, float | None]], *, memory: Memory, slots: Slots
) -> list[tuple[int, float | None]]:
    known = {number for number, _ in found}
    same = slots.of_same_slot(one.spoken.text, memory=memory)
    return [*found, *((number, None) for number in same if number not in known)]


def _has_namesakes(memory: Memory) -> bool:
    return bool(memory.entity and memory.observations)


async def _namesakes(memory: Memory, *, store: Grounds) -> list[str]:
    """The latest memories of the same entity; a text alone is near to what says something of the kind anyway."""
    if not _has_namesakes(memory):
        return []
    found = await store.list_ids(memory.space, Filter(entity=memory.entity), limit=_NAMESAKES)
    return [one for one in found if one != memory.id]


def _stands(other: Memory, memory: Memory, *, now: datetime) -> bool:
    """Whether a memory still says something, and is not another part of the same text."""
    ended = [moment for moment in (other.valid_until, other.expires_at) if moment is not None and moment <= now]
    return other.state is State.LIVE and not ended and not (memory.group and other.group == memory.group)


def statements_at(other: Memory, passage: StoredPassage, *, now: datetime) -> list[Spoken]:
    """The statements that a passage holds, as its memory is now."""
    if passage.observation is not None:
        if passage.observation >= len(other.observations):
            return []
        observation = other.observations[passage.observation]
        return [Spoken(text=observation.text, observation=passage.observation)] if observation.holds(now) else []
    if len(other.content) > _LONGEST_CONTENT:
        return [Spoken(text=statement) for statement in statements_of(other.content[passage.start : passage.end])]
    part = other.content[passage.start : passage.end]
    return [Spoken(text=statement) for statement in statements_of(other.content) if statement in part]


def _latest(other: Memory, *, now: datetime) -> list[Spoken]:
    content = other.content if len(other.content) <= _LONGEST_CONTENT else ""
    first = max(0, len(other.observations) - _LATEST_OBSERVATIONS)
    observed = enumerate(other.observations[first:], first)
    return [Spoken(text=statement) for statement in statements_of(content)] + [
        Spoken(text=one.text, observation=number) for number, one in observed if one.holds(now)
    ]
