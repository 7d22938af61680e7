"""New memories that this process has just committed, for those who follow the log: they need not be read back."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scrubjay.model.memory import State
from scrubjay.model.passage import Point, Vector, passage_id
from scrubjay.model.query import Facet, facet
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.plan import CommitPlan
from scrubjay.storage.sqlite.vectors import as_stored

# Who follows the log is seldom further behind, and then reads it.
_MAX_PASSAGES = 256


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
    """A commit that has added memories and changed nothing else: its changes from `first` to `last`.

    `vectors` are those of its new texts, as they are stored.
    """

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
    if is_more or not plan.memories or _count(plan.passages.values()) > _MAX_PASSAGES:
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
    vectors = {digest: as_stored(vector) for digest, vector in plan.vectors.items()}
    return Addition(last - len(memories) + 1, last, space, memories, model, vectors)


class Additions:
    """The last additions of this process, in order. Any other commit between two of them shows as a gap."""

    def __init__(self) -> None:
        self._additions: deque[Addition] = deque()
        self._passages = 0

    def note(self, addition: Addition | None) -> None:
        """Note a commit: what it has added, or None if it has done anything else."""
        if addition is None:
            self.clear()
            return
        self._additions.append(addition)
        self._passages += _passages_of(addition)
        while self._passages > _MAX_PASSAGES:
            self._passages -= _passages_of(self._additions.popleft())

    def clear(self) -> None:
        """Drop everything."""
        self._additions.clear()
        self._passages = 0

    def after(self, seq: int) -> list[Addition]:
        """Return all additions after a change; none if there was another change before one of them."""
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
    return [
        Point(
            id=passage.number, space=addition.space, vector=addition.vectors[passage.hash], at=memory.date,
            facets=(*memory.facets, facet("state", memory.state)),
        )
        for memory, passage in passages
    ]  # fmt: skip


def _passages_of(addition: Addition) -> int:
    # Without any, as a memory may be, it takes room too.
    return 1 + _count([memory.passages for memory in addition.memories])


def _count(lists: Iterable[Sequence[object]]) -> int:
    return sum(map(len, lists))
