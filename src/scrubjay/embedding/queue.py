"""Texts that wait to be embedded, kept by length so that a batch wastes little on padding."""

import asyncio
import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from scrubjay.model.passage import Vector

# Below this many characters every text is short: telling them apart would only make batches smaller.
_SHORT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a batch may be. A text counts as much as the longest beside it, up to `longest` characters."""

    texts: int = 16
    characters: int = 2048
    longest: int = 1024
    at_once: int = 1


class Request:
    """One caller's texts and the future it waits for."""

    __slots__ = ("_vectors", "answer", "texts")

    def __init__(self, texts: Sequence[str], answer: "asyncio.Future[list[Vector]]") -> None:
        self.texts = tuple(texts)
        self.answer = answer
        self._vectors: dict[int, Vector] = {}

    @property
    def over(self) -> bool:
        """Whether nobody waits any more: answered, failed or cancelled."""
        return self.answer.done()

    def deliver(self, position: int, vector: Vector) -> None:
        """Take the vector of one text; the last one wakes the caller."""
        self._vectors[position] = vector
        if len(self._vectors) == len(self.texts) and not self.over:
            self.answer.set_result([self._vectors[at] for at in range(len(self.texts))])

    def fail(self, error: Exception) -> None:
        """Tell the caller, unless it has left."""
        if not self.over:
            self.answer.set_exception(error)


@dataclass(frozen=True, slots=True)
class Item:
    """One text of a request."""

    request: Request
    position: int
    text: str


class Lane:
    """A queue that hands out batches: the longest-waiting text, and others of about its length."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._arrivals = itertools.count()
        self._buckets: dict[int, list[tuple[int, int, Item]]] = {}

    def put(self, request: Request) -> None:
        """Queue the texts of a request."""
        for position, text in enumerate(request.texts):
            # The first texts of a late request go before the hundredth of an early one: a short
            # request does not wait for a long one to end.
            turn = position // self._limits.texts
            bucket = self._buckets.setdefault(_bucket(self._size(text)), [])
            heapq.heappush(bucket, (turn, next(self._arrivals), Item(request, position, text)))

    def take(self) -> list[Item]:
        """The next batch, without what nobody waits for any more; empty when the lane is."""
        batch: list[Item] = []
        while self._buckets and not batch:
            # The turn and the arrival of a bucket's first item are unique, so items are never compared.
            key = min(self._buckets, key=lambda key: self._buckets[key][0])
            batch = self._take_from(self._buckets[key])
            if not self._buckets[key]:
                del self._buckets[key]
        return batch

    def drain(self) -> list[Item]:
        """Everything that waits; the lane is empty afterwards."""
        waiting = [item for bucket in self._buckets.values() for _, _, item in bucket]
        self._buckets.clear()
        return waiting

    def _take_from(self, bucket: list[tuple[int, int, Item]]) -> list[Item]:
        batch: list[Item] = []
        widest = 0
        while bucket and len(batch) < self._limits.texts:
            item = bucket[0][2]
            if not item.request.over:
                widest = max(widest, self._size(item.text))
                if batch and widest * (len(batch) + 1) > self._limits.characters:
                    break
                batch.append(item)
            heapq.heappop(bucket)
        return batch

    def _size(self, text: str) -> int:
        return min(len(text), self._limits.longest)


def _bucket(size: int) -> int:
    """Half an octave: the longest of a bucket is at most 1.4 times the shortest."""
    return int(2 * math.log2(max(size, _SHORT)))
