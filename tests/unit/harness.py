"""The write and read paths over any store, one short method a verb."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tests.fakes import FakeClock, FakeEmbedder
from tests.fakes.build import DIMENSION, MODEL, an_origin

from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft, DraftBatch, Limits
from scrubjay.model.job import Job
from scrubjay.model.memory import Json, Memory
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.model.ranking import Ranking
from scrubjay.model.requests import Edit, ReadRequest, RecallRequest, RelateRequest, Selection, UnrelateRequest
from scrubjay.model.results import Outcome, ReadResult, Recalled, Related, Remembered, RememberedMany, Written
from scrubjay.model.rules import Rules
from scrubjay.ports import Commit, Committed, PassageSearcher, Progress, RecordStore, Reranker
from scrubjay.recalling.answer_cache import AnswerCache
from scrubjay.recalling.pipeline import RecallContext, recall
from scrubjay.recalling.read import read
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.scan import ScanIndex
from scrubjay.writing import delete, relate
from scrubjay.writing.context import InFlightWrites, WriteContext, WriteOutcome
from scrubjay.writing.many import remember_many
from scrubjay.writing.pipeline import remember
from scrubjay.writing.recheck import ConflictChecker
from scrubjay.writing.revise import revise

SPACE = "default"
# For tests of anything but the stages that look at the text: nothing is added to it, and nothing is merged.
PLAIN = Rules(gate="off", density="off", tags="off", conflicts="off")


class OvertakenStore(SqliteStore):
    """A store that runs the callables in `first` right before the next commit."""

    @cached_property
    def first(self) -> list[Callable[[], Awaitable[object]]]:
        return []

    async def commit(self, commit: Commit) -> Committed:
        while self.first:
            await self.first.pop()()
        return await super().commit(commit)


class HarnessIndex:
    """The index of a harness, as the write path searches it."""

    def __init__(self, harness: "Harness") -> None:
        self._harness = harness

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        return await self._harness.searcher.search(space, vector, filter, limit=limit)

    async def after_commit(self) -> None:
        """It reads the store itself."""


@dataclass(kw_only=True)
class Harness:
    """A store, and the paths that write to it and read from it."""

    store: RecordStore
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    clock: FakeClock = field(default_factory=FakeClock)
    limits: Limits = field(default_factory=Limits)
    index: PassageSearcher | None = None
    answers: AnswerCache = field(default_factory=AnswerCache)
    ranking: Ranking = field(default_factory=Ranking)
    reranker: Reranker | None = None
    rerank_top: int = 30
    reader: Reranker | None = None
    rules: Rules = PLAIN
    in_flight: InFlightWrites = field(default_factory=InFlightWrites)
    defers: bool = False
    # Those that `remember_many` has left.
    jobs: list[Job] = field(default_factory=list[Job])

    @property
    def context(self) -> WriteContext:
        return WriteContext(
            store=self.store, embedder=self.embedder, limits=self.limits, index=HarnessIndex(self),
            open_index=self._open_index, rules=self.rules, in_flight=self.in_flight, defers=self.defers,
        )  # fmt: skip

    async def _open_index(self, store: RecordStore, space: str, vectors: Sequence[Vector]) -> HarnessIndex:
        del space, vectors
        return HarnessIndex(replace(self, store=store, index=None))

    @property
    def searcher(self) -> PassageSearcher:
        return self.index or ScanIndex(self.store, MODEL, dimension=DIMENSION)

    @property
    def recall_context(self) -> RecallContext:
        return RecallContext(
            store=self.store, embedder=self.embedder, index=self.searcher, limits=self.limits, answers=self.answers,
            ranking=self.ranking, reranker=self.reranker, rerank_top=self.rerank_top, reader=self.reader,
        )  # fmt: skip

    def origin(self, *, run: str = "", agent: str = "tester") -> Origin:
        return an_origin(at=self.clock.now(), run=run, agent=agent)

    async def remember(self, draft: Draft | str) -> Remembered:
        written = Draft(text=draft) if isinstance(draft, str) else draft
        return (await remember(written, space=SPACE, origin=self.origin(), context=self.context)).answer

    async def remember_many(
        self,
        drafts: Sequence[Draft],
        *,
        atomic: bool = False,
        key: str = "",
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> RememberedMany:
        batch = DraftBatch(drafts=drafts, atomic=atomic, idempotency_key=key, dry_run=dry_run)
        return await remember_many(
            batch, space=SPACE, origin=self.origin(), context=self.context, hand_on=self._keep_jobs, progress=progress
        )

    async def _keep_jobs(self, outcome: WriteOutcome) -> None:
        self.jobs += outcome.jobs

    async def store_draft(self, draft: Draft | str) -> Memory:
        """Remember a draft and read the memory back."""
        return await self.get((await self.remember(draft)).id)

    async def revise(self, ref: str, edit: Edit | None = None, **fields: Json) -> Written:
        change = edit or Edit(fields=fields)
        return await revise(ref, change, space=SPACE, origin=self.origin(), context=self.context)

    async def forget(self, *refs: str, selection: Selection | None = None) -> Outcome:
        chosen = selection or Selection(ids=refs)
        return await delete.forget(chosen, space=SPACE, origin=self.origin(), store=self.store)

    async def restore(self, *refs: str, selection: Selection | None = None) -> Outcome:
        chosen = selection or Selection(ids=refs)
        return await delete.restore(
            chosen, space=SPACE, origin=self.origin(), store=self.store, conflict_checker=ConflictChecker(self.context)
        )

    async def purge(self, *refs: str, selection: Selection | None = None) -> Outcome:
        chosen = selection or Selection(ids=refs)
        return await delete.purge(chosen, space=SPACE, origin=self.origin(), store=self.store)

    async def relate(
        self,
        source: str,
        target: str,
        *,
        relation: str = "related_to",
        text: str = "",
        strength: float = 0.5,
        metadata: dict[str, Json] | None = None,
    ) -> Related:
        request = RelateRequest(
            source=source, target=target, relation=relation, text=text, strength=strength, metadata=metadata or {}
        )
        return await relate.relate(
            request, space=SPACE, origin=self.origin(), store=self.store, limits=self.limits, rules=self.rules,
        )  # fmt: skip

    async def unrelate(self, source: str, target: str, *, relation: str = "related_to") -> Related:
        return await relate.unrelate(
            UnrelateRequest(source=source, target=target, relation=relation),
            space=SPACE,
            origin=self.origin(),
            store=self.store,
            limits=self.limits,
        )

    async def recall(
        self,
        question: RecallRequest | str = "",
        *,
        filter: Filter | None = None,
        limit: int | None = None,
        cursor: str = "",
    ) -> Recalled:
        request = RecallRequest(query=question) if isinstance(question, str) else question
        request = replace(request, filter=filter or request.filter, limit=limit or request.limit, cursor=cursor)
        return await recall(request, spaces=(SPACE,), now=self.clock.now(), context=self.recall_context)

    async def read(self, *refs: str, format: str = "markdown", version: int | None = None) -> ReadResult:
        return await read(
            ReadRequest.of(ids=refs, format=format, version=version),
            spaces=(SPACE,),
            now=self.clock.now(),
            store=self.store,
        )

    async def get(self, memory_id: str) -> Memory:
        return (await self.store.get(SPACE, [memory_id]))[memory_id]
