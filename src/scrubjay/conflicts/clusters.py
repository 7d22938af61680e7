"""Groups of near memories: the vectors of a space, pairs of memories near to each other, and the groups they form."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from scrubjay.conflicts.near_pairs import Matrix, find_near_pairs
from scrubjay.lazy import dataclass
from scrubjay.model.passage import PASSAGES_PER_MEMORY, is_valid_vector
from scrubjay.model.query import Filter
from scrubjay.ports import Profile, RecordStore

__all__ = ["MAX_GROUP", "NearMemories", "SpaceVectors", "group_pairs", "load_vectors", "near_memories"]

MAX_GROUP = 50
"""A larger group is cut: what is left over is grouped the next time."""

_PAGE = 500
Pause = Callable[[], Awaitable[None]]
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class NearMemories:
    """Two memories, by their numbers in the store, and the cosine of their nearest passages."""

    first: int
    second: int
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceVectors:
    """The vectors of a space: one row for each embedded passage, and the rows of each memory by its number."""

    vectors: Matrix
    rows: Mapping[int, Sequence[int]]

    def of_memory(self, number: int) -> Matrix:
        """Return the vectors of a memory, in the order of its passages."""
        return self.vectors[list(self.rows[number])]


async def load_vectors(
    space: str, filter: Filter, *, profile: Profile, store: RecordStore, pause: Pause | None = None
) -> SpaceVectors:
    """Read the vectors of the memories that pass a filter."""
    passages = set(await store.matching_passages(space, filter))
    numbers = sorted({passage // PASSAGES_PER_MEMORY for passage in passages})
    pages: list[Matrix] = [np.empty((0, profile.dimension), np.float32)]
    rows: defaultdict[int, list[int]] = defaultdict(list)
    count = 0
    for start in range(0, len(numbers), _PAGE):
        page = await store.points_of(profile.model, numbers[start : start + _PAGE])
        # A damaged vector is made again by another job.
        valid = [point for point in page if is_valid_vector(point.vector, dimension=profile.dimension)]
        points = sorted((point for point in valid if point.id in passages), key=lambda point: point.id)
        for row, point in enumerate(points, count):
            rows[point.id // PASSAGES_PER_MEMORY].append(row)
        count += len(points)
        pages += [np.stack([point.vector for point in points])] if points else []
        if pause is not None:
            await pause()
    return SpaceVectors(vectors=np.concatenate(pages), rows=dict(rows))


async def near_memories(space_vectors: SpaceVectors, *, least: float, most: int) -> list[NearMemories]:
    """Return the pairs of memories with passages near to each other, the nearest first; each with its nearest few."""
    return await asyncio.to_thread(_near_memories, space_vectors, least=least, most=most)


def group_pairs(pairs: Iterable[tuple[T, T]], *, most: int = MAX_GROUP) -> list[tuple[T, ...]]:
    """Join pairs that share a member into groups, the first pairs first; none becomes larger than so many.

    What is near to a full group, and is in no other, forms the next group with others of which that is true.
    """
    leaders: dict[T, T] = {}
    groups: dict[T, list[T]] = {}
    overflow: dict[T, T] = {}

    def group_of(member: T) -> T:
        leader = leaders.setdefault(member, member)
        groups.setdefault(leader, [leader])
        return leader

    for first, second in pairs:
        joined, leader = sorted((group_of(first), group_of(second)), key=lambda member: len(groups[member]))
        if joined != leader and len(groups[joined]) == 1 and len(groups[leader]) == most:
            after = group_of(overflow.get(leader, joined))
            if len(groups[after]) == most:
                after = joined
            overflow[leader], leader = after, after
        if joined == leader or len(groups[joined]) + len(groups[leader]) > most:
            continue
        # The smaller group moves, so that no member moves often.
        for member in groups.pop(joined):
            leaders[member] = leader
            groups[leader].append(member)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _near_memories(space_vectors: SpaceVectors, *, least: float, most: int) -> list[NearMemories]:
    numbers = np.zeros(len(space_vectors.vectors), np.int64)
    for number, rows in space_vectors.rows.items():
        numbers[list(rows)] = number
    pairs = find_near_pairs(space_vectors.vectors, least=least, most=most)
    first, second = numbers[pairs.first], numbers[pairs.second]
    differ = first != second
    nearest: dict[tuple[int, int], float] = {}
    for ours, theirs, cosine in zip(
        first[differ].tolist(), second[differ].tolist(), pairs.cosine[differ].tolist(), strict=True
    ):
        pair = (min(ours, theirs), max(ours, theirs))
        nearest[pair] = max(cosine, nearest.get(pair, -1.0))
    ordered = sorted(nearest.items(), key=lambda item: (-item[1], item[0]))
    return [NearMemories(*pair, cosine) for pair, cosine in ordered]
