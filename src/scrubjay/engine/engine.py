"""The engine: one short method per verb, which passes its dependencies to a function of another package."""

from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar, cast

from scrubjay.auth import tokens as auth_tokens
from scrubjay.conflicts import listing as conflict_listing
from scrubjay.conflicts import scan
from scrubjay.conflicts.resolve import reopen, resolve_conflict
from scrubjay.engine import diagnostics
from scrubjay.engine.dependencies import EngineIndex, JobRunner, StoreOwner
from scrubjay.errors import EmbeddingUnavailable, InvalidInput
from scrubjay.graph import network, records, search, status
from scrubjay.graph.jsonl import FORMATS, is_graph, require_format
from scrubjay.graph.knowledge import KnowledgeGraph
from scrubjay.graph.transfer import export_graph, import_graph
from scrubjay.indexing.backfill import backfill, embed_memories
from scrubjay.indexing.unapplied import TransactionIndex
from scrubjay.jobs.queue import Queue
from scrubjay.lookup.references import space_of
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.change import Origin
from scrubjay.model.checks import require_integer, require_text
from scrubjay.model.conflict import ConflictDetails, Resolved, Scan
from scrubjay.model.draft import Caller, Draft, DraftBatch, Edit, Limits, Selection
from scrubjay.model.fact import Extracted
from scrubjay.model.identity import new_id
from scrubjay.model.job import CONFLICTS, Job, JobState
from scrubjay.model.memory import MAIN, Json, Memory, Method, Source
from scrubjay.model.query import Question, SearchText, TextsFound
from scrubjay.model.ranking import Ranking
from scrubjay.model.relation import LINK, Network
from scrubjay.model.results import (
    Context,
    DoctorReport,
    History,
    Outcome,
    ReadResult,
    Recalled,
    Related,
    Remembered,
    RememberedMany,
    Status,
    Undone,
    Written,
)
from scrubjay.model.rules import Rules
from scrubjay.model.tags import TagPreview, TagTable
from scrubjay.model.token import NewToken, Token, TokenRequest
from scrubjay.model.transfer import Imported, Lines
from scrubjay.ports import Clock, Embedder, Llm, MediaSource, Progress, RecordStore, Reranker
from scrubjay.recalling import context as session_context
from scrubjay.recalling import fulltext
from scrubjay.recalling import pipeline as recalling
from scrubjay.recalling import read as reading
from scrubjay.recalling.access_log import AccessLog
from scrubjay.recalling.answer_cache import AnswerCache
from scrubjay.recalling.text_cache import TextCaches, TextView
from scrubjay.transfer.export import export_lines, require_sections
from scrubjay.transfer.import_ import import_lines
from scrubjay.versions import branches
from scrubjay.versions import history as version_history
from scrubjay.versions import undo as undo_run
from scrubjay.versions.merge_branch import merge_branch
from scrubjay.versions.merge_fields import merge_records
from scrubjay.versions.revert import revert
from scrubjay.writing import delete, relate, review, revise, synonyms
from scrubjay.writing import pipeline as writing
from scrubjay.writing import rules as rules_of_spaces
from scrubjay.writing.batch import Batch, write_batch
from scrubjay.writing.context import InFlightWrites, WriteContext, WriteOutcome
from scrubjay.writing.many import remember_many
from scrubjay.writing.recheck import ConflictChecker
from scrubjay.writing.screen import redact_label

