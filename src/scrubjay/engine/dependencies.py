"""What an engine works with: its store, its index and its job runner, and what its verbs make of them."""

from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from scrubjay.engine.model_switch import ModelInUse, ModelSwitch
from scrubjay.health.daily import DailyLog
from scrubjay.health.report import HealthReporter, HealthSources
from scrubjay.indexing.unapplied import TransactionIndex
from scrubjay.jobs.queue import Queue
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Access, Caller
from scrubjay.model.change import Origin
from scrubjay.model.checks import require_own_look
from scrubjay.model.draft import Limits
from scrubjay.model.identity import new_id
from scrubjay.model.job import Job
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.model.ranking import Ranking
from scrubjay.model.requests import SpacesRequest
from scrubjay.model.rules import Rules
from scrubjay.ports import (
    ChangeLog,
    Clock,
    DocumentStore,
    Embedder,
    Llm,
    MediaSource,
    MemoryReader,
    PairReader,
    RecordStore,
    Reranker,
)
from scrubjay.recalling import pipeline as recalling
from scrubjay.recalling.access_log import AccessLog
from scrubjay.recalling.answer_cache import AnswerCache
from scrubjay.recalling.text_cache import TextCaches
from scrubjay.recalling.usage import UsageLog
from scrubjay.text.screening.secrets import require_no_secret
from scrubjay.writing import rules as rules_of_spaces
from scrubjay.writing.context import InFlightWrites, WriteContext, WriteOutcome, ignore
from scrubjay.writing.recheck import ConflictChecker
from scrubjay.writing.screen import redact_label

if TYPE_CHECKING:
    from scrubjay.engine.engine import Engine

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOwner:
    """Owns a store. Other packages see only these parts of it, and write memories with the verbs of the engine."""

    _store: RecordStore = field(repr=False)
    # The spaces that were seen to exist.
    _spaces: set[str] = field(default_factory=set[str], repr=False)

    async def require_own_look(self, who: Caller) -> None:
        """Raise NameTaken for a new space whose name looks like that of another one.

        Only to a caller of all spaces: to others it would reveal that the other one exists.
        """
        if not who.any_space or who.space in self._spaces:
            return
        names = await self._store.spaces()
        self._spaces.update(names)
        if who.space not in names:
            require_own_look(who.space, names, field="space")

    async def spaces(self, request: SpacesRequest, *, who: Caller) -> tuple[str, ...]:  # noqa: ARG002 - as every verb
        """Return the names of the spaces in order; that of one, or those similar to it if it does not exist."""
        name = request.name
        # Most questions are about a space that exists, and a store may have very many.
        if name and await self._store.last_place(name):
            return (name,)
        # That without a name holds documents of the whole store.
        names = [*filter(None, await self._store.spaces())]
        if not name or name in names:
            return (name,) if name else tuple(names)
        return tuple(get_close_matches(name, names))

    @property
    def reader(self) -> MemoryReader:
        """The memories, for reading."""
        return self._store

    @property
    def documents(self) -> DocumentStore:
        """The documents besides the memories, such as jobs and open conflicts."""
        return self._store

    @property
    def change_log(self) -> ChangeLog:
        """The changes of all spaces, for followers."""
        return self._store


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainFile:
    """A file or folder in clear beside an encrypted store: where and what it is, and what to do about it."""

    path: Path
    what: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path} ({self.what})"


class EngineIndex(Protocol):
    """A vector index that follows the store."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return the passages nearest to a vector."""
        ...

    async def open(self) -> None:
        """Open the index; raises EmbeddingUnavailable without a model."""
        ...

    async def after_commit(self) -> None:
        """Apply the newest commits."""
        ...

    async def after_purge(self) -> None:
        """Remove purged points physically, not only from results."""
        ...

    async def rebuild(self) -> None:
        """Build the index again."""
        ...

    async def settle(self) -> None:
        """Wait for a running build."""
        ...

    async def lag(self) -> int:
        """Return the number of changes that it has not applied."""
        ...

    async def describe(self) -> dict[str, str | int | bool]:
        """Return its kind and its progress."""
        ...

    async def discard(self) -> None:
        """Close it for good, and remove what it has stored, because another model is in use."""
        ...

    async def close(self) -> None:
        """Release its resources."""
        ...


class Curator(Protocol):
    """Carries out the verbs of curation, which use those of the engine."""

    async def join_statements(self, statements: Sequence[str], *, llm: Llm) -> str:
        """Return statements as one coherent text of a language model; raises LlmUnavailable if it gives no good one."""
        ...

    async def mark_undone(self, run: str, *, space: str, is_complete: bool = True) -> None:
        """Note that a run was taken back, if it is one of curation."""
        ...

    async def has_run(self, run: str, *, space: str) -> bool:
        """Return whether a run is one of curation."""
        ...

    async def forget(self, ids: AbstractSet[str], *, space: str, run: str) -> None:
        """Keep no labels of purged memories in plans and reports."""
        ...


NO_WALL = "none"
"""The wall of programs that are refused, because there is none."""


class Programs(Protocol):
    """Runs programs that call the verbs."""

    def bound_to(self, call: Callable[..., Awaitable[object]], *, engine: "Engine") -> object:
        """Return what carries out the verbs of programs, which call other verbs with a function."""
        ...

    async def describe(self) -> dict[str, str | int | bool]:
        """Return the wall around programs, why it is no stronger one, and their limits."""
        ...

    async def forget(self, space: str) -> None:
        """Empty the workspaces of a space, since their files may contain what was purged."""
        ...

    async def close(self) -> None:
        """End the workers."""
        ...


