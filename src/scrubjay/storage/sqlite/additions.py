"""New memories that this process has just committed, for those who follow the log: they need not be read back."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scrubjay.model.memory import State
from scrubjay.model.passage import Point, Vector, passage_id
from scrubjay.model.query import Facet, facet
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.plan import CommitPlan
from scrubjay.storage.sqlite.vectors import as_stored

# Who follows the log is seldom as many commits behind. A commit of more passages is read back.
_MAX_COMMITS = 64
_MAX_PASSAGES = 128


class AddedPassage(NamedTuple):
    """A passage of a new memory."""

    number: int
    terms: Sequence[str]
    hash: bytes = b""


class AddedMemory(NamedTuple):
    """A new memory, as the lexical index knows it."""

    number: int
    space_no: int
    state: State
    facets: Sequence[Facet]
    passages: Sequence[AddedPassage]
    date: int = 0


class Addition(NamedTuple):
    """A commit that has added memories and changed nothing else: its changes from `first` to `last`."""

    first: int
    last: int
    space: str
    memories: Sequence[AddedMemory]
    model: str
    vectors: Mapping[bytes, Vector]


def addition_of(
    plan: CommitPlan, numbers: Mapping[str, int], *, space: str, space_no: int, last: int
) -> Addition | None:
    """Return what a plan has added that is written; None if it has done anything else, or added much."""
    is_more = bool(plan.revised_ids) or len(plan.changes) != len(plan.memories)
    if is_more or not plan.memories or sum(map(len, plan.passages.values())) > _MAX_PASSAGES:
        return None
    memories = [
        AddedMemory(
            numbers[memory_id], space_no, plan.after[memory_id].state, plan.after[memory_id].facets,
            [
                AddedPassage(passage_id(numbers[memory_id], passage.ordinal), passage.terms, passage.hash)
                for passage in plan.passages[memory_id]
            ],
            to_micros(memory.date),
        )
        for memory_id, memory in plan.memories.items()
    ]  # fmt: skip
    model = plan.embedded.model if plan.embedded else ""
    return Addition(last - len(memories) + 1, last, space, memories, model, plan.vectors)


class Additions:
    """The last additions of this process, in order, with no other commit of this process after them.

    One of another process shows as a gap in their numbers.
    """

    def __init__(self) -> None:
        self._additions: deque[Addition] = deque(maxlen=_MAX_COMMITS)

    def note(self, addition: Addition | None) -> None:
        """Note a commit: what it has added, or None if it has done anything else."""
        if addition is None:
            self.clear()
        else:
            self._additions.append(addition)

    def clear(self) -> None:
        """Drop everything."""
        self._additions.clear()

    def after(self, seq: int) -> list[Addition]:
        """Return all additions after a change; none if anything else has changed since, as far as is known here."""
        later = [addition for addition in self._additions if addition.first > seq]
        for addition in later:
            if addition.first != seq + 1:
                return []
            seq = addition.last
        return later


def points_of_addition(addition: Addition, *, model: str) -> list[Point] | None:
    """Return its passages as an index by the model holds them; None if not all of their vectors are here."""
    passages = [(memory, passage) for memory in addition.memories for passage in memory.passages]
    if addition.model != model or any(passage.hash not in addition.vectors for _, passage in passages):
        return None
    if not passages:
        return []
    vectors = as_stored(np.stack([addition.vectors[passage.hash] for _, passage in passages]))
    return [
        Point(
            id=passage.number, space=addition.space, vector=vector, at=memory.date,
            facets=(*memory.facets, facet("state", memory.state)),
        )
        for (memory, passage), vector in zip(passages, vectors, strict=True)
    ]  # fmt: skip
