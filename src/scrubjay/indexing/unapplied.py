"""The end of the change log that a shared index has not applied yet, searched here instead."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.protocol import Source
from scrubjay.model.change import Action, Change
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Point, Vector, cosine_similarities
from scrubjay.model.query import Filter, facet
from scrubjay.model.timestamps import to_micros

Hits = list[tuple[int, float]]

_PAGE = 500
# Some memories are long: so many passages of each are expected.
_PASSAGES = 8
# Relations are not in the index.
_WITHOUT_POINTS = {Action.RELATED, Action.UNRELATED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """A memory as it is now, when it last changed, and how many passages of it the index may hold."""

    space: str
    seq: int
    held: int
    points: tuple[Point, ...]


class UnappliedChanges:
    """Reads the log once, whoever searches, and forgets what the index has applied."""

    def __init__(self, store: Source, model: str, *, longest: int) -> None:
        self._store = store
        self._model = model
        self._longest = longest
        self._turn = asyncio.Lock()
        self._readings = 0
        self._after = 0
        self._until = 0
        self._touched: dict[int, Touched] = {}

    def __len__(self) -> int:
        return len(self._touched)

    async def since(self, cursor: int) -> dict[int, Touched]:
        """The memories that were changed after a place in the log, by their number, up to this moment.

        Raises IndexUnavailable when they are too many to be searched one by one.
        """
        begun = self._readings
        async with self._turn:
            is_known = self._readings > begun and cursor >= self._after
            self._forget_up_to(cursor)
            # A reading that began after we came, while we waited for one that did not, has all that we want.
            if not is_known:
                self._readings += 1
                await self._read_on(cursor)
            return dict(self._touched)

    async def _read_on(self, cursor: int) -> None:
        while changes := await self._store.changes(after=self._until, limit=_PAGE):
            await self._read(changes)
            held = sum(item.held for item in self._touched.values())
            if len(self._touched) > self._longest or held > self._longest * _PASSAGES:
                self._forget_all(cursor)
                raise IndexUnavailable(
                    f"the vector index is more than {self._longest} changes behind",
                    hint="It catches up by itself; `scrubjay status` tells how far it has come",
                    reason="behind",
                )
            if len(changes) < _PAGE:
                break

    def _forget_up_to(self, cursor: int) -> None:
        # An index that was built anew may begin earlier than the one before.
        if cursor < self._after:
            self._forget_all(cursor)
        self._touched = {number: item for number, item in self._touched.items() if item.seq > cursor}
        self._after, self._until = cursor, max(cursor, self._until)

    def _forget_all(self, cursor: int) -> None:
        self._touched = {}
        self._after = self._until = cursor

    async def _read(self, changes: Sequence[Change]) -> None:
        last = {change.number: change for change in changes if change.action not in _WITHOUT_POINTS}
        points = await self._store.points_of(self._model, list(last)) if last else []
        by_memory: dict[int, list[Point]] = {}
        for point in points:
            by_memory.setdefault(point.id // PASSAGES_PER_MEMORY, []).append(point)
        before = _most_passages(changes)
        for number, change in last.items():
            own, existing = tuple(by_memory.get(number, ())), self._touched.get(number)
            held = max(before[number], len(own), existing.held if existing else 0)
            self._touched[number] = Touched(space=change.space, seq=change.seq, held=held, points=own)
        self._until = changes[-1].seq


def hidden_in(touched: dict[int, Touched], space: str) -> int:
    """How many points of a space an index may find that say nothing any more."""
    return sum(item.held for item in touched.values() if item.space == space)


def overlay(
    found: Hits, touched: dict[int, Touched], *, space: str, vector: Vector, filter: Filter, limit: int
) -> Hits:
    """What an index has found, with all that was changed since in the place of what it knows of that."""
    if not touched:
        return found[:limit]
    stored = [hit for hit in found if hit[0] // PASSAGES_PER_MEMORY not in touched]
    passing = [point for item in touched.values() for point in item.points if _passes(point, space, filter)]
    sound = [point for point in passing if point.vector.shape == vector.shape and np.isfinite(point.vector).all()]
    stored += _compared(sound, vector)
    return sorted(stored, key=lambda hit: (-hit[1], hit[0]))[:limit]


def _most_passages(changes: Sequence[Change]) -> dict[int, int]:
    most: dict[int, int] = {}
    for change in changes:
        most[change.number] = max(most.get(change.number, 0), change.passages_before)
    return most


def _passes(point: Point, space: str, filter: Filter) -> bool:
    held = set(point.facets)
    return (
        point.space == space
        and facet("state", filter.state) in held
        and all(held.intersection(group) for group in filter.facet_groups)
        and (filter.since is None or point.at >= to_micros(filter.since))
        and (filter.until is None or point.at < to_micros(filter.until))
    )


def _compared(points: Sequence[Point], vector: Vector) -> Hits:
    if not points:
        return []
    matrix = np.stack([point.vector for point in points])
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(vector)
    cosines = cosine_similarities(matrix, vector) / np.where(lengths > 0, lengths, 1)
    return [(point.id, max(-1.0, min(1.0, float(cosine)))) for point, cosine in zip(points, cosines, strict=True)]