class JobRunner(Protocol):
    """Runs the jobs that a write queues."""

    async def take(self, jobs: Sequence[Job], *, waits: bool) -> None:
        """Run jobs later, or now if the caller waits for them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineBase(StoreOwner):
    """The dependencies of the engine, and what several of its verbs need of them."""

    embedder: Embedder
    index: EngineIndex
    clock: Clock
    limits: Limits
    access_log: AccessLog
    data: Path
    ranking: Ranking = field(default_factory=Ranking)
    reranker: Reranker | None = None
    rerank_top: int = 30
    # The model that reads two texts together, for writes and for recall: the same one, where both use it.
    pairs: PairReader | None = None
    recall_pairs: PairReader | None = None
    recall_processes: recalling.OtherProcesses | None = None
    text_caches: TextCaches = field(default_factory=TextCaches)
    answers: AnswerCache = field(default_factory=AnswerCache)
    default_rules: Rules = field(default_factory=Rules)
    in_flight: InFlightWrites = field(default_factory=InFlightWrites)
    llm: Llm | None = None
    job_runner: JobRunner | None = None
    curator: Curator | None = None
    programs: Programs | None = None
    media_source: MediaSource | None = None
    # Replaces the embedder and the index by those of another model; None if they stay the same.
    models: ModelSwitch | None = None
    # Counts what is written; None counts nothing.
    reporter: HealthReporter | None = None
    # Whether a worker runs queued jobs, here or on a server that shares the store.
    has_worker: bool = False
    # Searches for plain files beside an encrypted store; None for a store without a key.
    plain_files: Callable[[], Sequence[PlainFile]] | None = None

    @property
    def is_encrypted(self) -> bool:
        """Whether the store has a key, so that no file may hold a text in clear."""
        return self.plain_files is not None

    @property
    def model(self) -> ModelInUse:
        """The model in use: one request uses the same embedder and index throughout, even if they are replaced."""
        if self.models is None:
            return ModelInUse(embedder=self.embedder, index=self.index, media_source=self.media_source)
        current = self.models.current
        # A copy of an engine may have an embedder of its own.
        return current if self.embedder is self.models.embedder else replace(current, embedder=self.embedder)

    @property
    def _usage(self) -> UsageLog:
        return self.access_log.usage or UsageLog(self._store, clock=self.clock, counts=False)

    @property
    def _health(self) -> HealthReporter:
        return self.reporter or HealthReporter(DailyLog(self._store))

    async def ready(self) -> None:
        """Check with one query that the store works; raises its error."""
        await self._store.last_place("")

    async def index_problem(self) -> str:
        """Return the problem of the vector index, or an empty text."""
        return str((await self.index.describe()).get("problem", ""))

    @property
    def _health_sources(self) -> HealthSources:
        return HealthSources(
            store=self._store, embedder=self.embedder, clock=self.clock, data=self.data, lag=self.index.lag,
            llm=self.llm,
        )  # fmt: skip

    @property
    def _write_context(self) -> WriteContext:
        model = self.model
        return WriteContext(
            store=self._store, embedder=model.embedder, limits=self.limits, index=model.index,
            open_index=partial(_open_index, model), rules=self.default_rules, in_flight=self.in_flight,
            pairs=self.pairs, has_llm=self.llm is not None, defers=self.has_worker,
            note=self.reporter.daily.note if self.reporter else ignore,
        )  # fmt: skip

    @property
    def _conflict_checker(self) -> ConflictChecker:
        return ConflictChecker(self._write_context)

    async def _apply(self, write: Awaitable[T]) -> T:
        """Await a write and bring the index up to date, even if it ignores the change: its cursor must advance."""
        result = await write
        await self.index.after_commit()
        return result

    async def _apply_scan(self, scan: Awaitable[T]) -> T:
        """Await a scan and drop the cached answers: the conflicts that it stores have no entry in the change log."""
        try:
            return await scan
        finally:
            self.answers.clear()

    async def _queue_jobs(self, outcome: WriteOutcome) -> None:
        """Give the jobs of a write to the job runner."""
        if outcome.jobs and self.job_runner is not None:
            await self.job_runner.take(outcome.jobs, waits=outcome.waits)

    @property
    def _queue(self) -> Queue:
        return Queue(documents=self._store, clock=self.clock)

    @property
    def _recall_context(self) -> recalling.RecallContext:
        model = self.model
        return recalling.RecallContext(
            store=self._store, embedder=model.embedder, index=model.index, limits=self.limits, ranking=self.ranking,
            text_caches=self.text_caches, answers=self.answers, reranker=self.reranker, rerank_top=self.rerank_top,
            reader=self.recall_pairs, processes=self.recall_processes,
        )  # fmt: skip

    async def _rules(self, space: str) -> Rules:
        return (await rules_of_spaces.load_rules(space, default=self.default_rules, documents=self._store)).rules

    def _origin(self, who: Caller) -> Origin:
        # The first write creates the space.
        require_no_secret(who.space, field="space")
        return Origin(
            at=self.clock.now(), run=redact_label(who.run) or new_id(), agent=redact_label(who.agent),
            is_agent=who.access is Access.AGENT,
        )  # fmt: skip


async def _open_index(model: ModelInUse, store: RecordStore, space: str, vectors: Sequence[Vector]) -> TransactionIndex:
    profile = await model.embedder.profile()
    return await TransactionIndex.open(model.index, store, model=profile.model, space=space, vectors=vectors)
