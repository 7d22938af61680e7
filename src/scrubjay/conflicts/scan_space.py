"""A whole space as the detection of conflicts looks at it: read once, and each two compared once.

It answers what a store and its index answer, about memories that are older than the one that is looked at.
"""

import heapq
import math
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

import numpy as np

from scrubjay.conflicts.near_pairs import Matrix, Pairs
from scrubjay.detection.candidates import statements_in_passage
from scrubjay.detection.describe import with_subject
from scrubjay.model.memory import Memory
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Passage, StoredPassage, Vector
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore
from scrubjay.text.claims.relations import relation_keys

__all__ = ["SpaceScan"]

# A word that so many passages have, or more than the root of their number, tells nothing of what one is about.
_COMMON = 50
# Of a statement so many words are looked up, the rarest.
_WORDS = 8
# Of what tells of the same relation of the same thing so many are compared, the latest.
_OF_ONE_SLOT = 8
_PASSAGES_OF_ONE = 200


@dataclass(kw_only=True)
class SpaceScan:
    """What there is: passages by number, what is near to each, and the memories that are looked at just now."""

    space: str
    store: RecordStore
    passages: Mapping[int, StoredPassage]
    rows: Mapping[int, int]
    embeddings: Matrix
    near: Mapping[int, Sequence[tuple[int, float]]]
    memories: dict[str, Memory] = field(default_factory=dict[str, Memory])
    _postings: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    _namesakes: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    # What tells of the same, however common its words are: filled as the memories are looked at, the oldest first.
    _slots: dict[str, deque[int]] = field(default_factory=dict[str, deque[int]])
    _looked_at: int = 0
    _row_of: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def __post_init__(self) -> None:
        """Put the words in order."""
        postings: defaultdict[str, list[int]] = defaultdict(list)
        for number, passage in self.passages.items():
            for term in set(passage.terms.split()):
                postings[term].append(number)
        common = max(_COMMON, math.isqrt(len(self.passages)))
        self._postings = {term: numbers for term, numbers in postings.items() if len(numbers) <= common}

    def partners(self, number: int) -> Iterator[str]:
        """The memories that the passages of one are near to."""
        for passage in self.of_memory(number):
            yield from (self.passages[other].memory_id for other, _ in self.near.get(passage.id, ()))

    def of_memory(self, number: int) -> Iterator[StoredPassage]:
        """The passages of a memory, by its number in the store."""
        first = number * PASSAGES_PER_MEMORY
        while (passage := self.passages.get(first)) is not None:
            yield passage
            first += 1

    def look_at(self, number: int) -> tuple[tuple[Passage, ...], dict[bytes, Vector]]:
        """The passages of a memory and their vectors; from now on it is this one that questions are about."""
        self._looked_at = number
        found = list(self.of_memory(number))
        vectors = {one.hash: self.embeddings[self.rows[one.id]] for one in found if one.id in self.rows}
        self._row_of = {vectors[one.hash].tobytes(): one.id for one in found if one.hash in vectors}
        return tuple(_passage(one) for one in found), vectors

    def same_relation(self, statement: str, *, memory: Memory) -> list[int]:
        """The latest older passages that tell of the same relation of the same thing, the last first."""
        slots = relation_keys(with_subject(statement, memory))
        return list(dict.fromkeys(number for slot in slots for number in reversed(self._slots.get(slot, ()))))

    def partners_by_slot(self, number: int, memory: Memory, *, now: datetime) -> Iterator[str]:
        """The memories that tell of the same as one."""
        for _, slots in self._told(number, memory, now=now):
            yield from (self.passages[one].memory_id for slot in slots for one in self._slots.get(slot, ()))

    def note_slots(self, number: int, memory: Memory, *, now: datetime) -> None:
        """Have a memory found by what it tells of, by all that come after it."""
        for passage, slots in self._told(number, memory, now=now):
            for slot in slots:
                same = self._slots.setdefault(slot, deque(maxlen=_OF_ONE_SLOT))
                if passage not in same:
                    same.append(passage)

    def _told(self, number: int, memory: Memory, *, now: datetime) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The passages of a memory, each with the slots of its statements."""
        for passage in islice(self.of_memory(number), _PASSAGES_OF_ONE):
            for spoken in statements_in_passage(memory, passage, now=now):
                if slots := relation_keys(with_subject(spoken.text, memory)):
                    yield passage.id, slots

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """The passages near to a vector, which is one of the memory that is looked at."""
        del space, filter
        return list(self.near.get(self._row_of.get(vector.tobytes(), -1), ()))[:limit]

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        """The older passages that have the most of the rare words among some."""
        del space, filter
        lists = sorted((self._postings[term] for term in set(terms) if term in self._postings), key=len)[:_WORDS]
        own = self._looked_at * PASSAGES_PER_MEMORY
        weights: defaultdict[int, float] = defaultdict(float)
        for numbers in lists:
            weight = math.log(1 + len(self.passages) / len(numbers))
            for number in numbers:
                if number < own:
                    weights[number] += weight
        return heapq.nlargest(limit, weights.items(), key=lambda one: one[1])

    async def stored_passages(self, space: str, ids: Sequence[int]) -> list[StoredPassage]:
        """Passages by number."""
        del space
        return [self.passages[id_] for id_ in ids if id_ in self.passages]

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """The memories that exist, by id."""
        missing = [id_ for id_ in ids if id_ not in self.memories]
        self.memories |= await self.store.get(space, missing) if missing else {}
        return {id_: self.memories[id_] for id_ in ids if id_ in self.memories}

    async def list_ids(self, space: str, filter: Filter, *, limit: int) -> list[str]:
        """The older ones among the latest memories of an entity; each entity is asked for once."""
        key = filter.entity.casefold()
        if key not in self._namesakes:
            self._namesakes[key] = await self.store.list_ids(space, filter, limit=limit)
        own = next(self.of_memory(self._looked_at)).memory_id
        # Ids tell the time.
        return [one for one in self._namesakes[key] if one < own]


def near_by_number(pairs: Pairs, numbers: Sequence[int]) -> dict[int, list[tuple[int, float]]]:
    """For each passage the older ones of other memories that are near to it, the nearest first."""
    found: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    known = np.asarray(numbers, dtype=np.int64)
    first, second = known[pairs.first], known[pairs.second]
    later, older = np.maximum(first, second), np.minimum(first, second)
    apart = later // PASSAGES_PER_MEMORY != older // PASSAGES_PER_MEMORY
    for one, other, cosine in zip(
        later[apart].tolist(), older[apart].tolist(), pairs.cosine[apart].tolist(), strict=True
    ):
        found[one].append((other, cosine))
    return {one: sorted(some, key=lambda pair: -pair[1]) for one, some in found.items()}


def _passage(stored: StoredPassage) -> Passage:
    return Passage(
        ordinal=stored.id % PASSAGES_PER_MEMORY, observation=stored.observation, start=stored.start, end=stored.end,
        hash=stored.hash, terms=(),
    )  # fmt: skip