T = TypeVar("T")
# The number of entities that `search_nodes` finds by meaning, in addition to those found by name.
_MAX_SEMANTIC_NODES = 100
_NO_TOKEN_LIMIT = 1_000_000
_MAX_CONTEXT_CONFLICTS = 12
_MONTH = 30 * 24 * 60 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(StoreOwner):
    """The memory: its verbs, and the dependencies they work with."""

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
    media_source: MediaSource | None = None
    # Whether a worker runs queued jobs, here or on a server that shares the store.
    has_worker: bool = False

    async def remember(self, draft: Draft, *, who: Caller) -> Remembered:
        """Store a text once, under every entity it is about."""
        outcome = await writing.remember(draft, space=who.space, origin=self._origin(who), context=self._write_context)
        await self._queue_jobs(outcome)
        return outcome.answer

    async def remember_many(
        self, batch: DraftBatch, *, who: Caller, progress: Progress | None = None
    ) -> RememberedMany:  # fmt: skip
        """Store many texts, each as `remember` does, with one commit for each chunk of them."""
        return await remember_many(
            batch, space=who.space, origin=self._origin(who), context=self._write_context, hand_on=self._queue_jobs,
            progress=progress,
        )  # fmt: skip

    async def recall(self, question: Question, *, who: Caller, cursor: str = "") -> Recalled:
        """Find the memories that answer a question."""
        recalled = await recalling.recall(
            question, cursor=cursor, spaces=who.spaces, now=self.clock.now(), context=self._recall_context
        )
        self.access_log.note((hit.space, hit.id) for hit in (*recalled.pinned, *recalled.hits))
        return recalled

    async def search_text(self, request: SearchText, *, who: Caller) -> TextsFound:
        """Find memories by words, prefixes and phrases."""
        return await fulltext.search_text(
            request, spaces=who.spaces, now=self.clock.now(), limits=self.limits, store=self._store,
            text_caches=self.text_caches,
        )  # fmt: skip

    async def read(
        self,
        refs: Sequence[str],
        *,
        who: Caller,
        format: str = "markdown",
        version: int | None = None,
        branch: str = "",
        as_of: datetime | None = None,
    ) -> ReadResult:
        """Return whole memories by id, name or title, as they are or as they were."""
        result = await reading.read(
            refs, format=format, version=version, branch=branch, as_of=as_of, spaces=who.spaces, store=self._store
        )
        self.access_log.note((memory.space, memory.id) for memory in result.memories)
        return result

    async def revise(self, ref: str, edit: Edit, *, who: Caller) -> Written:
        """Change a memory; the previous state remains as a version."""
        return await self._apply(
            revise.revise(ref, edit, space=who.space, origin=self._origin(who), context=self._write_context)
        )

    async def write_batch(self, batch: Batch, *, who: Caller, embed: bool = True) -> tuple[ConflictDetails, ...]:
        """Apply several writes atomically, without merging or gating them."""
        conflicts = await write_batch(
            batch, space=who.space, origin=self._origin(who), context=self._write_context, embed=embed
        )
        await self.index.after_commit()
        return conflicts

    async def forget(self, selection: Selection, *, who: Caller) -> Outcome:
        """Move memories to the trash."""
        return await self._apply(delete.forget(selection, space=who.space, origin=self._origin(who), store=self._store))

    async def restore(self, selection: Selection, *, who: Caller) -> Outcome:
        """Restore memories from the trash."""
        return await self._apply(delete.restore(
            selection, space=who.space, origin=self._origin(who), store=self._store,
            conflict_checker=self._conflict_checker,
        ))  # fmt: skip

    async def purge(self, selection: Selection, *, who: Caller) -> Outcome:
        """Destroy memories in the trash."""
        result = await delete.purge(selection, space=who.space, origin=self._origin(who), store=self._store)
        if result.done and not result.dry_run:
            self.answers.clear()
            await self.index.after_purge()
        return result

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
        """Set a relation between two memories."""
        return await self._apply(relate.relate(
            source, target, relation=relation, text=text, strength=strength, metadata=metadata or {}, space=who.space,
            origin=self._origin(who), store=self._store, limits=self.limits, rules=self.default_rules,
        ))  # fmt: skip

    async def unrelate(self, source: str, target: str, *, who: Caller, relation: str = LINK) -> Related:
        """Remove a relation."""
        return await self._apply(relate.unrelate(
            source, target, relation=relation, space=who.space, origin=self._origin(who), store=self._store,
            limits=self.limits,
        ))  # fmt: skip

    async def history(
        self, ref: str, *, who: Caller, limit: int = 20, before: int | None = None, branch: str = ""
    ) -> History:
        """Return the versions of a memory."""
        space = await space_of(self._store, ref, spaces=who.spaces)
        return await version_history.history(
            ref, limit=limit, before=before, branch=branch, space=space, store=self._store
        )

    async def diff(self, ref: str, *, who: Caller, versions: Sequence[int | str], branch: str = "") -> History:
        """Compare two versions; the name of a branch means its newest version."""
        space = await space_of(self._store, ref, spaces=who.spaces)
        return await version_history.compare(ref, versions=versions, branch=branch, space=space, store=self._store)

    async def revert(
        self, ref: str, *, who: Caller, to: int, message: str = "", branch: str = "", idempotency_key: str = ""
    ) -> Written:
        """Restore an earlier version as a new one."""
        return await self._apply(revert(
            ref, to=to, message=message, branch=branch, space=who.space, origin=self._origin(who), store=self._store,
            key=idempotency_key, conflict_checker=self._conflict_checker,
        ))  # fmt: skip

    async def commit(
        self, ref: str, *, who: Caller, message: str, branch: str = "", idempotency_key: str = ""
    ) -> Written:
        """Create a version with a message and unchanged content."""
        return await self._apply(branches.commit(
            ref, message=message, branch=branch, space=who.space, origin=self._origin(who),
            context=self._write_context, key=idempotency_key,
        ))  # fmt: skip

    async def branch(
        self, ref: str, name: str, *, who: Caller, description: str = "", at: int | None = None, switch: bool = False
    ) -> Branches:
        """Create a branch of a memory."""
        return await self._apply(branches.branch(
            ref, name, description=description, at=at, switch=switch, space=who.space, origin=self._origin(who),
            context=self._write_context,
        ))  # fmt: skip

    async def branches(self, ref: str, *, who: Caller) -> Branches:
        """Return the branches of a memory."""
        space = await space_of(self._store, ref, spaces=who.spaces)
        return await branches.branches(ref, space=space, store=self._store)

    async def switch(self, ref: str, name: str, *, who: Caller) -> Branches:
        """Make another branch the current one of a memory."""
        return await branches.switch(ref, name, space=who.space, origin=self._origin(who), store=self._store)

    async def drop_branch(self, ref: str, name: str, *, who: Caller) -> Branches:
        """Move a branch to the trash."""
        return await self._apply(branches.drop(ref, name, space=who.space, origin=self._origin(who), store=self._store))

    async def merge_branch(
        self,
        ref: str,
        name: str,
        *,
        who: Caller,
        into: str = MAIN,
        prefer: str = "",
        message: str = "",
        idempotency_key: str = "",
    ) -> BranchMerged:
        """Merge a branch into another; conflicts are reported, and then nothing is written."""
        return await self._apply(merge_branch(
            ref, name, into=into, prefer=prefer, message=message, space=who.space, origin=self._origin(who),
            context=self._write_context, key=idempotency_key,
        ))  # fmt: skip

    async def undo(self, *, who: Caller, run: str = "", idempotency_key: str = "") -> Undone:
        """Undo the last run of this agent, or a named one."""
        origin = replace(self._origin(who), run=new_id())
        result = await undo_run.undo(
            run=redact_label(require_text(run, field="run")), agent=origin.agent, space=who.space, origin=origin,
            store=self._store, key=idempotency_key,
        )  # fmt: skip
        await reopen(result, space=who.space, store=self._store)
        await self.index.after_commit()
        return result

    async def outcome(self, runs: Sequence[str], *, who: Caller) -> dict[str, bool]:
        """Return for each run whether it committed a change, for callers whose answer was lost."""
        logged = {run: await self._store.run(who.space, redact_label(require_text(run, field="run"))) for run in runs}
        return {run: changes is not None for run, changes in logged.items()}

    async def graph(
        self,
        refs: Sequence[str],
        *,
        who: Caller,
        depth: int = 1,
        types: Sequence[str] = (),
        direction: str = "both",
        limit: int = 200,
        as_of: datetime | None = None,
    ) -> Network:
        """Return the memories that relations connect to the given ones."""
        space = await space_of(self._store, refs[0], spaces=who.spaces) if refs else who.space
        return await network.neighbourhood(
            refs, depth=depth, types=types, direction=direction, limit=limit, as_of=as_of, space=space,
            store=self._store,
        )  # fmt: skip

    async def path(
        self,
        source: str,
        target: str,
        *,
        who: Caller,
        types: Sequence[str] = (),
        direction: str = "both",
        most: int = 6,
        as_of: datetime | None = None,
    ) -> Network:
        """Return a shortest path from one memory to another."""
        space = await space_of(self._store, source, spaces=who.spaces)
        return await network.find_path(
            source, target, types=types, direction=direction, most=most, as_of=as_of, space=space, store=self._store
        )

    async def conflicts(
        self, *, who: Caller, status: str = "pending", ref: str = "", limit: int = 50
    ) -> tuple[ConflictDetails, ...]:
        """Return the conflicts of a space, or of one memory."""
        return await conflict_listing.conflicts(
            status=status, ref=ref, limit=limit, now=self.clock.now(), space=who.space, store=self._store
        )

    async def probe_conflicts(
        self, drafts: Sequence[Draft], *, who: Caller, threshold: float = 0.5
    ) -> tuple[tuple[ConflictDetails, ...], ...]:
        """Return the conflicts that each draft would have if it were stored."""
        return await scan.check_drafts(
            drafts, threshold=threshold, space=who.space, origin=self._origin(who), context=self._write_context
        )

    async def scan_conflicts(self, *, who: Caller, limit: int = 50, progress: Progress | None = None) -> Scan:
        """Scan the whole space for conflicts."""
        return await scan.scan(
            limit=limit, space=who.space, origin=self._origin(who), context=self._write_context, progress=progress
        )

    async def scan_memory(self, memory_id: str, *, who: Caller) -> int | None:
        """Scan one memory for conflicts; returns the number of new ones, None if it does not exist."""
        return await scan.scan_memory(memory_id, space=who.space, origin=self._origin(who), context=self._write_context)

    async def scan_later(self, *, who: Caller, after: int = 0) -> Job:
        """Queue a scan of the whole space after a delay in seconds; a waiting scan is reused."""
        due = self.clock.now() + timedelta(seconds=require_integer(after, field="after", least=0, most=_MONTH))
        for job in await self._queue.list_jobs(who.space, limit=200):
            if job.kind == CONFLICTS and job.state is JobState.WAITING and not job.about:
                return job
        job = await self._queue.enqueue(CONFLICTS, {}, space=who.space, due=due)
        if self.job_runner is not None:
            await self.job_runner.take((job,), waits=False)
        return job

    async def resolve_conflict(
        self,
        conflict_id: str,
        *,
        who: Caller,
        strategy: str = "auto",
        notes: str = "",
        branch: str = "",
        idempotency_key: str = "",
    ) -> Resolved:
        """Resolve a conflict; `undo` takes it back."""
        return await self._apply(resolve_conflict(
            conflict_id, strategy=strategy, notes=notes, branch=branch, space=who.space, origin=self._origin(who),
            context=self._write_context, combine=merge_records, key=idempotency_key,
        ))  # fmt: skip

    async def entity(self, ref: str, *, who: Caller) -> Memory:
        """Return the entity of a name or id, following merges."""
        return await records.resolve_entity(ref, space=who.space, store=self._store)

    async def entity_named(self, name: str, *, who: Caller) -> Memory | None:
        """Return the entity with exactly this name, following merges; None without one."""
        return await records.find_entity(name, space=who.space, store=self._store)

    async def entities(self, ids: Sequence[str], *, who: Caller) -> dict[str, Memory]:
        """Return entities by id, in any state, without counting a read."""
        return await self._store.get(who.space, list(dict.fromkeys(ids)))

    def note_reads(self, ids: Iterable[str], *, who: Caller) -> None:
        """Count a read of each of these memories."""
        self.access_log.note((who.space, memory_id) for memory_id in ids)

    async def texts(self, view: TextView, *, space: str) -> dict[str, str]:
        """Return the texts of all memories of a view, by id."""
        return await self.text_caches.all_texts(view, space=space, store=self._store)

    async def create_entities(self, entities: Sequence[Mapping[str, Json]], *, who: Caller) -> dict[str, Json]:
        """Create or update entities by name."""
        return await self._apply(
            records.create_entities(entities, space=who.space, origin=self._origin(who), context=self._write_context)
        )

    async def update_entity(self, ref: str, changes: Mapping[str, Json], *, who: Caller) -> dict[str, Json]:
        """Change fields of an entity."""
        return await self._apply(
            records.update_entity(ref, changes, space=who.space, origin=self._origin(who), context=self._write_context)
        )

    async def search_nodes(self, query: str, *, who: Caller, limit: int = 10) -> dict[str, Json]:
        """Find entities by name, type and meaning; pinned ones come first."""
        semantic = Recalled(hits=())
        if query.strip():
            question = Question(
                query=query, limit=min(max(1, limit), _MAX_SEMANTIC_NODES), max_tokens=_NO_TOKEN_LIMIT, detail="full"
            )
            semantic = await recalling.recall(
                question, cursor="", spaces=(who.space,), now=self.clock.now(), context=self._recall_context
            )
        nodes = await search.search_nodes(
            query, limit=limit, recalled=semantic, now=self.clock.now(), space=who.space, store=self._store,
            text_caches=self.text_caches,
        )  # fmt: skip
        self.access_log.note((who.space, str(node["id"])) for node in cast("list[dict[str, Json]]", nodes["results"]))
        return nodes

    async def get_memory_status(self, *, who: Caller) -> dict[str, Json]:
        """Return counts by type and tier, sizes and versions."""
        return await status.memory_status(space=who.space, store=self._store)

    async def context(self, *, who: Caller, session: str = "", project: str = "", max_tokens: int = 1500) -> Context:
        """Return the context for the start of a session."""
        return await session_context.context(
            session=session, project=project, max_tokens=max_tokens,
            conflicts=await self.conflicts(who=who, limit=_MAX_CONTEXT_CONFLICTS), now=self.clock.now(),
            space=who.space, store=self._store,
        )  # fmt: skip

    async def extract(
        self,
        text: str,
        *,
        who: Caller,
        session: str = "",
        store: bool = True,
        format: str = "auto",
        method: str = "auto",
        project: str = "",
        me: str = "",
        trusted: bool = True,
        progress: Progress | None = None,
    ) -> Extracted:
        """Extract the facts of a conversation, and store them."""
        # Its patterns take a tenth of the start time of a process, and few calls need them.
        from scrubjay.extraction.extract import extract  # noqa: PLC0415

        return await extract(
            text, session=session, store=store, format=format, method=method, project=project, me=me, trusted=trusted,
            space=who.space, origin=self._origin(who), context=self._write_context, llm=self.llm,
            hand_on=self._queue_jobs, progress=progress,
        )  # fmt: skip

    async def rules(self, *, who: Caller) -> Rules:
        """Return the rules of a space."""
        return (await rules_of_spaces.load_rules(who.space, default=self.default_rules, documents=self._store)).rules

    async def set_rules(self, changes: Mapping[str, Json], *, who: Caller) -> Rules:
        """Change rules of a space; null restores a default."""
        return await rules_of_spaces.set_rules(
            changes, space=who.space, now=self.clock.now(), default=self.default_rules, documents=self._store
        )

    async def tags(self, *, who: Caller, limit: int = 200) -> TagTable:
        """Return the tags of a space with their counts, and their synonyms."""
        return await synonyms.table(who.space, store=self._store, limit=limit)

    async def add_synonyms(self, tag: str, variants: Sequence[str], *, who: Caller) -> TagTable:
        """Make other words synonyms of a tag."""
        return await synonyms.add(tag, variants, space=who.space, store=self._store, now=self.clock.now())

    async def remove_synonyms(self, variants: Sequence[str], *, who: Caller) -> TagTable:
        """Remove synonyms: the words become tags of their own again."""
        return await synonyms.remove(variants, space=who.space, store=self._store, now=self.clock.now())

    async def preview_tags(self, tags: Sequence[str], *, who: Caller, text: str = "") -> TagPreview:
        """Preview the normalization of tags, and suggest tags for a text."""
        return await synonyms.preview(
            tags, text=text, space=who.space, rules=await self.rules(who=who), store=self._store, embedder=self.embedder
        )

    async def inbox(self, *, who: Caller, limit: int = 50) -> tuple[Memory, ...]:
        """Return the memories that wait for approval, newest first."""
        return await review.inbox(who.space, store=self._store, limit=limit)

    async def approve(self, selection: Selection, *, who: Caller) -> Outcome:
        """Approve waiting memories."""
        return await self._apply(review.approve(
            selection, space=who.space, origin=self._origin(who), store=self._store,
            conflict_checker=self._conflict_checker,
        ))  # fmt: skip

    async def decline(self, selection: Selection, *, who: Caller) -> Outcome:
        """Move waiting memories to the trash."""
        return await self._apply(
            review.decline(selection, space=who.space, origin=self._origin(who), store=self._store)
        )

    async def jobs(self, *, who: Caller, limit: int = 50) -> tuple[Job, ...]:
        """Return queued and finished jobs, newest first."""
        return await self._queue.list_jobs(who.space, limit=limit)

    async def retry_job(self, job_id: str, *, who: Caller) -> Job:
        """Run a failed job again."""
        job = await self._queue.retry(who.space, job_id)
        if self.job_runner is not None:
            await self.job_runner.take((job,), waits=False)
        return job

    async def cancel_job(self, job_id: str, *, who: Caller) -> Job:
        """Cancel a job."""
        return await self._queue.cancel(who.space, job_id)

    def knowledge_graph(self, *, who: Caller, project: str = "", method: Method = Method.AGENT) -> KnowledgeGraph:
        """Return a space as a graph of entities and relations."""
        return KnowledgeGraph(
            context=self._write_context, text_caches=self.text_caches, clock=self.clock, space=who.space,
            origin=self._origin(who),
            source=Source(method=method, agent=redact_label(who.agent)), after_commit=self.index.after_commit,
            project=project,
        )  # fmt: skip

    def export(
        self,
        *,
        who: Caller,
        format: str = FORMATS[0],
        include: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> AsyncIterator[str]:
        """Return the lines of an export: the whole space, or its knowledge graph in the reference server's format.

        `include` adds optional sections: documents, answers, vectors.
        """
        sections = require_sections(include)
        if require_format(format) != FORMATS[0]:
            if sections:
                raise InvalidInput(f"the format {format} has no sections", hint="Export without them", field="include")
            return export_graph(self.knowledge_graph(who=who), progress=progress)
        now = self.clock.now()
        return export_lines(space=who.space, store=self._store, now=now, include=sections, progress=progress)

    async def import_(
        self, lines: Lines, *, who: Caller, with_sections: bool = True, progress: Progress | None = None
    ) -> Imported:
        """Import an export, or a file of the reference knowledge-graph server; `embed_missing` adds the vectors.

        `with_sections` accepts the optional sections of an export, which only the owner may import.
        """
        if is_graph(lines):
            graph = self.knowledge_graph(who=who, method=Method.IMPORT)
            return await import_graph(lines, graph=graph, progress=progress)
        return await import_lines(
            lines, space=who.space, origin=self._origin(who), store=self._store, with_sections=with_sections,
            progress=progress,
        )  # fmt: skip

    async def embed_missing(self, *, progress: Progress | None = None) -> int:
        """Embed texts without a vector; returns their number."""
        count = 0
        with suppress(EmbeddingUnavailable):
            count = await backfill(
                store=self._store, embedder=self.embedder, clock=self.clock, media_source=self.media_source,
                progress=progress,
            )  # fmt: skip
        await self.index.after_commit()
        return count

    async def embed_memories(self, ids: Sequence[str], *, who: Caller) -> int:
        """Embed the texts and images of some memories that have no vector; returns the number of new vectors."""
        return await self._apply(embed_memories(
            who.space, ids, store=self._store, embedder=self.embedder, clock=self.clock,
            media_source=self.media_source,
        ))  # fmt: skip

    async def status(self, *, who: Caller) -> Status:
        """Return health and sizes."""
        status = await diagnostics.status(await self._subject(), space=who.space)
        return status if self.llm is None else replace(status, llm=await self.llm.describe())

    async def ready(self) -> None:
        """Check with one query that the store works; raises its error."""
        await self._store.last_place("")

    async def index_problem(self) -> str:
        """Return the problem of the vector index, or an empty text."""
        return str((await self.index.describe()).get("problem", ""))

    async def doctor(self, *, who: Caller, deep: bool = False, repair: bool = False) -> DoctorReport:
        """Check everything, after repairing what can be repaired if `repair` is set."""
        trashed = await self.repair(who=who) if repair else ()
        return await diagnostics.doctor(await self._subject(), space=who.space, deep=deep, trashed=trashed)

    async def repair(self, *, who: Caller) -> tuple[str, ...]:
        """Run maintenance, embed missing vectors and rebuild the index; returns the branches without a memory."""
        await self._store.tidy()
        lost = await diagnostics.lost_branches(self._store, space=who.space)
        if lost:
            selection = Selection(refs=tuple(lost), reason="its memory is gone")
            await delete.forget(selection, space=who.space, origin=self._origin(who), store=self._store)
        await self.embed_missing()
        await self.index.rebuild()
        return tuple(lost)

    async def backup(self, target: Path, *, progress: Progress | None = None) -> Path:
        """Copy the store to a file while it is in use; returns the path of the copy."""
        await self._store.backup(target, progress=progress)
        return target

    async def create_token(self, request: TokenRequest) -> NewToken:
        """Create a token for access over HTTP; only this answer contains its secret."""
        return await auth_tokens.create(request, tokens=self._store, now=self.clock.now())

    async def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, oldest first, including expired and revoked ones."""
        return tuple(await self._store.tokens())

    async def revoke_token(self, ref: str) -> Token:
        """Revoke a token by its id or name, at once and for good."""
        return await auth_tokens.revoke(ref, tokens=self._store, now=self.clock.now())

    async def _subject(self) -> diagnostics.Subject:
        with suppress(EmbeddingUnavailable):
            await self.index.open()
        return diagnostics.Subject(
            store=self._store, embedder=self.embedder, index=await self.index.describe(), data=self.data
        )

    async def close(self) -> None:
        """Finish pending work and release all resources."""
        await self.access_log.close()
        await self.index.close()
        await self.embedder.close()
        if self.reranker is not None:
            await self.reranker.close()
        if self.llm is not None:
            await self.llm.close()
        await self._store.close()

    @property
    def _write_context(self) -> WriteContext:
        return WriteContext(
            store=self._store, embedder=self.embedder, limits=self.limits, index=self.index,
            open_index=self._open_index, rules=self.default_rules, in_flight=self.in_flight,
            has_llm=self.llm is not None, defers=self.has_worker,
        )  # fmt: skip

    async def _open_index(self, store: RecordStore, space: str) -> TransactionIndex:
        profile = await self.embedder.profile()
        return await TransactionIndex.open(self.index, store, model=profile.model, space=space)

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

    def _origin(self, who: Caller) -> Origin:
        return Origin(at=self.clock.now(), run=redact_label(who.run) or new_id(), agent=redact_label(who.agent))
