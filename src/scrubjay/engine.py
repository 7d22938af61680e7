"""The facade that every surface calls: one short method a verb, no logic of its own."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from scrubjay import examining
from scrubjay.admitting import tokens as admission
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.graph.knowledge import KnowledgeGraph
from scrubjay.graph.lines import FORMATS, is_graph, require_format
from scrubjay.graph.transfer import export_graph, import_graph
from scrubjay.history import undo as undoing
from scrubjay.history import versions as history_of
from scrubjay.indexing.backfill import backfill
from scrubjay.jobs.queue import Queue
from scrubjay.model.change import Origin
from scrubjay.model.draft import Caller, Draft, Edit, Limits
from scrubjay.model.given import require_text
from scrubjay.model.identity import new_id
from scrubjay.model.job import Job
from scrubjay.model.memory import Json, Memory, Method, Source
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter, Question
from scrubjay.model.ranking import Ranking
from scrubjay.model.relation import LINK
from scrubjay.model.results import (
    Examination,
    History,
    Outcome,
    ReadResult,
    Recalled,
    Related,
    Remembered,
    Status,
    Undone,
    Written,
)
from scrubjay.model.rules import Rules
from scrubjay.model.tags import TagPreview, TagTable
from scrubjay.model.token import NewToken, Token, TokenWish
from scrubjay.ports import Clock, Embedder, Llm, Progress, RecordStore, Reranker
from scrubjay.recalling import pipeline as recalling
from scrubjay.recalling import read as reading
from scrubjay.recalling.answers import Answers
from scrubjay.recalling.mirror import Mirrors
from scrubjay.recalling.visits import Visits
from scrubjay.references import space_of
from scrubjay.transfer.export import export_lines
from scrubjay.transfer.intake import Imported, Lines, import_lines
from scrubjay.writing import dispose, pipeline, relate, review, revise, synonyms
from scrubjay.writing import rules as ruling
from scrubjay.writing.dispose import Selection
from scrubjay.writing.flights import Flights
from scrubjay.writing.screen import label


class Index(Protocol):
    """What the engine asks of whoever keeps the vector index."""

    async def search(self, space: str, vector: Vector, wanted: Filter, *, limit: int) -> list[tuple[int, float]]:
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


class Workshop(Protocol):
    """Whoever does what a write leaves for later."""

    async def take(self, jobs: Sequence[Job], *, waits: bool) -> None:
        """Do these when there is time, or now if somebody waits for them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The memory itself, wired by the composition root."""

    store: RecordStore
    embedder: Embedder
    index: Index
    clock: Clock
    limits: Limits
    visits: Visits
    data: Path
    ranking: Ranking = field(default_factory=Ranking)
    reranker: Reranker | None = None
    rerank_top: int = 30
    mirrors: Mirrors = field(default_factory=Mirrors)
    answers: Answers = field(default_factory=Answers)
    default_rules: Rules = field(default_factory=Rules)
    flights: Flights = field(default_factory=Flights)
    llm: Llm | None = None
    workshop: Workshop | None = None

    async def remember(self, draft: Draft, *, who: Caller) -> Remembered:
        """Store a text, once, under every entity it is about."""
        kept = await pipeline.remember(draft, space=who.space, origin=self._origin(who), desk=self._desk)
        if kept.jobs and self.workshop is not None:
            await self.workshop.take(kept.jobs, waits=kept.waits)
        return kept.answer

    async def recall(self, question: Question, *, who: Caller, cursor: str = "") -> Recalled:
        """Find what answers a question."""
        found = await recalling.recall(
            question, cursor=cursor, spaces=who.spaces, now=self.clock.now(), shelf=self._shelf
        )
        self.visits.note((hit.space, hit.id) for hit in (*found.pinned, *found.hits))
        return found

    async def read(
        self,
        refs: Sequence[str],
        *,
        who: Caller,
        format: str = "markdown",
        version: int | None = None,
    ) -> ReadResult:
        """Whole memories by id, name or title."""
        found = await reading.read(refs, format=format, version=version, spaces=who.spaces, store=self.store)
        self.visits.note((memory.space, memory.id) for memory in found.memories)
        return found

    async def revise(self, ref: str, edit: Edit, *, who: Caller) -> Written:
        """Change a memory; the state before stays a version."""
        done = await revise.revise(ref, edit, space=who.space, origin=self._origin(who), desk=self._desk)
        await self.index.after_commit()
        return done

    async def forget(self, selection: Selection, *, who: Caller) -> Outcome:
        """Put memories into the trash."""
        done = await dispose.forget(selection, space=who.space, origin=self._origin(who), store=self.store)
        await self.index.after_commit()
        return done

    async def restore(self, selection: Selection, *, who: Caller) -> Outcome:
        """Take memories out of the trash."""
        done = await dispose.restore(selection, space=who.space, origin=self._origin(who), store=self.store)
        await self.index.after_commit()
        return done

    async def purge(self, selection: Selection, *, who: Caller) -> Outcome:
        """Destroy what is in the trash."""
        done = await dispose.purge(selection, space=who.space, origin=self._origin(who), store=self.store)
        if done.done and not done.dry_run:
            self.answers.clear()
            await self.index.after_purge()
        return done

    async def relate(
        self,
        source: str,
        target: str,
        *,
        who: Caller,
        relation: str = LINK,
        text: str = "",
        strength: float = 0.5,
        metadata: Mapping[str, Json] | None = None,
    ) -> Related:
        """Set an edge between two memories."""
        return await relate.relate(
            source, target, relation=relation, text=text, strength=strength, metadata=metadata or {},
            space=who.space, origin=self._origin(who), store=self.store, limits=self.limits, rules=self.default_rules,
        )  # fmt: skip

    async def unrelate(self, source: str, target: str, *, who: Caller, relation: str = LINK) -> Related:
        """Remove an edge."""
        return await relate.unrelate(
            source, target, relation=relation, space=who.space, origin=self._origin(who), store=self.store,
            limits=self.limits,
        )  # fmt: skip

    async def rules(self, *, who: Caller) -> Rules:
        """What becomes of what is written into a space."""
        return (await ruling.statutes_of(who.space, default=self.default_rules, papers=self.store)).rules

    async def set_rules(self, changes: Mapping[str, Json], *, who: Caller) -> Rules:
        """Change rules of a space; null gives one back to the default."""
        return await ruling.set_rules(
            changes, space=who.space, now=self.clock.now(), default=self.default_rules, papers=self.store
        )

    async def tags(self, *, who: Caller, limit: int = 200) -> TagTable:
        """The tags of a space with how many memories have each, and what they stand for."""
        return await synonyms.table(who.space, store=self.store, limit=limit)

    async def add_synonyms(self, tag: str, variants: Sequence[str], *, who: Caller) -> TagTable:
        """Have other words stand for a tag from now on."""
        return await synonyms.add(tag, variants, space=who.space, store=self.store, now=self.clock.now())

    async def remove_synonyms(self, variants: Sequence[str], *, who: Caller) -> TagTable:
        """Have words stand for themselves again."""
        return await synonyms.remove(variants, space=who.space, store=self.store, now=self.clock.now())

    async def preview_tags(self, tags: Sequence[str], *, who: Caller, text: str = "") -> TagPreview:
        """What would become of tags, and which would be suggested for a text."""
        return await synonyms.preview(
            tags, text=text, space=who.space, rules=await self.rules(who=who), store=self.store, embedder=self.embedder
        )

    async def inbox(self, *, who: Caller, limit: int = 50) -> tuple[Memory, ...]:
        """What waits for a person's yes, the newest first."""
        return await review.inbox(who.space, store=self.store, limit=limit)

    async def approve(self, selection: Selection, *, who: Caller) -> Outcome:
        """Keep what waits."""
        done = await review.approve(selection, space=who.space, origin=self._origin(who), store=self.store)
        await self.index.after_commit()
        return done

    async def decline(self, selection: Selection, *, who: Caller) -> Outcome:
        """Put what waits into the trash."""
        done = await review.decline(selection, space=who.space, origin=self._origin(who), store=self.store)
        await self.index.after_commit()
        return done

    async def jobs(self, *, who: Caller, limit: int = 50) -> tuple[Job, ...]:
        """The work that is left for later and what came of it, the newest first."""
        return await self._queue.listed(who.space, limit=limit)

    async def retry_job(self, job_id: str, *, who: Caller) -> Job:
        """Have a job done again that failed."""
        job = await self._queue.retry(who.space, job_id)
        if self.workshop is not None:
            await self.workshop.take((job,), waits=False)
        return job

    async def cancel_job(self, job_id: str, *, who: Caller) -> Job:
        """Have a job not done after all."""
        return await self._queue.cancel(who.space, job_id)

    async def history(self, ref: str, *, who: Caller, limit: int = 20, before: int | None = None) -> History:
        """The versions of a memory."""
        space = await space_of(self.store, ref, spaces=who.spaces)
        return await history_of.history(ref, limit=limit, before=before, space=space, store=self.store)

    async def diff(self, ref: str, *, who: Caller, versions: Sequence[int]) -> History:
        """How one version became another."""
        space = await space_of(self.store, ref, spaces=who.spaces)
        return await history_of.compare(ref, versions=versions, space=space, store=self.store)

    async def revert(self, ref: str, *, who: Caller, to: int, message: str = "", idempotency_key: str = "") -> Written:
        """Go back to a version, as a new one."""
        done = await undoing.revert(
            ref, to=to, message=message, space=who.space, origin=self._origin(who), store=self.store,
            key=idempotency_key,
        )  # fmt: skip
        await self.index.after_commit()
        return done

    async def undo(self, *, who: Caller, run: str = "", idempotency_key: str = "") -> Undone:
        """Take back the last run of this agent, or a named one."""
        origin = replace(self._origin(who), run=new_id())
        done = await undoing.undo(
            run=label(require_text(run, field="run")), agent=origin.agent, space=who.space, origin=origin,
            store=self.store, key=idempotency_key,
        )  # fmt: skip
        await self.index.after_commit()
        return done

    async def outcome(self, runs: Sequence[str], *, who: Caller) -> dict[str, bool]:
        """Of each run, whether it has changed anything: for callers whose answer was lost."""
        found = {run: await self.store.run(who.space, label(require_text(run, field="run"))) for run in runs}
        return {run: changes is not None for run, changes in found.items()}

    async def status(self, *, who: Caller) -> Status:
        """Health and sizes."""
        found = await examining.status(await self._patient(), space=who.space)
        return found if self.llm is None else replace(found, llm=await self.llm.describe())

    async def ready(self) -> None:
        """See that the store can be used, at the cost of one question; raises what is wrong."""
        await self.store.last_place("")

    async def index_problem(self) -> str:
        """Why meanings cannot be searched for as they should, if they cannot."""
        return str((await self.index.describe()).get("problem", ""))

    async def doctor(self, *, who: Caller, deep: bool = False, repair: bool = False) -> Examination:
        """Look at everything, after repairing what can be when asked."""
        if repair:
            await self.repair()
        return await examining.doctor(await self._patient(), space=who.space, deep=deep)

    async def repair(self) -> None:
        """Do the upkeep that is due, embed what is missing, build the index anew."""
        await self.store.tidy()
        await self.embed_missing()
        await self.index.rebuild()

    async def backup(self, target: Path, *, progress: Progress | None = None) -> Path:
        """Copy the store to a file while it is in use; tells where that is."""
        await self.store.backup(target, progress=progress)
        return target

    async def create_token(self, wish: TokenWish) -> NewToken:
        """Let somebody in by HTTP; the secret is told here and never again."""
        return await admission.create(wish, tokens=self.store, now=self.clock.now())

    async def tokens(self) -> tuple[Token, ...]:
        """All tokens, oldest first, also those that open nothing any more."""
        return tuple(await self.store.tokens())

    async def revoke_token(self, ref: str) -> Token:
        """End a token by its id or name, at once and for good."""
        return await admission.revoke(ref, tokens=self.store, now=self.clock.now())

    def knowledge_graph(self, *, who: Caller, project: str = "", method: Method = Method.AGENT) -> KnowledgeGraph:
        """A space as entities and relations between them."""
        return KnowledgeGraph(
            desk=self._desk, mirrors=self.mirrors, clock=self.clock, space=who.space, origin=self._origin(who),
            source=Source(method=method, agent=label(who.agent)), settled=self.index.after_commit, project=project,
        )  # fmt: skip

    def export(self, *, who: Caller, format: str = FORMATS[0], progress: Progress | None = None) -> AsyncIterator[str]:
        """The lines of an export of a space: all there is, or its knowledge graph as the reference server keeps it."""
        if require_format(format) != FORMATS[0]:
            return export_graph(self.knowledge_graph(who=who), progress=progress)
        return export_lines(space=who.space, store=self.store, now=self.clock.now(), progress=progress)

    async def import_(self, lines: Lines, *, who: Caller, progress: Progress | None = None) -> Imported:
        """Take in an export, or a file of the reference knowledge-graph server; vectors follow by `embed_missing`."""
        if is_graph(lines):
            graph = self.knowledge_graph(who=who, method=Method.IMPORT)
            return await import_graph(lines, graph=graph, progress=progress)
        return await import_lines(lines, space=who.space, origin=self._origin(who), store=self.store, progress=progress)

    async def embed_missing(self, *, progress: Progress | None = None) -> int:
        """Embed what has no vector yet; without a model that is nothing, and `status` says so."""
        count = 0
        with suppress(EmbeddingUnavailable):
            count = await backfill(store=self.store, embedder=self.embedder, clock=self.clock, progress=progress)
        await self.index.after_commit()
        return count

    async def close(self) -> None:
        """Finish what was begun and let go of everything."""
        await self.visits.close()
        await self.index.close()
        await self.embedder.close()
        if self.reranker is not None:
            await self.reranker.close()
        if self.llm is not None:
            await self.llm.close()
        await self.store.close()

    async def _patient(self) -> examining.Patient:
        with suppress(EmbeddingUnavailable):
            await self.index.open()
        return examining.Patient(
            store=self.store, embedder=self.embedder, index=await self.index.describe(), data=self.data
        )

    @property
    def _desk(self) -> pipeline.Desk:
        return pipeline.Desk(
            store=self.store, embedder=self.embedder, limits=self.limits, index=self.index, rules=self.default_rules,
            flights=self.flights, has_llm=self.llm is not None,
        )  # fmt: skip

    @property
    def _queue(self) -> Queue:
        return Queue(papers=self.store, clock=self.clock)

    @property
    def _shelf(self) -> recalling.Shelf:
        return recalling.Shelf(
            store=self.store, embedder=self.embedder, index=self.index, limits=self.limits, ranking=self.ranking,
            mirrors=self.mirrors, answers=self.answers, reranker=self.reranker, rerank_top=self.rerank_top,
        )  # fmt: skip

    def _origin(self, who: Caller) -> Origin:
        return Origin(at=self.clock.now(), run=label(who.run) or new_id(), agent=label(who.agent))
