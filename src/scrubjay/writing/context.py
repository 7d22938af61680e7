"""The bundles that the write path passes from stage to stage, and the writes that are under way."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from scrubjay.detection.neighbours import EmbeddedMemory
from scrubjay.detection.report import ConflictReport
from scrubjay.lazy import dataclass
from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.health import WriteNote
from scrubjay.model.job import Job
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Passage, Vector
from scrubjay.model.results import Remembered
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedded, Embedder, PairReader, PassageSearcher, RecordStore
from scrubjay.writing.results import KeyedRequest
from scrubjay.writing.rules import EffectiveRules

__all__ = [
    "InFlightWrites",
    "NoteWrite",
    "OpenIndex",
    "PreparedWrite",
    "ScreenedDraft",
    "Sliced",
    "Statement",
    "WriteContext",
    "WriteIndex",
    "WriteOutcome",
    "ignore",
]

T = TypeVar("T")
U = TypeVar("U")
# A memory with its passages.
Sliced = tuple[Memory, tuple[Passage, ...]]

# A writer that waits compares again afterwards, so that a needless wait costs a moment and nothing else.
_NEAR = 0.85
_FIRST_ROWS = 16


class WriteIndex(PassageSearcher, Protocol):
    """The vector index, as far as the write path uses it."""

    async def after_commit(self) -> None:
        """Take in the latest commit."""
        ...


OpenIndex = Callable[[RecordStore, str, Sequence[Vector]], Awaitable[WriteIndex]]
"""Returns the index as a new transaction to a space sees it, and the vectors that it will be asked for.

Raises EmbeddingUnavailable without a model.
"""


NoteWrite = Callable[[WriteNote], None]
"""Counts a write that is stored or refused."""


def ignore(_: WriteNote) -> None:
    """Count nothing."""


class Statement(NamedTuple):
    """What a write may be merged by: the vector of its text, and its session."""

    vector: Vector | None
    session: str = ""


class _UnderWay:
    """The writes to a space that are under way, found by their sessions and, with one product, by their vectors."""

    def __init__(self) -> None:
        self._sessions: dict[str, list[asyncio.Event]] = {}
        # By dimension: the vectors as rows, and the write of each row, None for a row that is free again.
        self._vectors: dict[int, NDArray[np.float32]] = {}
        self._events: dict[int, list[asyncio.Event | None]] = {}
        self.count = 0

    def find_match(self, statements: Iterable[Statement]) -> asyncio.Event | None:
        """Return the end of a write that may say the same as one of some statements, or belongs to its session."""
        for vector, session in statements:
            if session and self._sessions.get(session):
                return self._sessions[session][0]
            if vector is None or len(vector) not in self._vectors:
                continue
            cosines = self._vectors[len(vector)] @ vector
            nearest = int(cosines.argmax())
            if cosines[nearest] >= _NEAR:
                return self._events[len(vector)][nearest]
        return None

    @contextmanager
    def hold(self, statements: Iterable[Statement]) -> Generator[None]:
        """Let later writes find these statements, until the end of the block."""
        done = asyncio.Event()
        held = list(statements)
        rows = [(len(vector), self._take_row(vector, done)) for vector, _ in held if vector is not None]
        sessions = [session for _, session in held if session]
        for session in sessions:
            self._sessions.setdefault(session, []).append(done)
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1
            done.set()
            for dimension, row in rows:
                # Without a length it is near to nothing.
                self._vectors[dimension][row] = 0.0
                self._events[dimension][row] = None
            for session in sessions:
                self._sessions[session].remove(done)
                if not self._sessions[session]:
                    del self._sessions[session]

    def _take_row(self, vector: Vector, done: asyncio.Event) -> int:
        dimension = len(vector)
        events = self._events.setdefault(dimension, [])
        if None not in events:
            larger = np.zeros((max(_FIRST_ROWS, 2 * len(events)), dimension), dtype=np.float32)
            larger[: len(events)] = self._vectors.get(dimension, larger[:0])
            self._vectors[dimension] = larger
            events += [None] * (len(larger) - len(events))
        row = events.index(None)
        events[row] = done
        self._vectors[dimension][row] = vector
        return row


class InFlightWrites:
    """The writes of this process between comparison and commit.

    Of two that say the same at the same moment, the second waits until the first is stored.
    """

    def __init__(self) -> None:
        self._by_space: dict[str, _UnderWay] = {}

    @asynccontextmanager
    async def register(self, space: str, *statements: Statement) -> AsyncGenerator[None]:
        """Wait for the writes that may say the same as one of the statements, then let later ones wait for these."""
        under_way = self._by_space.setdefault(space, _UnderWay())
        while (earlier := under_way.find_match(statements)) is not None:
            await earlier.wait()
            under_way = self._by_space.setdefault(space, _UnderWay())
        try:
            with under_way.hold(statements):
                yield
        finally:
            if not under_way.count and self._by_space.get(space) is under_way:
                del self._by_space[space]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteContext:
    """The dependencies of the write path. `has_llm`: a language model can improve memories later.

    `defers`: a job runner is at work, so that no caller waits for the vectors of a long text's end. `in_transaction`:
    the store is a transaction, in which the rules of its space, `effective`, do not change. `note` counts the writes.
    """

    store: RecordStore
    embedder: Embedder
    limits: Limits
    index: WriteIndex
    open_index: OpenIndex
    rules: Rules = field(default_factory=Rules)
    pairs: PairReader | None = None
    in_flight: InFlightWrites = field(default_factory=InFlightWrites)
    has_llm: bool = False
    defers: bool = False
    in_transaction: bool = False
    effective: EffectiveRules | None = None
    note: NoteWrite = ignore

    async def both(self, first: Coroutine[Any, Any, T], second: Coroutine[Any, Any, U]) -> tuple[T, U]:
        """Return the results of two stages that need not wait for each other.

        They run at once, since with a remote store each waits for answers. A local store answers immediately, and a
        transaction has one connection: one stage would wait for the other, and tasks take longer than many reads.
        """
        if not (self.in_transaction or self.store.is_local):
            return await asyncio.gather(first, second)
        with closing(second):
            done = await first
            if not self.in_transaction:
                # Let other requests read meanwhile, and the model take its next texts; a chunk does so between writes.
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
