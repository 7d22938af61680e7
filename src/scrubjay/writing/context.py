"""The bundles that the write path passes from stage to stage, and the writes that are under way."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from scrubjay.detection.neighbours import EmbeddedMemory
from scrubjay.detection.report import ConflictReport
from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.job import Job
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Passage, Vector
from scrubjay.model.results import Remembered
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedded, Embedder, PassageSearcher, RecordStore
from scrubjay.writing.results import KeyedRequest
from scrubjay.writing.rules import EffectiveRules

__all__ = [
    "InFlightWrites",
    "OpenIndex",
    "PreparedWrite",
    "ScreenedDraft",
    "Sliced",
    "Statement",
    "WriteContext",
    "WriteIndex",
    "WriteOutcome",
]

T = TypeVar("T")
U = TypeVar("U")
# A memory with its passages.
Sliced = tuple[Memory, tuple[Passage, ...]]

# A writer that waits compares again afterwards, so that a needless wait costs a moment and nothing else.
_NEAR = 0.85


class WriteIndex(PassageSearcher, Protocol):
    """The vector index, as far as the write path uses it."""

    async def after_commit(self) -> None:
        """Take in the latest commit."""
        ...


OpenIndex = Callable[[RecordStore, str, Sequence[Vector]], Awaitable[WriteIndex]]
"""Returns the index as a new transaction to a space sees it, and the vectors that it will be asked for.

Raises EmbeddingUnavailable without a model.
"""


class Statement(NamedTuple):
    """What a write may be merged by: the vector of its text, and its session."""

    vector: Vector | None
    session: str = ""

    def may_match(self, other: "Statement") -> bool:
        """Check whether two writes may say the same, or belong to one session."""
        if self.session and self.session == other.session:
            return True
        return self.vector is not None and other.vector is not None and float(self.vector @ other.vector) >= _NEAR


@dataclass(eq=False, slots=True)
class _Write:
    statements: tuple[Statement, ...]
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def may_match(self, statements: Iterable[Statement]) -> bool:
        return any(own.may_match(other) for other in statements for own in self.statements)


class InFlightWrites:
    """The writes of this process between comparison and commit.

    Of two that say the same at the same moment, the second waits until the first is stored.
    """

    def __init__(self) -> None:
        self._by_space: dict[str, list[_Write]] = {}

    @asynccontextmanager
    async def register(self, space: str, *statements: Statement) -> AsyncGenerator[None]:
        """Wait for the writes that may say the same as one of the statements, then let later ones wait for these."""
        in_flight = self._by_space.setdefault(space, [])
        while (earlier := next((write for write in in_flight if write.may_match(statements)), None)) is not None:
            await earlier.done.wait()
            in_flight = self._by_space.setdefault(space, [])
        write = _Write(statements)
        in_flight.append(write)
        try:
            yield
        finally:
            write.done.set()
            in_flight.remove(write)
            if not in_flight and self._by_space.get(space) is in_flight:
                del self._by_space[space]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteContext:
    """The dependencies of the write path. `has_llm`: a language model can improve memories later.

    `defers`: a job runner is at work, so that no caller waits for the vectors of a long text's end. `in_transaction`:
    the store is a transaction, in which the rules of its space, `effective`, do not change.
    """

    store: RecordStore
    embedder: Embedder
    limits: Limits
    index: WriteIndex
    open_index: OpenIndex
    rules: Rules = field(default_factory=Rules)
    in_flight: InFlightWrites = field(default_factory=InFlightWrites)
    has_llm: bool = False
    defers: bool = False
    in_transaction: bool = False
    effective: EffectiveRules | None = None

    async def both(self, first: Coroutine[Any, Any, T], second: Coroutine[Any, Any, U]) -> tuple[T, U]:
        """Return the results of two stages that need not wait for each other.

        They run at once, since with a remote store each waits for answers. A transaction has one connection, so that
        one stage would wait for the other anyway, and tasks take longer than many reads.
        """
        if not self.in_transaction:
            return await asyncio.gather(first, second)
        with closing(second):
            done = await first
            # Let other requests read meanwhile, and the model take its next texts.
            await asyncio.sleep(0)
            return done, await second


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenedDraft:
    """A valid draft, and what the rules of its space make of it: rejected, or without secrets."""

    valid: Draft
    draft: Draft
    rules: Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedWrite:
    """A draft that is ready to be stored: its records with their passages, and the vectors of the first."""

    draft: Draft
    space: str
    rules: Rules
    origin: Origin
    request: KeyedRequest
    sliced: tuple[Sliced, ...]
    # The first record with all its vectors, also those that the space had; `embedded` are the new ones.
    first: EmbeddedMemory
    embedded: Embedded | None
    # The records that lack some of their vectors.
    unfinished: tuple[str, ...] = ()
    # The memories that say the same of other entities of the draft: the records join their group.
    joined: tuple[str, ...] = ()
    conflicts: ConflictReport = field(default_factory=ConflictReport)

    @property
    def vector(self) -> Vector | None:
        """The vector of the first passage, which stands for the whole text."""
        passages = self.first.passages
        return self.first.vectors.get(passages[0].hash) if passages else None

    @property
    def waits_for_llm(self) -> bool:
        """Whether the caller waits for the jobs."""
        return self.draft.wait_for_llm or self.rules.llm == "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOutcome:
    """The answer to a write, and the jobs that it leaves; `waits`: the caller waits for them."""

    answer: Remembered
    jobs: tuple[Job, ...] = ()
    waits: bool = False
