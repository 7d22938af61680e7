"""What an engine is made of: its dependencies, and the contexts, origins and queues that its verbs make of them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from scrubjay.engine.dependencies import Curator, EngineIndex, JobRunner, PlainFile, StoreOwner
from scrubjay.indexing.unapplied import TransactionIndex
from scrubjay.jobs.queue import Queue
from scrubjay.model.caller import Access, Caller
from scrubjay.model.change import Origin
from scrubjay.model.draft import Limits
from scrubjay.model.identity import new_id
from scrubjay.model.passage import Vector
from scrubjay.model.ranking import Ranking
from scrubjay.model.rules import Rules
from scrubjay.ports import Clock, Embedder, Llm, MediaSource, RecordStore, Reranker
from scrubjay.recalling import pipeline as recalling
from scrubjay.recalling.access_log import AccessLog
from scrubjay.recalling.answer_cache import AnswerCache
from scrubjay.recalling.text_cache import TextCaches
from scrubjay.text.screening.secrets import require_no_secret
from scrubjay.writing import rules as rules_of_spaces
from scrubjay.writing.context import InFlightWrites, WriteContext, WriteOutcome
from scrubjay.writing.recheck import ConflictChecker
from scrubjay.writing.screen import redact_label

T = TypeVar("T")


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
    text_caches: TextCaches = field(default_factory=TextCaches)
    answers: AnswerCache = field(default_factory=AnswerCache)
    default_rules: Rules = field(default_factory=Rules)
    in_flight: InFlightWrites = field(default_factory=InFlightWrites)
    llm: Llm | None = None
    job_runner: JobRunner | None = None
    curator: Curator | None = None
    media_source: MediaSource | None = None
    # Whether a worker runs queued jobs, here or on a server that shares the store.
    has_worker: bool = False
    # Searches for plain files beside an encrypted store; None for a store without a key.
    plain_files: Callable[[], Sequence[PlainFile]] | None = None

    @property
    def is_encrypted(self) -> bool:
        """Whether the store has a key, so that no file may hold a text in clear."""
        return self.plain_files is not None

    @property
    def _write_context(self) -> WriteContext:
        return WriteContext(
            store=self._store, embedder=self.embedder, limits=self.limits, index=self.index,
            open_index=self._open_index, rules=self.default_rules, in_flight=self.in_flight,
            has_llm=self.llm is not None, defers=self.has_worker,
        )  # fmt: skip

    async def _open_index(self, store: RecordStore, space: str, vectors: Sequence[Vector]) -> TransactionIndex:
        profile = await self.embedder.profile()
        return await TransactionIndex.open(self.index, store, model=profile.model, space=space, vectors=vectors)

    @property
    def _conflict_checker(self) -> ConflictChecker:
        return ConflictChecker(self._write_context)

    async def _apply(self, write: Awaitable[T]) -> T:
        """Await a write and bring the index up to date, even if it ignores the change: its cursor must advance."""
        result = await write
        await self.index.after_commit()
        return result

    async def _queue_jobs(self, outcome: WriteOutcome) -> None:
        """Give the jobs of a write to the job runner."""
        if outcome.jobs and self.job_runner is not None:
            await self.job_runner.take(outcome.jobs, waits=outcome.waits)

    @property
    def _queue(self) -> Queue:
        return Queue(documents=self._store, clock=self.clock)

    @property
    def _recall_context(self) -> recalling.RecallContext:
        return recalling.RecallContext(
            store=self._store, embedder=self.embedder, index=self.index, limits=self.limits, ranking=self.ranking,
            text_caches=self.text_caches, answers=self.answers, reranker=self.reranker, rerank_top=self.rerank_top,
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
