"""What the engine is made of, wired by the composition root."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from scrubjay.jobs.queue import Queue
from scrubjay.model.change import Origin
from scrubjay.model.draft import Caller, Limits
from scrubjay.model.identity import new_id
from scrubjay.model.job import Job
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.model.ranking import Ranking
from scrubjay.model.rules import Rules
from scrubjay.ports import Clock, Embedder, Gallery, Llm, RecordStore, Reranker
from scrubjay.recalling import pipeline as recalling
from scrubjay.recalling.access_log import AccessLog
from scrubjay.recalling.answer_cache import AnswerCache
from scrubjay.recalling.text_cache import TextCaches
from scrubjay.writing.context import InFlightWrites, WriteContext, WriteOutcome
from scrubjay.writing.recheck import ConflictChecker
from scrubjay.writing.screen import redact_label


class EngineIndex(Protocol):
    """What the engine asks of whoever keeps the vector index."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """The passages nearest to a vector."""
        ...

    async def open(self) -> None:
        """Take hold of what there is; raises EmbeddingUnavailable without a model."""
        ...

    async def after_commit(self) -> None:
        """Take in what was just committed."""
        ...

    async def after_purge(self) -> None:
        """Be rid of what was purged, not only hide it."""
        ...

    async def rebuild(self) -> None:
        """Build the index anew."""
        ...

    async def lag(self) -> int:
        """How many changes it is behind."""
        ...

    async def describe(self) -> dict[str, str | int | bool]:
        """What it is and how far it has come."""
        ...

    async def close(self) -> None:
        """Let go."""
        ...


class JobRunner(Protocol):
    """Whoever does what a write leaves for later."""

    async def take(self, jobs: Sequence[Job], *, waits: bool) -> None:
        """Do these when there is time, or now if somebody waits for them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """All that the verbs work with."""

    store: RecordStore
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
    gallery: Gallery | None = None
    # Whether somebody does the jobs without being asked, here or on a server that shares the store.
    is_staffed: bool = False

    async def close(self) -> None:
        """Finish what was begun and let go of everything."""
        await self.access_log.close()
        await self.index.close()
        await self.embedder.close()
        if self.reranker is not None:
            await self.reranker.close()
        if self.llm is not None:
            await self.llm.close()
        await self.store.close()

    @property
    def _write_context(self) -> WriteContext:
        return WriteContext(
            store=self.store, embedder=self.embedder, limits=self.limits, index=self.index, rules=self.default_rules,
            in_flight=self.in_flight, has_llm=self.llm is not None, defers=self.is_staffed,
        )  # fmt: skip

    @property
    def _conflict_checker(self) -> ConflictChecker:
        return ConflictChecker(self._write_context)

    async def _hand_on(self, kept: WriteOutcome) -> None:
        """Leave to the workshop what a write leaves for later."""
        if kept.jobs and self.job_runner is not None:
            await self.job_runner.take(kept.jobs, waits=kept.waits)

    @property
    def _queue(self) -> Queue:
        return Queue(documents=self.store, clock=self.clock)

    @property
    def _recall_context(self) -> recalling.RecallContext:
        return recalling.RecallContext(
            store=self.store, embedder=self.embedder, index=self.index, limits=self.limits, ranking=self.ranking,
            text_caches=self.text_caches, answers=self.answers, reranker=self.reranker, rerank_top=self.rerank_top,
        )  # fmt: skip

    def _origin(self, who: Caller) -> Origin:
        return Origin(at=self.clock.now(), run=redact_label(who.run) or new_id(), agent=redact_label(who.agent))
