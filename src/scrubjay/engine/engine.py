"""The engine: one short method per verb, which passes its dependencies to a function of another package."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path

from scrubjay.auth import tokens as auth_tokens
from scrubjay.conflicts import listing as conflict_listing
from scrubjay.conflicts import scan
from scrubjay.conflicts.duplicates import duplicates
from scrubjay.conflicts.resolve import reopen, resolve_conflict
from scrubjay.engine import diagnostics
from scrubjay.engine.dependencies import EngineBase
from scrubjay.errors import EmbeddingUnavailable, InvalidInput, NotFound
from scrubjay.graph import network, records, search, status
from scrubjay.graph.jsonl import FORMATS, is_graph, require_format
from scrubjay.graph.knowledge import KnowledgeGraph
from scrubjay.graph.transfer import export_graph, import_graph
from scrubjay.indexing.backfill import backfill, embed_memories
from scrubjay.lookup.references import space_of
from scrubjay.model import requests
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.caller import Caller
from scrubjay.model.conflict import ConflictDetails, Duplicates, Resolved, Scan
from scrubjay.model.decay import as_shown
from scrubjay.model.draft import DraftBatch, as_draft, read_draft
from scrubjay.model.fact import Extracted
from scrubjay.model.health import HealthReport
from scrubjay.model.identity import new_id
from scrubjay.model.job import CONFLICTS, Job, JobState
from scrubjay.model.memory import Json, Memory, Method, Source, trust_of
from scrubjay.model.query import TextsFound
from scrubjay.model.relation import Network
from scrubjay.model.results import (
    Context,
    DoctorReport,
    DueReminders,
    History,
    Outcome,
    ReadResult,
    Recalled,
    Reembedded,
    Related,
    Remembered,
    RememberedMany,
    Status,
    Summary,
    Undone,
    Usage,
    Written,
)
from scrubjay.model.rules import Rules
from scrubjay.model.tags import TagPreview, TagTable
from scrubjay.model.token import NewToken, Token
from scrubjay.model.transfer import Imported, Lines
from scrubjay.ports import Progress
from scrubjay.recalling import context as session_context
from scrubjay.recalling import fulltext
from scrubjay.recalling import pipeline as recalling
from scrubjay.recalling import read as reading
from scrubjay.recalling.near import suggest
from scrubjay.recalling.reminders import due
from scrubjay.recalling.render import with_relevance
from scrubjay.recalling.summary import as_prose, summarize
from scrubjay.recalling.text_cache import TextView
from scrubjay.transfer.export import export_lines, require_sections
from scrubjay.transfer.import_ import Screening, import_lines
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
from scrubjay.writing.confirm import confirm
from scrubjay.writing.deny import require_allowed_memory
from scrubjay.writing.many import remember_many
from scrubjay.writing.screen import redact_label, screen_history, screen_relation

_MAX_CONTEXT_CONFLICTS = 12
_EXTRACTION = "scrubjay.extraction.extract"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(EngineBase):
    """The memory: its verbs."""

    async def remember(self, request: requests.RememberRequest, *, who: Caller) -> Remembered:
        """Store a text once, under every entity it is about."""
        draft = as_draft(request, agent=who.agent)
        outcome = await writing.remember(draft, space=who.space, origin=self._origin(who), context=self._write_context)
        await self._queue_jobs(outcome)
        return outcome.answer

    async def remember_many(
        self, request: requests.RememberManyRequest, *, who: Caller, progress: Progress | None = None
    ) -> RememberedMany:  # fmt: skip
        """Store many texts, each as `remember` does, with one commit for each chunk of them."""
        batch = DraftBatch(
            drafts=[read_draft(item, agent=who.agent) for item in request.items], atomic=request.atomic,
            idempotency_key=request.idempotency_key, dry_run=request.dry_run,
        )  # fmt: skip
        return await remember_many(
            batch, space=who.space, origin=self._origin(who), context=self._write_context, hand_on=self._queue_jobs,
            progress=progress,
        )  # fmt: skip

    async def recall(self, request: requests.RecallRequest, *, who: Caller) -> Recalled:
        """Find the memories that answer a question."""
        recalled = await recalling.recall(
            request, spaces=who.spaces, now=self.clock.now(), context=self._recall_context
        )  # fmt: skip
        self.access_log.note((hit.space, hit.id) for hit in recalled.pinned)
        self.access_log.note_question(
            # A later page is the same question.
            "" if request.cursor else request.query, [(hit.space, hit.id) for hit in recalled.hits], space=who.space,
            is_answered=bool(recalled.hits) and not recalled.nothing_relevant,
        )  # fmt: skip
        return with_relevance(recalled, at=request.as_of or self.clock.now())

    async def search_text(self, request: requests.SearchTextRequest, *, who: Caller) -> TextsFound:
        """Find memories by words, prefixes and phrases."""
        return await fulltext.search_text(
            request, spaces=who.spaces, now=self.clock.now(), limits=self.limits, store=self._store,
            text_caches=self.text_caches,
        )  # fmt: skip

    async def read(self, request: requests.ReadRequest, *, who: Caller) -> ReadResult:
        """Return whole memories by id, name or title, as they are or as they were."""
        result = await reading.read(request, spaces=who.spaces, now=self.clock.now(), store=self._store)
        self.access_log.note_reads([(memory.space, memory.id) for memory in result.memories])
        return result

    async def revise(self, request: requests.ReviseRequest, *, who: Caller) -> Written:
        """Change a memory; the previous state remains as a version."""
        edit = request.edit
        if edit.source is not None and not edit.source.agent:
            edit = replace(edit, source=replace(edit.source, agent=who.agent))
        return await self.apply_edit(request.id, edit, who=who)

    async def apply_edit(self, ref: str, edit: requests.Edit, *, who: Caller) -> Written:
        """Change a memory, in ways that only other parts of the program use."""
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

    async def forget(self, request: requests.ForgetRequest, *, who: Caller) -> Outcome:
        """Move memories to the trash."""
        return await self._apply(delete.forget(request, space=who.space, origin=self._origin(who), store=self._store))

    async def restore(self, request: requests.RestoreRequest, *, who: Caller) -> Outcome:
        """Restore memories from the trash."""
        return await self._apply(delete.restore(
            request, space=who.space, origin=self._origin(who), store=self._store,
            conflict_checker=self._conflict_checker,
        ))  # fmt: skip

    async def confirm(self, request: requests.ConfirmRequest, *, who: Caller) -> Outcome:
        """Confirm that memories still hold."""
        return await self._apply(confirm(request, space=who.space, origin=self._origin(who), store=self._store))

    async def purge(self, request: requests.PurgeRequest, *, who: Caller) -> Outcome:
        """Destroy memories in the trash."""
        result = await delete.purge(
            request, space=who.space, origin=self._origin(who), store=self._store, derived=request.derived,
            forget_traces=partial(self._usage.forget, space=who.space),
        )  # fmt: skip
        if result.done and not result.dry_run:
            self.answers.clear()
            await self.index.after_purge()
            if self.curator is not None:
                await self.curator.forget({memory.id for memory in result.done}, space=who.space, run=who.run)
            if self.programs is not None:
                await self.programs.forget(who.space)
        return result

    async def relate(self, request: requests.RelateRequest, *, who: Caller) -> Related:
        """Set a relation between two memories."""
        return await self._apply(relate.relate(
            request, space=who.space, origin=self._origin(who), store=self._store, limits=self.limits,
            rules=self.default_rules,
        ))  # fmt: skip

    async def unrelate(self, request: requests.UnrelateRequest, *, who: Caller) -> Related:
        """Remove a relation."""
        return await self._apply(relate.unrelate(
            request, space=who.space, origin=self._origin(who), store=self._store, limits=self.limits
        ))  # fmt: skip

    async def history(self, request: requests.HistoryRequest, *, who: Caller) -> History:
        """Return the versions of a memory, or compare two of them."""
        space = await space_of(self._store, request.id, spaces=who.spaces)
        if request.diff is not None:
            return await version_history.compare(
                request.id, versions=request.diff, branch=request.branch, space=space, store=self._store
            )
        return await version_history.history(
            request.id, limit=request.limit, before=request.before, branch=request.branch, space=space,
            store=self._store,
        )  # fmt: skip

    async def revert(self, request: requests.RevertRequest, *, who: Caller) -> Written:
        """Restore an earlier version as a new one."""
        return await self._apply(revert(
            request.id, to=request.to, message=request.message, branch=request.branch, space=who.space,
            origin=self._origin(who), store=self._store, key=request.idempotency_key,
            conflict_checker=self._conflict_checker,
        ))  # fmt: skip

    async def commit(self, request: requests.CommitRequest, *, who: Caller) -> Written:
        """Create a version with a message and unchanged content, or label the current one."""
        return await self._apply(branches.commit(
            request.id, message=request.message, branch=request.branch, space=who.space, origin=self._origin(who),
            context=self._write_context, key=request.idempotency_key, label=request.label,
        ))  # fmt: skip

    async def branch(self, request: requests.BranchRequest, *, who: Caller) -> Branches:
        """Create a branch of a memory."""
        return await self._apply(branches.branch(
            request.id, request.name, description=request.description, at=request.at, switch=request.switch,
            space=who.space, origin=self._origin(who), context=self._write_context,
        ))  # fmt: skip

    async def branches(self, request: requests.BranchesRequest, *, who: Caller) -> Branches:
        """Return the branches of a memory."""
        space = await space_of(self._store, request.id, spaces=who.spaces)
        return await branches.branches(request.id, space=space, store=self._store)

    async def switch(self, request: requests.SwitchRequest, *, who: Caller) -> Branches:
        """Make another branch the current one of a memory."""
        return await branches.switch(
            request.id, request.name, space=who.space, origin=self._origin(who), store=self._store
        )

    async def drop_branch(self, request: requests.DropBranchRequest, *, who: Caller) -> Branches:
        """Move a branch to the trash."""
        return await self._apply(
            branches.drop(request.id, request.name, space=who.space, origin=self._origin(who), store=self._store)
        )

    async def merge_branch(self, request: requests.MergeBranchRequest, *, who: Caller) -> BranchMerged:
        """Merge a branch into another; conflicts are reported, and then nothing is written."""
        return await self._apply(merge_branch(
            request.id, request.name, into=request.into, prefer=request.prefer, message=request.message,
            space=who.space, origin=self._origin(who), context=self._write_context, key=request.idempotency_key,
        ))  # fmt: skip

    async def undo(self, request: requests.UndoRequest, *, who: Caller) -> Undone:
        """Undo the last run of this agent, or a named one."""
        origin = replace(self._origin(who), run=new_id())

        async def begin(run: str) -> None:
            if self.curator is not None:
                await self.curator.mark_undone(run, space=who.space, is_complete=False)

        run = redact_label(request.run)
        try:
            result = await undo_run.undo(
                run=run, agent=origin.agent, space=who.space, origin=origin, store=self._store,
                key=request.idempotency_key, begin=begin,
            )  # fmt: skip
        except NotFound:
            if self.curator is None or origin.is_agent or not await self.curator.has_run(run, space=who.space):
                raise
            raise NotFound(f"run {run!r} has changed nothing: there is nothing to take back", run=run) from None
        await reopen(result, space=who.space, store=self._store)
        if self.curator is not None:
            await self.curator.mark_undone(result.run, space=who.space)
        await self.index.after_commit()
        return result

    async def outcome(self, request: requests.OutcomeRequest, *, who: Caller) -> dict[str, bool]:
        """Return for each run whether it committed a change, for callers whose answer was lost."""
        logged = {run: await self._store.run(who.space, redact_label(run)) for run in request.runs}
        return {run: changes is not None for run, changes in logged.items()}

    async def graph(self, request: requests.GraphRequest, *, who: Caller) -> Network:
        """Return the memories that relations connect to the given ones."""
        space = await space_of(self._store, request.ids[0], spaces=who.spaces) if request.ids else who.space
        return await network.neighbourhood(
            request.ids, depth=request.depth, types=request.types, direction=request.direction, limit=request.limit,
            as_of=request.as_of, space=space, store=self._store,
        )  # fmt: skip

    async def related(self, request: requests.RelatedRequest, *, who: Caller) -> Network:
        """Return the memories that relations of a memory lead to, and some that are near it by meaning."""
        graph = requests.GraphRequest(
            ids=(request.id,), types=request.types, direction=request.direction, limit=request.limit,
            as_of=request.as_of,
        )  # fmt: skip
        network = await self.graph(graph, who=who)
        if not request.suggest or request.as_of is not None or not network.nodes:
            return network
        space, start = await space_of(self._store, request.id, spaces=who.spaces), network.nodes[0].id
        memory = (await self._store.get(space, [start])).get(start)
        if memory is None:
            return network
        suggested = await suggest(
            memory, related=[node.id for node in network.nodes[1:]], limit=request.suggest, now=self.clock.now(),
            store=self._store, index=self.index, embedder=self.embedder,
        )  # fmt: skip
        return replace(network, suggested=suggested)

    async def due(self, request: requests.DueRequest, *, who: Caller) -> DueReminders:
        """Return the memories whose reminder is due."""
        return await due(request, space=who.space, now=self.clock.now(), store=self._store)

    async def summarize(self, request: requests.SummarizeRequest, *, who: Caller) -> Summary:
        """Summarize the memories that pass a filter."""
        summary = await summarize(
            request, space=who.space, now=self.clock.now(), store=self._store, embedder=self.embedder
        )  # fmt: skip
        if not request.prose:
            return summary
        llm = self.llm if (await self._rules(who.space)).llm != "off" else None
        join = None if llm is None or self.curator is None else partial(self.curator.join_statements, llm=llm)
        return await as_prose(summary, join=join)

    async def usage(self, request: requests.UsageRequest, *, who: Caller) -> Usage:
        """Return what is asked of a space, and what is found and read."""
        return await self._usage.usage(request, space=who.space, unread_but=self.access_log.pending(who.space))

    async def path(self, request: requests.PathRequest, *, who: Caller) -> Network:
        """Return a shortest path from one memory to another."""
        space = await space_of(self._store, request.source, spaces=who.spaces)
        return await network.find_path(
            request.source, request.target, types=request.types, direction=request.direction, most=request.most,
            as_of=request.as_of, space=space, store=self._store,
        )  # fmt: skip

    async def conflicts(self, request: requests.ConflictsRequest, *, who: Caller) -> tuple[ConflictDetails, ...]:
        """Return the conflicts of a space, or of one memory."""
        return await conflict_listing.conflicts(
            status=request.status, ref=request.id, limit=request.limit, now=self.clock.now(), space=who.space,
            store=self._store,
        )  # fmt: skip

    async def probe_conflicts(
        self, request: requests.ProbeConflictsRequest, *, who: Caller
    ) -> tuple[tuple[ConflictDetails, ...], ...]:  # fmt: skip
        """Return the conflicts that each draft would have if it were stored."""
        drafts = [as_draft(draft, agent=who.agent) for draft in request.drafts]
        return await scan.check_drafts(
            drafts, threshold=request.threshold, space=who.space, origin=self._origin(who), context=self._write_context
        )

    async def scan_conflicts(
        self, request: requests.ScanConflictsRequest, *, who: Caller, progress: Progress | None = None
    ) -> Scan:  # fmt: skip
        """Scan the whole space for conflicts."""
        return await self._apply_scan(scan.scan(
            limit=request.limit, space=who.space, origin=self._origin(who), context=self._write_context,
            progress=progress,
        ))  # fmt: skip

    async def duplicates(self, request: requests.DuplicatesRequest, *, who: Caller) -> Duplicates:
        """Find the memories that say the same, in groups, and merge them if the request says so."""
        result = await duplicates(request, space=who.space, origin=self._origin(who), context=self._write_context)
        if result.merged:
            await self.index.after_commit()
        return result

    async def scan_memory(self, memory_id: str, *, who: Caller) -> int | None:
        """Scan one memory for conflicts; returns the number of new ones, None if it does not exist."""
        scanning = scan.scan_memory(memory_id, space=who.space, origin=self._origin(who), context=self._write_context)
        return await self._apply_scan(scanning)

    async def scan_later(self, request: requests.ScanLaterRequest, *, who: Caller) -> Job:
        """Queue a scan of the whole space after a delay; a waiting scan is reused."""
        due = self.clock.now() + timedelta(seconds=request.after)
        for job in await self._queue.list_jobs(who.space, limit=200):
            if job.kind == CONFLICTS and job.state is JobState.WAITING and not job.about:
                return job
        job = await self._queue.enqueue(CONFLICTS, {}, space=who.space, due=due)
        if self.job_runner is not None:
            await self.job_runner.take((job,), waits=False)
        return job

    async def resolve_conflict(self, request: requests.ResolveConflictRequest, *, who: Caller) -> Resolved:
        """Resolve a conflict; `undo` takes it back."""
        return await self._apply(resolve_conflict(
            request.id, strategy=request.strategy, notes=request.notes, branch=request.branch, keep=request.keep,
            space=who.space, origin=self._origin(who), context=self._write_context, combine=merge_records,
            key=request.idempotency_key,
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
        self.access_log.note_reads([(who.space, memory_id) for memory_id in ids])

    async def texts(self, view: TextView, *, space: str) -> dict[str, str]:
        """Return the texts of all memories of a view, by id."""
        return await self.text_caches.all_texts(view, space=space, store=self._store)

    async def create_entities(self, request: requests.CreateEntitiesRequest, *, who: Caller) -> dict[str, Json]:
        """Create or update entities by name."""
        return await self._apply(records.create_entities(
            request.entities, space=who.space, origin=self._origin(who), context=self._write_context
        ))  # fmt: skip

    async def update_entity(self, request: requests.UpdateEntityRequest, *, who: Caller) -> dict[str, Json]:
        """Change fields of an entity."""
        return await self._apply(records.update_entity(
            request.id, request.changes, space=who.space, origin=self._origin(who), context=self._write_context
        ))  # fmt: skip

    async def search_nodes(self, request: requests.SearchNodesRequest, *, who: Caller) -> dict[str, Json]:
        """Find entities by name, type and meaning; pinned ones come first."""

        async def recall() -> Recalled:
            question = requests.RecallRequest(
                query=request.query, limit=min(request.limit, search.MAX_RANKED),
                detail="full",
            )  # fmt: skip
            return await recalling.recall(
                question, spaces=(who.space,), now=self.clock.now(), context=self._recall_context
            )  # fmt: skip

        nodes = await search.search_nodes(
            request.query, limit=request.limit, recall=recall, now=self.clock.now(), space=who.space,
            store=self._store, text_caches=self.text_caches,
        )  # fmt: skip
        hits = search.found_in(nodes, space=who.space)
        self.access_log.note_question(request.query, hits, space=who.space, is_answered=bool(hits))
        return nodes

    async def get_memory_status(self, request: requests.GetMemoryStatusRequest, *, who: Caller) -> dict[str, Json]:
        """Return counts by type and tier, sizes and versions."""
        return await status.memory_status(space=who.space, store=self._store)

    async def context(self, request: requests.ContextRequest, *, who: Caller) -> Context:
        """Return the context for the start of a session."""
        return await session_context.context(
            request, conflicts=await self.conflicts(requests.ConflictsRequest(limit=_MAX_CONTEXT_CONFLICTS), who=who),
            now=self.clock.now(), who=who, store=self._store,
        )  # fmt: skip

    async def extract(
        self, request: requests.ExtractRequest, *, who: Caller, progress: Progress | None = None
    ) -> Extracted:  # fmt: skip
        """Extract the facts of a conversation, and store them."""
        # Its patterns take a tenth of the start time of a process, and few calls need them.
        if _EXTRACTION not in sys.modules:
            await asyncio.to_thread(import_module, _EXTRACTION)
        from scrubjay.extraction.extract import extract  # noqa: PLC0415

        return await extract(
            request, space=who.space, origin=self._origin(who), context=self._write_context, llm=self.llm,
            hand_on=self._queue_jobs, progress=progress,
        )  # fmt: skip

    async def rules(self, request: requests.RulesRequest, *, who: Caller) -> Rules:
        """Return the rules of a space."""
        return await self._rules(who.space)

    async def set_rules(self, request: requests.SetRulesRequest, *, who: Caller) -> Rules:
        """Change rules of a space; null restores a default."""
        return await rules_of_spaces.set_rules(
            request.changes, space=who.space, now=self.clock.now(), default=self.default_rules, documents=self._store
        )

    async def tags(self, request: requests.TagsRequest, *, who: Caller) -> TagTable:
        """Return the tags of a space with their counts, and their synonyms."""
        return await synonyms.table(who.space, store=self._store, limit=request.limit)

    async def add_synonyms(self, request: requests.AddSynonymsRequest, *, who: Caller) -> TagTable:
        """Make other words synonyms of a tag."""
        return await synonyms.add(
            request.tag, request.variants, space=who.space, store=self._store, now=self.clock.now()
        )

    async def remove_synonyms(self, request: requests.RemoveSynonymsRequest, *, who: Caller) -> TagTable:
        """Remove synonyms: the words become tags of their own again."""
        return await synonyms.remove(request.variants, space=who.space, store=self._store, now=self.clock.now())

    async def preview_tags(self, request: requests.PreviewTagsRequest, *, who: Caller) -> TagPreview:
        """Preview the normalization of tags, and suggest tags for a text."""
        return await synonyms.preview(
            request.tags, text=request.text, space=who.space, rules=await self._rules(who.space), store=self._store,
            embedder=self.embedder,
        )  # fmt: skip

    async def inbox(self, request: requests.InboxRequest, *, who: Caller) -> tuple[Memory, ...]:
        """Return the memories that wait for approval, newest first."""
        waiting = await review.inbox(who.space, store=self._store, limit=request.limit)
        return tuple(as_shown(memory, self.clock.now()) for memory in waiting)

    async def approve(self, request: requests.ApproveRequest, *, who: Caller) -> Outcome:
        """Approve waiting memories."""
        return await self._apply(review.approve(
            request, space=who.space, origin=self._origin(who), store=self._store,
            conflict_checker=self._conflict_checker,
        ))  # fmt: skip

    async def decline(self, request: requests.DeclineRequest, *, who: Caller) -> Outcome:
        """Move waiting memories to the trash."""
        return await self._apply(
            review.decline(request, space=who.space, origin=self._origin(who), store=self._store)
        )  # fmt: skip

    async def jobs(self, request: requests.JobsRequest, *, who: Caller) -> tuple[Job, ...]:
        """Return queued and finished jobs, newest first."""
        return await self._queue.list_jobs(who.space, limit=request.limit)

    async def retry_job(self, request: requests.RetryJobRequest, *, who: Caller) -> Job:
        """Run a failed job again."""
        job = await self._queue.retry(who.space, request.id)
        if self.job_runner is not None:
            await self.job_runner.take((job,), waits=False)
        return job

    async def cancel_job(self, request: requests.CancelJobRequest, *, who: Caller) -> Job:
        """Cancel a job."""
        return await self._queue.cancel(who.space, request.id)

    def knowledge_graph(self, *, who: Caller, project: str = "", method: Method = Method.AGENT) -> KnowledgeGraph:
        """Return a space as a graph of entities and relations."""
        return KnowledgeGraph(
            context=self._write_context, text_caches=self.text_caches, clock=self.clock, space=who.space,
            origin=self._origin(who),
            source=Source(method=method, agent=redact_label(who.agent), trust=trust_of(method)),
            after_commit=self.index.after_commit, project=project,
        )  # fmt: skip

    def export(
        self, request: requests.ExportRequest, *, who: Caller, progress: Progress | None = None
    ) -> AsyncIterator[str]:  # fmt: skip
        """Return the lines of an export: the whole space, or its knowledge graph in the reference server's format."""
        sections = require_sections(request.include)
        if require_format(request.format) != FORMATS[0]:
            if sections:
                raise InvalidInput(
                    f"the format {request.format} has no sections", hint="Export without them", field="include"
                )
            return export_graph(self.knowledge_graph(who=who), progress=progress)
        now = self.clock.now()
        return export_lines(space=who.space, store=self._store, now=now, include=sections, progress=progress)

    async def import_(
        self, request: requests.ImportRequest, lines: Lines, *, who: Caller, progress: Progress | None = None
    ) -> Imported:  # fmt: skip
        """Import an export, or a file of the reference knowledge-graph server; `embed_missing` adds the vectors."""
        if is_graph(lines):
            graph = self.knowledge_graph(who=who, method=Method.IMPORT)
            return await import_graph(lines, graph=graph, progress=progress)
        screening = None
        if request.screened:
            rules = await self._rules(who.space)
            screening = Screening(
                check=partial(require_allowed_memory, rules=rules), memory=partial(screen_history, rules=rules),
                relation=partial(screen_relation, rules=rules),
            )  # fmt: skip
        return await import_lines(
            lines, space=who.space, origin=self._origin(who), store=self._store, with_sections=request.sections,
            screening=screening, progress=progress,
        )  # fmt: skip

    async def embed_missing(
        self, request: requests.EmbedMissingRequest, *, who: Caller, progress: Progress | None = None
    ) -> int:
        """Embed texts without a vector; returns their number."""
        return await self.backfill(progress=progress)

    async def backfill(self, *, finish: bool = False, progress: Progress | None = None) -> int:
        """Embed texts of all spaces that have no vector, and tell the index; returns the number of memories."""
        count, finish = 0, finish or not self.has_worker
        with suppress(EmbeddingUnavailable):
            if self.models and (count := await self.models.stand_in(finish=finish, progress=progress)):
                return count
            model = self.model
            count = await backfill(
                store=self._store, embedder=model.embedder, clock=self.clock, media_source=model.media_source,
                progress=progress,
            )  # fmt: skip
        await self.index.after_commit()
        return count

    async def embed_memories(self, ids: Sequence[str], *, who: Caller) -> int:
        """Embed the texts and images of some memories that have no vector; returns the number of new vectors."""
        model = self.model
        return await self._apply(embed_memories(
            who.space, ids, store=self._store, embedder=model.embedder, clock=self.clock,
            media_source=model.media_source,
        ))  # fmt: skip

    async def status(self, request: requests.StatusRequest, *, who: Caller) -> Status:
        """Return health and sizes."""
        status = await diagnostics.status(await self._subject(), space=who.space)
        return replace(
            status, llm=await self.llm.describe() if self.llm else {},
            code=await self.programs.describe() if self.programs else {},
        )  # fmt: skip

    async def health(self, request: requests.HealthRequest, *, who: Caller) -> HealthReport:
        """Return the figures of a space or of all, who writes what, and the alerts."""
        return await self._health.health(request, who=who, sources=self._health_sources)

    async def doctor(self, request: requests.DoctorRequest, *, who: Caller) -> DoctorReport:
        """Check everything, after repairing what can be repaired if `repair` is set."""
        trashed = await self.repair(who=who) if request.repair else ()
        return await diagnostics.doctor(await self._subject(), space=who.space, deep=request.deep, trashed=trashed)

    async def repair(self, *, who: Caller) -> tuple[str, ...]:
        """Run maintenance, embed missing vectors and rebuild the index; returns the branches without a memory."""
        await self._store.tidy()
        lost = await diagnostics.lost_branches(self._store, space=who.space)
        if lost:
            selection = requests.Selection(ids=tuple(lost), reason="its memory is gone")
            await delete.forget(selection, space=who.space, origin=self._origin(who), store=self._store)
        await self.backfill(finish=True)
        await self.index.rebuild()
        return tuple(lost)

    async def reembed(
        self, request: requests.ReembedRequest, *, who: Caller, progress: Progress | None = None
    ) -> Reembedded:  # fmt: skip
        """Embed everything with another model, then use it."""
        if self.models is None:
            raise InvalidInput("this engine cannot change its embedding model")
        return await self.models.reembed(request.model, url=request.url, dimension=request.dimension, progress=progress)

    async def backup(
        self, request: requests.BackupRequest, *, who: Caller, progress: Progress | None = None
    ) -> Path:  # fmt: skip
        """Copy the store to a file while it is in use; returns the path of the copy."""
        await self._store.backup(request.target, progress=progress)
        return request.target

    async def create_token(self, request: requests.CreateTokenRequest, *, who: Caller) -> NewToken:
        """Create a token for access over HTTP; only this answer contains its secret."""
        spaces = await self._store.spaces()
        return await auth_tokens.create(request, tokens=self._store, now=self.clock.now(), spaces=spaces)

    async def tokens(self, request: requests.TokensRequest, *, who: Caller) -> tuple[Token, ...]:
        """Return all tokens, oldest first, including expired and revoked ones."""
        return tuple(await self._store.tokens())

    async def revoke_token(self, request: requests.RevokeTokenRequest, *, who: Caller) -> Token:
        """Revoke a token by its id or name, at once and for good."""
        return await auth_tokens.revoke(request.ref, tokens=self._store, now=self.clock.now())

    async def _subject(self) -> diagnostics.Subject:
        with suppress(EmbeddingUnavailable):
            await self.index.open()
        return diagnostics.Subject(
            store=self._store, embedder=self.embedder, index=await self.index.describe(), data=self.data,
            clock=self.clock, plain_files=self.plain_files, programs=self.programs, pairs=self.pairs,
            reader=self.recall_pairs if self.ranking.uses("reader") and self.reranker is None else None,
            stands_in_for=self.models.settings_model if self.models and self.models.is_temporary else "",
        )  # fmt: skip

    async def close(self) -> None:
        """Finish pending work and release all resources."""
        if self.programs is not None:
            await self.programs.close()
        if self.recall_processes is not None:
            await self.recall_processes.close()
        await self.access_log.close()
        if self.reporter is not None:
            await self.reporter.daily.close()
        if self.models is not None:
            await self.models.close()
        await self.index.close()
        await self.embedder.close()
        if self.reranker is not None:
            await self.reranker.close()
        if (pair_model := self.pairs or self.recall_pairs) is not None:
            await pair_model.close()
        if self.llm is not None:
            await self.llm.close()
        await self._store.close()
