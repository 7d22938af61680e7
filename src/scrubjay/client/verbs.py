"""The verbs as methods, with their arguments. Written by `make docs` from the requests: change those instead."""

# fmt: off
# ruff: noqa: E501
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

from scrubjay.model import requests
from scrubjay.model.arguments import UNSET, Request, Unset
from scrubjay.model.attachments import Attached, NoteAttachments, Orphans
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.code import CodeResult
from scrubjay.model.conflict import ConflictDetails, Duplicates, Resolved, Scan
from scrubjay.model.curation import CurationReport
from scrubjay.model.fact import Extracted
from scrubjay.model.job import Job
from scrubjay.model.memory import Json, Memory, Source
from scrubjay.model.notes import (
    Backlinks,
    BrokenLinks,
    Categories,
    CurrentDate,
    DueNotes,
    NoteChanged,
    NoteLinked,
    NoteRead,
    NoteReviewed,
    NotesExported,
    NotesFound,
    NotesImported,
    NotesSynced,
    NoteWritten,
    Templates,
)
from scrubjay.model.query import Filter, TextsFound
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
from scrubjay.model.skill import SavedSkill, Skill
from scrubjay.model.tags import TagPreview, TagTable
from scrubjay.model.token import NewToken, Token
from scrubjay.model.transfer import Progress

R = TypeVar("R")
Moment = datetime | str | None


class AsyncVerbs(ABC):
    """The verbs for programs with an event loop."""

    @abstractmethod
    async def call(self, request: Request[R], *, progress: Progress | None = None) -> R:
        """Carry out a request."""

    async def remember(
        self, text: str, *, title: str = "", kind: str = "", name: str = "", entities: Sequence[str] = (),
        observations: Sequence[str] = (), tags: Sequence[str] = (), category: str = "", project: str = "",
        scope: str = "", session_hint: str = "", intent: Literal["auto", "new", "continue"] = "auto",
        pinned: bool = False, expires_at: Moment = None, remind_at: Moment = None,
        source: Source | Mapping[str, Json] | None = None, metadata: Mapping[str, Json] | None = None,
        idempotency_key: str = "", dry_run: bool = False, wait_for_llm: bool = False,
    ) -> Remembered:
        """Store a text once, under every entity it is about; the result says what was done."""
        return await self.call(requests.RememberRequest.of(
            text=text, title=title, kind=kind, name=name, entities=entities, observations=observations, tags=tags,
            category=category, project=project, scope=scope, session_hint=session_hint, intent=intent, pinned=pinned,
            expires_at=expires_at, remind_at=remind_at, source=source, metadata=metadata,
            idempotency_key=idempotency_key, dry_run=dry_run, wait_for_llm=wait_for_llm,
        ))

    async def remember_many(
        self, items: Sequence[requests.RememberRequest | Mapping[str, Json]], *, atomic: bool = False,
        idempotency_key: str = "", dry_run: bool = False, progress: Progress | None = None,
    ) -> RememberedMany:
        """Store many texts, each as `remember` does; the result has an entry for each, in order."""
        return await self.call(requests.RememberManyRequest.of(
            items=items, atomic=atomic, idempotency_key=idempotency_key, dry_run=dry_run,
        ), progress=progress)

    async def recall(
        self, query: str = "", *, limit: int = 8, entity: str = "", kind: str = "", category: str = "",
        tags: Sequence[str] = (), any_tags: Sequence[str] = (), project: str = "", scope: str = "",
        tier: Literal["", "working", "episodic", "semantic", "procedural"] = "", session: str = "", agent: str = "",
        trust: Literal["", "user", "agent", "document", "unknown"] = "", metadata: Mapping[str, Json] | None = None,
        since: Moment = None, until: Moment = None,
        flag: Literal["", "thin", "redacted", "suspicious", "unapproved"] = "",
        state: Literal["live", "merged", "archived", "trashed", "waiting", "branched"] = "live", from_project: str = "",
        contains: str = "", around: int = 0, max_tokens: int = 1500, min_score: float | None = None,
        detail: Literal["concise", "full"] = "concise", cursor: str = "", explain: bool = False, today: Moment = None,
        as_of: Moment = None, branch: str = "main",
    ) -> Recalled:
        """Find the memories that answer a question; without one, the most recent."""
        return await self.call(requests.RecallRequest.of(
            query=query, limit=limit, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags,
            project=project, scope=scope, tier=tier, session=session, agent=agent, trust=trust, metadata=metadata,
            since=since, until=until, flag=flag, state=state, from_project=from_project, contains=contains,
            around=around, max_tokens=max_tokens, min_score=min_score, detail=detail, cursor=cursor, explain=explain,
            today=today, as_of=as_of, branch=branch,
        ))

    async def search_text(
        self, query: str, *, entity: str = "", kind: str = "", category: str = "", tags: Sequence[str] = (),
        any_tags: Sequence[str] = (), project: str = "", scope: str = "",
        tier: Literal["", "working", "episodic", "semantic", "procedural"] = "", session: str = "", agent: str = "",
        trust: Literal["", "user", "agent", "document", "unknown"] = "", metadata: Mapping[str, Json] | None = None,
        since: Moment = None, until: Moment = None,
        flag: Literal["", "thin", "redacted", "suspicious", "unapproved"] = "",
        state: Literal["live", "merged", "archived", "trashed", "waiting", "branched"] = "live", limit: int = 10,
        offset: int = 0,
    ) -> TextsFound:
        """Find memories by words: required words, `prefixes*`, "exact phrases" and -excluded words."""
        return await self.call(requests.SearchTextRequest.of(
            query=query, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project,
            scope=scope, tier=tier, session=session, agent=agent, trust=trust, metadata=metadata, since=since,
            until=until, flag=flag, state=state, limit=limit, offset=offset,
        ))

    async def read(
        self, ids: str | Sequence[str], *, format: Literal["markdown", "plain", "json"] = "markdown",
        version: int | None = None, branch: str = "", as_of: Moment = None,
    ) -> ReadResult:
        """Return whole memories by id, name or title; missing ones are named, with suggestions."""
        return await self.call(requests.ReadRequest.of(
            ids=ids, format=format, version=version, branch=branch, as_of=as_of,
        ))

    async def revise(
        self, id: str, *, text: str | Unset = UNSET, title: str | Unset = UNSET, name: str | Unset = UNSET,
        kind: str | Unset = UNSET, entity: str | Unset = UNSET, category: str | Unset = UNSET,
        project: str | Unset = UNSET, scope: str | Unset = UNSET, tags: Sequence[str] | Unset = UNSET,
        observations: Sequence[str] | Unset = UNSET,
        tier: Literal["working", "episodic", "semantic", "procedural"] | Unset = UNSET, pinned: bool | Unset = UNSET,
        relevance: float | Unset = UNSET, expires_at: Moment | Unset = UNSET, remind_at: Moment | Unset = UNSET,
        metadata: Mapping[str, Json] | Unset = UNSET, add_observations: Sequence[str] = (),
        remove_observations: Sequence[str] = (), message: str = "", expected_version: int | None = None,
        branch: str = "", source: Source | Mapping[str, Json] | None = None, idempotency_key: str = "",
    ) -> Written:
        """Change fields of a memory; the previous state remains as a version."""
        return await self.call(requests.ReviseRequest.of(
            id=id, text=text, title=title, name=name, kind=kind, entity=entity, category=category, project=project,
            scope=scope, tags=tags, observations=observations, tier=tier, pinned=pinned, relevance=relevance,
            expires_at=expires_at, remind_at=remind_at, metadata=metadata, add_observations=add_observations,
            remove_observations=remove_observations, message=message, expected_version=expected_version, branch=branch,
            source=source, idempotency_key=idempotency_key,
        ))

    async def forget(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Move memories to the trash; `restore` brings them back."""
        return await self.call(requests.ForgetRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        ))

    async def restore(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False, branch: str = "",
    ) -> Outcome:
        """Restore memories from the trash, or, by its name, a dropped branch of them."""
        return await self.call(requests.RestoreRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run, branch=branch,
        ))

    async def confirm(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Confirm that memories still hold: their relevance stops falling and starts again from its stored value."""
        return await self.call(requests.ConfirmRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        ))

    async def purge(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False, derived: bool = False,
    ) -> Outcome:
        """Destroy memories in the trash, with every version and every trace of their text."""
        return await self.call(requests.PurgeRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run, derived=derived,
        ))

    async def relate(
        self, source: str, target: str, *, relation: str = "related_to", text: str = "", strength: float = 0.5,
        metadata: Mapping[str, Json] | None = None,
    ) -> Related:
        """Relate two memories; both ends show a link."""
        return await self.call(requests.RelateRequest.of(
            source=source, target=target, relation=relation, text=text, strength=strength, metadata=metadata,
        ))

    async def unrelate(self, source: str, target: str, *, relation: str = "related_to") -> Related:
        """Remove a relation."""
        return await self.call(requests.UnrelateRequest.of(source=source, target=target, relation=relation))

    async def history(
        self, id: str, *, limit: int = 20, before: int | None = None, diff: Sequence[int | str] | None = None,
        branch: str = "",
    ) -> History:
        """Return the versions of a memory, newest first; with `diff=[a, b]`, compare two.

        The name of a branch means its newest version.
        """
        return await self.call(requests.HistoryRequest.of(id=id, limit=limit, before=before, diff=diff, branch=branch))

    async def revert(
        self, id: str, *, to: int, message: str = "", branch: str = "", idempotency_key: str = "",
    ) -> Written:
        """Restore an earlier version as a new one."""
        return await self.call(requests.RevertRequest.of(
            id=id, to=to, message=message, branch=branch, idempotency_key=idempotency_key,
        ))

    async def commit(self, id: str, *, message: str, branch: str = "", idempotency_key: str = "") -> Written:
        """Create a version with a message and unchanged content."""
        return await self.call(requests.CommitRequest.of(
            id=id, message=message, branch=branch, idempotency_key=idempotency_key,
        ))

    async def branch(
        self, id: str, name: str, *, description: str = "", at: int | None = None, switch: bool = False,
    ) -> Branches:
        """Create a branch of a memory; main does not show its changes."""
        return await self.call(requests.BranchRequest.of(
            id=id, name=name, description=description, at=at, switch=switch,
        ))

    async def branches(self, id: str) -> Branches:
        """Return the branches of a memory, and the current one."""
        return await self.call(requests.BranchesRequest.of(id=id))

    async def switch(self, id: str, name: str) -> Branches:
        """Make another branch the current one of a memory."""
        return await self.call(requests.SwitchRequest.of(id=id, name=name))

    async def drop_branch(self, id: str, name: str) -> Branches:
        """Move a branch to the trash."""
        return await self.call(requests.DropBranchRequest.of(id=id, name=name))

    async def merge_branch(
        self, id: str, name: str, *, into: str = "main", prefer: Literal["", "ours", "theirs"] = "", message: str = "",
        idempotency_key: str = "",
    ) -> BranchMerged:
        """Merge a branch into another; conflicts are reported, and then nothing is written."""
        return await self.call(requests.MergeBranchRequest.of(
            id=id, name=name, into=into, prefer=prefer, message=message, idempotency_key=idempotency_key,
        ))

    async def undo(self, *, run: str = "", idempotency_key: str = "") -> Undone:
        """Undo the last change of this agent, or a named run."""
        return await self.call(requests.UndoRequest.of(run=run, idempotency_key=idempotency_key))

    async def outcome(self, runs: Sequence[str]) -> dict[str, bool]:
        """Return for each run whether it committed a change, for callers whose answer was lost."""
        return await self.call(requests.OutcomeRequest.of(runs=runs))

    async def graph(
        self, ids: str | Sequence[str], *, depth: int = 1, types: Sequence[str] = (),
        direction: Literal["out", "in", "both"] = "both", limit: int = 200, as_of: Moment = None,
    ) -> Network:
        """Return the memories that relations connect to the given ones, up to `depth` steps away."""
        return await self.call(requests.GraphRequest.of(
            ids=ids, depth=depth, types=types, direction=direction, limit=limit, as_of=as_of,
        ))

    async def related(
        self, id: str, *, types: Sequence[str] = (), direction: Literal["out", "in", "both"] = "both", limit: int = 200,
        as_of: Moment = None, suggest: int = 5,
    ) -> Network:
        """Return the memories that relations of a memory lead to, and suggest some that are near it by meaning."""
        return await self.call(requests.RelatedRequest.of(
            id=id, types=types, direction=direction, limit=limit, as_of=as_of, suggest=suggest,
        ))

    async def due(self, *, by: Moment = None, limit: int = 20) -> DueReminders:
        """Return the memories whose reminder is due, the latest first."""
        return await self.call(requests.DueRequest.of(by=by, limit=limit))

    async def summarize(
        self, *, entity: str = "", kind: str = "", category: str = "", tags: Sequence[str] = (),
        any_tags: Sequence[str] = (), project: str = "", scope: str = "",
        tier: Literal["", "working", "episodic", "semantic", "procedural"] = "", session: str = "", agent: str = "",
        trust: Literal["", "user", "agent", "document", "unknown"] = "", metadata: Mapping[str, Json] | None = None,
        since: Moment = None, until: Moment = None,
        flag: Literal["", "thin", "redacted", "suspicious", "unapproved"] = "",
        state: Literal["live", "merged", "archived", "trashed", "waiting", "branched"] = "live", limit: int = 12,
        max_tokens: int = 1000, prose: bool = False,
    ) -> Summary:
        """Summarize the memories of a tag, an entity, a project or a period by their central statements, oldest first."""
        return await self.call(requests.SummarizeRequest.of(
            entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project, scope=scope,
            tier=tier, session=session, agent=agent, trust=trust, metadata=metadata, since=since, until=until,
            flag=flag, state=state, limit=limit, max_tokens=max_tokens, prose=prose,
        ))

    async def path(
        self, source: str, target: str, *, types: Sequence[str] = (), direction: Literal["out", "in", "both"] = "both",
        most: int = 6, as_of: Moment = None,
    ) -> Network:
        """Return a shortest path from one memory to another, of at most `most` steps."""
        return await self.call(requests.PathRequest.of(
            source=source, target=target, types=types, direction=direction, most=most, as_of=as_of,
        ))

    async def conflicts(
        self, *, status: Literal["pending", "resolved", "ignored", "all"] = "pending", id: str = "", limit: int = 50,
    ) -> tuple[ConflictDetails, ...]:
        """Return the conflicts of the space, or of one memory."""
        return await self.call(requests.ConflictsRequest.of(status=status, id=id, limit=limit))

    async def probe_conflicts(
        self, drafts: Sequence[requests.RememberRequest], *, threshold: float = 0.5,
    ) -> tuple[tuple[ConflictDetails, ...], ...]:
        """Return the conflicts that each draft would have if it were stored."""
        return await self.call(requests.ProbeConflictsRequest.of(drafts=drafts, threshold=threshold))

    async def scan_conflicts(self, *, limit: int = 50, progress: Progress | None = None) -> Scan:
        """Scan the whole space for conflicts."""
        return await self.call(requests.ScanConflictsRequest.of(limit=limit), progress=progress)

    async def duplicates(
        self, *, id: str = "", threshold: float = 0.0, merge: bool = False, limit: int = 50,
    ) -> Duplicates:
        """Find the memories that say the same, in groups; with `merge`, join each group into its most trusted memory."""
        return await self.call(requests.DuplicatesRequest.of(id=id, threshold=threshold, merge=merge, limit=limit))

    async def scan_later(self, *, after: int = 0) -> Job:
        """Have the daemon scan the whole space after a delay; a waiting scan is reused."""
        return await self.call(requests.ScanLaterRequest.of(after=after))

    async def resolve_conflict(
        self, id: str, *, strategy: Literal["merge", "update", "branch", "supersede", "ignore", "auto"] = "auto",
        notes: str = "", branch: str = "", keep: str = "", idempotency_key: str = "",
    ) -> Resolved:
        """Resolve a conflict; `undo` takes it back."""
        return await self.call(requests.ResolveConflictRequest.of(
            id=id, strategy=strategy, notes=notes, branch=branch, keep=keep, idempotency_key=idempotency_key,
        ))

    async def extract(
        self, text: str, *, session: str = "", store: bool = True,
        format: Literal["auto", "text", "markdown", "whatsapp", "json", "jsonl", "chatgpt", "claude", "slack", "telegram"] = "auto",
        method: Literal["auto", "patterns", "llm"] = "auto", project: str = "", me: str = "", trusted: bool = True,
        progress: Progress | None = None,
    ) -> Extracted:
        """Extract the facts of a conversation, and store them."""
        return await self.call(requests.ExtractRequest.of(
            text=text, session=session, store=store, format=format, method=method, project=project, me=me,
            trusted=trusted,
        ), progress=progress)

    async def context(
        self, *, session: str = "", project: str = "", session_hint: str = "", max_tokens: int = 1500,
    ) -> Context:
        """Return the context for the start of a session."""
        return await self.call(requests.ContextRequest.of(
            session=session, project=project, session_hint=session_hint, max_tokens=max_tokens,
        ))

    async def create_entities(self, entities: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
        """Create or update entities by name; an invalid one does not affect the others."""
        return await self.call(requests.CreateEntitiesRequest.of(entities=entities))

    async def update_entity(self, id: str, changes: Mapping[str, Json]) -> dict[str, Json]:
        """Change fields of an entity."""
        return await self.call(requests.UpdateEntityRequest.of(id=id, changes=changes))

    async def search_nodes(self, query: str, *, limit: int = 10) -> dict[str, Json]:
        """Find entities by name, type and meaning; pinned ones come first."""
        return await self.call(requests.SearchNodesRequest.of(query=query, limit=limit))

    async def get_memory_status(self) -> dict[str, Json]:
        """Return counts by type and tier, sizes and versions."""
        return await self.call(requests.GetMemoryStatusRequest.of())

    async def rules(self) -> Rules:
        """Return the rules of the space."""
        return await self.call(requests.RulesRequest.of())

    async def set_rules(
        self, *, gate: Literal["merge", "report", "off"] | Unset | None = UNSET,
        window_days: int | Unset | None = UNSET, same: float | Unset | None = UNSET,
        density: Literal["warn", "reject", "reconstruct", "off"] | Unset | None = UNSET,
        least_characters: int | Unset | None = UNSET, tags: Literal["normalise", "off"] | Unset | None = UNSET,
        least_tags: int | Unset | None = UNSET, most_tags: int | Unset | None = UNSET,
        secrets: Literal["redact", "off"] | Unset | None = UNSET,
        injection: Literal["label", "off"] | Unset | None = UNSET,
        conflicts: Literal["detect", "off"] | Unset | None = UNSET,
        review: Literal["none", "agents", "all"] | Unset | None = UNSET,
        never: str | Sequence[str] | Unset | None = UNSET, never_paths: str | Sequence[str] | Unset | None = UNSET,
        llm: Literal["later", "wait", "off"] | Unset | None = UNSET, prune_days: int | Unset | None = UNSET,
        purge_days: int | Unset | None = UNSET, most_memories: int | Unset | None = UNSET,
        most_bytes: int | Unset | None = UNSET,
    ) -> Rules:
        """Change rules of the space, such as `gate="report"`; null restores a default."""
        return await self.call(requests.SetRulesRequest.of(
            gate=gate, window_days=window_days, same=same, density=density, least_characters=least_characters,
            tags=tags, least_tags=least_tags, most_tags=most_tags, secrets=secrets, injection=injection,
            conflicts=conflicts, review=review, never=never, never_paths=never_paths, llm=llm, prune_days=prune_days,
            purge_days=purge_days, most_memories=most_memories, most_bytes=most_bytes,
        ))

    async def tags(self, *, limit: int = 200) -> TagTable:
        """Return the tags of the space with their counts, and their synonyms."""
        return await self.call(requests.TagsRequest.of(limit=limit))

    async def add_synonyms(self, tag: str, variants: Sequence[str]) -> TagTable:
        """Make other words synonyms of a tag."""
        return await self.call(requests.AddSynonymsRequest.of(tag=tag, variants=variants))

    async def remove_synonyms(self, variants: Sequence[str]) -> TagTable:
        """Remove synonyms: the words become tags of their own again."""
        return await self.call(requests.RemoveSynonymsRequest.of(variants=variants))

    async def preview_tags(self, tags: Sequence[str] = (), *, text: str = "") -> TagPreview:
        """Preview the normalization of tags, and suggest tags for a text."""
        return await self.call(requests.PreviewTagsRequest.of(tags=tags, text=text))

    async def inbox(self, *, limit: int = 50) -> tuple[Memory, ...]:
        """Return the memories that wait for approval, newest first."""
        return await self.call(requests.InboxRequest.of(limit=limit))

    async def approve(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Approve waiting memories."""
        return await self.call(requests.ApproveRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        ))

    async def decline(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Move waiting memories to the trash."""
        return await self.call(requests.DeclineRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        ))

    async def jobs(self, *, limit: int = 50) -> tuple[Job, ...]:
        """Return queued and finished jobs, newest first."""
        return await self.call(requests.JobsRequest.of(limit=limit))

    async def retry_job(self, id: str) -> Job:
        """Run a failed job again."""
        return await self.call(requests.RetryJobRequest.of(id=id))

    async def cancel_job(self, id: str) -> Job:
        """Cancel a job."""
        return await self.call(requests.CancelJobRequest.of(id=id))

    async def curate(
        self,
        jobs: str | Sequence[Literal["tiers", "duplicates", "consolidate", "prune", "tags", "vectors", "bodies"]] = (),
        *, dry_run: bool = False, limit: int = 50, progress: Progress | None = None,
    ) -> CurationReport:
        """Run the jobs that keep the space in order, such as moving unused memories to another tier.

        Every change is a version: `undo` with the id of the run takes all of them back. A run that was interrupted goes on.
        """
        return await self.call(requests.CurateRequest.of(jobs=jobs, dry_run=dry_run, limit=limit), progress=progress)

    async def prune(
        self, *, days: int | None = None, keep: int | None = None, keep_bytes: int | None = None,
        clusters: bool = False, include: str | Sequence[Literal["pinned", "linked", "stated"]] = (),
        dry_run: bool = False, limit: int = 50, progress: Progress | None = None,
    ) -> CurationReport:
        """Move memories to the trash: the expired, the long unused, and all but the best of a budget.

        Pinned memories, those that others link to and what the user stated are spared. `undo` with the id of the run takes
        it back. Without a limit, what the rules of the space say is done.
        """
        return await self.call(requests.PruneRequest.of(
            days=days, keep=keep, keep_bytes=keep_bytes, clusters=clusters, include=include, dry_run=dry_run,
            limit=limit,
        ), progress=progress)

    async def curations(self, *, run: str = "", limit: int = 10, changes: int = 50) -> tuple[CurationReport, ...]:
        """Return the reports of earlier runs of curation, the newest first."""
        return await self.call(requests.CurationsRequest.of(run=run, limit=limit, changes=changes))

    async def run_code(
        self, code: str = "", *, context_vars: Mapping[str, Json] | None = None, max_tokens: int = 2000,
        handle: str = "", offset: int = 0,
    ) -> CodeResult:
        """Run a Python program beside the memory, and return what it computed; or the next part of a stored result."""
        return await self.call(requests.RunCodeRequest.of(
            code=code, context_vars=context_vars, max_tokens=max_tokens, handle=handle, offset=offset,
        ))

    async def usage(self, *, days: int = 30, limit: int = 10) -> Usage:
        """Return what is asked of the space, what is found and read, and which memories never are."""
        return await self.call(requests.UsageRequest.of(days=days, limit=limit))

    async def save_skill(
        self, name: str, *, source: str = "", description: str = "", tags: Sequence[str] = (),
        example: Mapping[str, Json] | None = None, draft: bool = False, from_memory: str = "",
        expected_version: int | None = None,
    ) -> SavedSkill:
        """Save a function as a skill, or the next version of one, after it was run with its example.

        The example is run for real: what it writes is stored.
        """
        return await self.call(requests.SaveSkillRequest.of(
            name=name, source=source, description=description, tags=tags, example=example, draft=draft,
            from_memory=from_memory, expected_version=expected_version,
        ))

    async def list_skills(self, query: str = "", *, tags: Sequence[str] = (), limit: int = 50) -> tuple[Skill, ...]:
        """Return the skills with their runs, mean time and success rate; those whose runs fail are marked."""
        return await self.call(requests.ListSkillsRequest.of(query=query, tags=tags, limit=limit))

    async def load_skill(self, name: str) -> Skill:
        """Return a skill with its source."""
        return await self.call(requests.LoadSkillRequest.of(name=name))

    async def run_skill(
        self, name: str, *, arguments: Mapping[str, Json] | None = None, max_tokens: int = 2000,
    ) -> CodeResult:
        """Run a skill, and return what it computed."""
        return await self.call(requests.RunSkillRequest.of(name=name, arguments=arguments, max_tokens=max_tokens))

    async def status(self) -> Status:
        """Return health, sizes, backends and degraded parts."""
        return await self.call(requests.StatusRequest.of())

    async def doctor(self, *, deep: bool = False, repair: bool = False) -> DoctorReport:
        """Check everything; `repair` first repairs what it can."""
        return await self.call(requests.DoctorRequest.of(deep=deep, repair=repair))

    async def embed_missing(self, *, progress: Progress | None = None) -> int:
        """Embed texts without a vector; returns their number."""
        return await self.call(requests.EmbedMissingRequest.of(), progress=progress)

    async def reembed(
        self, *, model: str, url: str = "", dimension: int = 0, progress: Progress | None = None,
    ) -> Reembedded:
        """Embed all texts with another model, beside the vectors in use, then use that model; a killed run goes on."""
        return await self.call(requests.ReembedRequest.of(model=model, url=url, dimension=dimension), progress=progress)

    async def backup(self, target: str | Path, *, progress: Progress | None = None) -> Path:
        """Copy the store to a file while it is in use, and verify the copy; returns the path of the copy."""
        return await self.call(requests.BackupRequest.of(target=target), progress=progress)

    async def create_token(
        self, *, name: str, spaces: Sequence[str] = (), access: str = "read", expires: str = "",
        requests_per_minute: int = 0, body_bytes: int = 0, mcp_only: bool = False, trusted_imports: bool = False,
    ) -> NewToken:
        """Create a token for access over HTTP; only this answer contains its secret."""
        return await self.call(requests.CreateTokenRequest.of(
            name=name, spaces=spaces, access=access, expires=expires, requests_per_minute=requests_per_minute,
            body_bytes=body_bytes, mcp_only=mcp_only, trusted_imports=trusted_imports,
        ))

    async def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, oldest first, including expired and revoked ones."""
        return await self.call(requests.TokensRequest.of())

    async def revoke_token(self, ref: str) -> Token:
        """Revoke a token by its id or name, at once and for good."""
        return await self.call(requests.RevokeTokenRequest.of(ref=ref))

    async def write_note(
        self, title: str, content: str = "", *, tags: Sequence[str] = (), category: str = "", template: str = "",
        project: str = "", source: Source | Mapping[str, Json] | None = None, idempotency_key: str = "",
    ) -> NoteWritten:
        """Write a new note; similar ones are reported, and never merged with it."""
        return await self.call(requests.WriteNoteRequest.of(
            title=title, content=content, tags=tags, category=category, template=template, project=project,
            source=source, idempotency_key=idempotency_key,
        ))

    async def read_note(
        self, identifier: str, *, format: Literal["markdown", "plain", "json"] = "markdown",
    ) -> NoteRead:
        """Return a note by id, title, name, file name or half of a title."""
        return await self.call(requests.ReadNoteRequest.of(identifier=identifier, format=format))

    async def edit_note(
        self, id: str, *, title: str | None = None, content: str | None = None, tags: Sequence[str] | None = None,
        category: str | None = None, expected_version: int | None = None, message: str = "", idempotency_key: str = "",
    ) -> NoteChanged:
        """Change a note; omitted fields keep their values, and the previous state remains as a version."""
        return await self.call(requests.EditNoteRequest.of(
            id=id, title=title, content=content, tags=tags, category=category, expected_version=expected_version,
            message=message, idempotency_key=idempotency_key,
        ))

    async def search_notes(
        self, query: str, *, limit: int = 10, category: str = "", tags: Sequence[str] = (), semantic: bool = False,
    ) -> NotesFound:
        """Find notes by words, `"phrases"` and `prefixes*`; with `semantic` also by meaning."""
        return await self.call(requests.SearchNotesRequest.of(
            query=query, limit=limit, category=category, tags=tags, semantic=semantic,
        ))

    async def link_notes(self, source_id: str, target_id: str, *, link_text: str = "") -> NoteLinked:
        """Link two notes with each other."""
        return await self.call(requests.LinkNotesRequest.of(
            source_id=source_id, target_id=target_id, link_text=link_text,
        ))

    async def unlink_notes(self, source_id: str, target_id: str) -> NoteLinked:
        """Remove the link between two notes, at both ends."""
        return await self.call(requests.UnlinkNotesRequest.of(source_id=source_id, target_id=target_id))

    async def current_date(
        self, *, format: Literal["iso", "locale", "timestamp", "date_only"] = "iso", timezone: str = "",
    ) -> CurrentDate:
        """Return the current date and time."""
        return await self.call(requests.CurrentDateRequest.of(format=format, timezone=timezone))

    async def review_note(self, id: str) -> NoteReviewed:
        """Mark a note as reviewed."""
        return await self.call(requests.ReviewNoteRequest.of(id=id))

    async def due_notes(self, *, days: int = 90, limit: int = 20, category: str = "") -> DueNotes:
        """Return the notes that were not reviewed for a number of days."""
        return await self.call(requests.DueNotesRequest.of(days=days, limit=limit, category=category))

    async def backlinks(self, id: str) -> Backlinks:
        """Return the notes that link to a note."""
        return await self.call(requests.BacklinksRequest.of(id=id))

    async def broken_links(self, *, limit: int = 100) -> BrokenLinks:
        """Return the links without a target note, with suggestions."""
        return await self.call(requests.BrokenLinksRequest.of(limit=limit))

    async def note_categories(self) -> Categories:
        """Return the categories of notes with their counts."""
        return await self.call(requests.NoteCategoriesRequest.of())

    async def note_templates(self) -> Templates:
        """Return the templates for new notes."""
        return await self.call(requests.NoteTemplatesRequest.of())

    async def sync_notes(
        self, *, deletions: bool = False, adopt: bool = False, progress: Progress | None = None,
    ) -> NotesSynced:
        """Synchronize the store with the whole folder of notes."""
        return await self.call(requests.SyncNotesRequest.of(deletions=deletions, adopt=adopt), progress=progress)

    async def attach_file(self, note: str, name: str, data: str | bytes, *, caption: str = "") -> Attached:
        """Attach bytes, or text in base64, to a note: stored next to it and embedded in it."""
        return await self.call(requests.AttachFileRequest.of(note=note, name=name, data=data, caption=caption))

    async def attach_path(self, note: str, path: str | Path, *, caption: str = "", name: str = "") -> Attached:
        """Attach a file of this machine to a note; a remote server receives its bytes."""
        return await self.call(requests.AttachPathRequest.of(note=note, path=path, caption=caption, name=name))

    async def note_attachments(self, note: str) -> NoteAttachments:
        """Return the attachments of a note."""
        return await self.call(requests.NoteAttachmentsRequest.of(note=note))

    async def orphaned_files(self) -> Orphans:
        """Return attachments that no note embeds or without a file, and unknown files."""
        return await self.call(requests.OrphanedFilesRequest.of())

    async def export_notes(
        self, target: str | Path, *, refs: Sequence[str] = (),
        format: Literal["md", "json", "csv", "html", "pdf"] = "md", category: str = "", tags: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> NotesExported:
        """Export notes: the named ones, else all of a category and with tags.

        The target is a file, a folder or a .zip, which is complete when this returns.
        """
        return await self.call(requests.ExportNotesRequest.of(
            target=target, refs=refs, format=format, category=category, tags=tags,
        ), progress=progress)

    async def import_notes(
        self, folder: str | Path, *, category: str = "", dry_run: bool = False, progress: Progress | None = None,
    ) -> NotesImported:
        """Import a folder of Markdown files, such as an Obsidian vault, without writing to it.

        A repeated import writes only new and changed notes.
        """
        return await self.call(requests.ImportNotesRequest.of(
            folder=folder, category=category, dry_run=dry_run,
        ), progress=progress)


class SyncVerbs(ABC):
    """The verbs for programs without an event loop."""

    @abstractmethod
    def call(self, request: Request[R], *, progress: Progress | None = None) -> R:
        """Carry out a request."""

    def remember(
        self, text: str, *, title: str = "", kind: str = "", name: str = "", entities: Sequence[str] = (),
        observations: Sequence[str] = (), tags: Sequence[str] = (), category: str = "", project: str = "",
        scope: str = "", session_hint: str = "", intent: Literal["auto", "new", "continue"] = "auto",
        pinned: bool = False, expires_at: Moment = None, remind_at: Moment = None,
        source: Source | Mapping[str, Json] | None = None, metadata: Mapping[str, Json] | None = None,
        idempotency_key: str = "", dry_run: bool = False, wait_for_llm: bool = False,
    ) -> Remembered:
        """Store a text once, under every entity it is about; the result says what was done."""
        return self.call(requests.RememberRequest.of(
            text=text, title=title, kind=kind, name=name, entities=entities, observations=observations, tags=tags,
            category=category, project=project, scope=scope, session_hint=session_hint, intent=intent, pinned=pinned,
            expires_at=expires_at, remind_at=remind_at, source=source, metadata=metadata,
            idempotency_key=idempotency_key, dry_run=dry_run, wait_for_llm=wait_for_llm,
        ))

    def remember_many(
        self, items: Sequence[requests.RememberRequest | Mapping[str, Json]], *, atomic: bool = False,
        idempotency_key: str = "", dry_run: bool = False, progress: Progress | None = None,
    ) -> RememberedMany:
        """Store many texts, each as `remember` does; the result has an entry for each, in order."""
        return self.call(requests.RememberManyRequest.of(
            items=items, atomic=atomic, idempotency_key=idempotency_key, dry_run=dry_run,
        ), progress=progress)

    def recall(
        self, query: str = "", *, limit: int = 8, entity: str = "", kind: str = "", category: str = "",
        tags: Sequence[str] = (), any_tags: Sequence[str] = (), project: str = "", scope: str = "",
        tier: Literal["", "working", "episodic", "semantic", "procedural"] = "", session: str = "", agent: str = "",
        trust: Literal["", "user", "agent", "document", "unknown"] = "", metadata: Mapping[str, Json] | None = None,
        since: Moment = None, until: Moment = None,
        flag: Literal["", "thin", "redacted", "suspicious", "unapproved"] = "",
        state: Literal["live", "merged", "archived", "trashed", "waiting", "branched"] = "live", from_project: str = "",
        contains: str = "", around: int = 0, max_tokens: int = 1500, min_score: float | None = None,
        detail: Literal["concise", "full"] = "concise", cursor: str = "", explain: bool = False, today: Moment = None,
        as_of: Moment = None, branch: str = "main",
    ) -> Recalled:
        """Find the memories that answer a question; without one, the most recent."""
        return self.call(requests.RecallRequest.of(
            query=query, limit=limit, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags,
            project=project, scope=scope, tier=tier, session=session, agent=agent, trust=trust, metadata=metadata,
            since=since, until=until, flag=flag, state=state, from_project=from_project, contains=contains,
            around=around, max_tokens=max_tokens, min_score=min_score, detail=detail, cursor=cursor, explain=explain,
            today=today, as_of=as_of, branch=branch,
        ))

    def search_text(
        self, query: str, *, entity: str = "", kind: str = "", category: str = "", tags: Sequence[str] = (),
        any_tags: Sequence[str] = (), project: str = "", scope: str = "",
        tier: Literal["", "working", "episodic", "semantic", "procedural"] = "", session: str = "", agent: str = "",
        trust: Literal["", "user", "agent", "document", "unknown"] = "", metadata: Mapping[str, Json] | None = None,
        since: Moment = None, until: Moment = None,
        flag: Literal["", "thin", "redacted", "suspicious", "unapproved"] = "",
        state: Literal["live", "merged", "archived", "trashed", "waiting", "branched"] = "live", limit: int = 10,
        offset: int = 0,
    ) -> TextsFound:
        """Find memories by words: required words, `prefixes*`, "exact phrases" and -excluded words."""
        return self.call(requests.SearchTextRequest.of(
            query=query, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project,
            scope=scope, tier=tier, session=session, agent=agent, trust=trust, metadata=metadata, since=since,
            until=until, flag=flag, state=state, limit=limit, offset=offset,
        ))

    def read(
        self, ids: str | Sequence[str], *, format: Literal["markdown", "plain", "json"] = "markdown",
        version: int | None = None, branch: str = "", as_of: Moment = None,
    ) -> ReadResult:
        """Return whole memories by id, name or title; missing ones are named, with suggestions."""
        return self.call(requests.ReadRequest.of(ids=ids, format=format, version=version, branch=branch, as_of=as_of))

    def revise(
        self, id: str, *, text: str | Unset = UNSET, title: str | Unset = UNSET, name: str | Unset = UNSET,
        kind: str | Unset = UNSET, entity: str | Unset = UNSET, category: str | Unset = UNSET,
        project: str | Unset = UNSET, scope: str | Unset = UNSET, tags: Sequence[str] | Unset = UNSET,
        observations: Sequence[str] | Unset = UNSET,
        tier: Literal["working", "episodic", "semantic", "procedural"] | Unset = UNSET, pinned: bool | Unset = UNSET,
        relevance: float | Unset = UNSET, expires_at: Moment | Unset = UNSET, remind_at: Moment | Unset = UNSET,
        metadata: Mapping[str, Json] | Unset = UNSET, add_observations: Sequence[str] = (),
        remove_observations: Sequence[str] = (), message: str = "", expected_version: int | None = None,
        branch: str = "", source: Source | Mapping[str, Json] | None = None, idempotency_key: str = "",
    ) -> Written:
        """Change fields of a memory; the previous state remains as a version."""
        return self.call(requests.ReviseRequest.of(
            id=id, text=text, title=title, name=name, kind=kind, entity=entity, category=category, project=project,
            scope=scope, tags=tags, observations=observations, tier=tier, pinned=pinned, relevance=relevance,
            expires_at=expires_at, remind_at=remind_at, metadata=metadata, add_observations=add_observations,
            remove_observations=remove_observations, message=message, expected_version=expected_version, branch=branch,
            source=source, idempotency_key=idempotency_key,
        ))

    def forget(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Move memories to the trash; `restore` brings them back."""
        return self.call(requests.ForgetRequest.of(ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run))

    def restore(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False, branch: str = "",
    ) -> Outcome:
        """Restore memories from the trash, or, by its name, a dropped branch of them."""
        return self.call(requests.RestoreRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run, branch=branch,
        ))

    def confirm(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Confirm that memories still hold: their relevance stops falling and starts again from its stored value."""
        return self.call(requests.ConfirmRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        ))

    def purge(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False, derived: bool = False,
    ) -> Outcome:
        """Destroy memories in the trash, with every version and every trace of their text."""
        return self.call(requests.PurgeRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run, derived=derived,
        ))

    def relate(
        self, source: str, target: str, *, relation: str = "related_to", text: str = "", strength: float = 0.5,
        metadata: Mapping[str, Json] | None = None,
    ) -> Related:
        """Relate two memories; both ends show a link."""
        return self.call(requests.RelateRequest.of(
            source=source, target=target, relation=relation, text=text, strength=strength, metadata=metadata,
        ))

    def unrelate(self, source: str, target: str, *, relation: str = "related_to") -> Related:
        """Remove a relation."""
        return self.call(requests.UnrelateRequest.of(source=source, target=target, relation=relation))

    def history(
        self, id: str, *, limit: int = 20, before: int | None = None, diff: Sequence[int | str] | None = None,
        branch: str = "",
    ) -> History:
        """Return the versions of a memory, newest first; with `diff=[a, b]`, compare two.

        The name of a branch means its newest version.
        """
        return self.call(requests.HistoryRequest.of(id=id, limit=limit, before=before, diff=diff, branch=branch))

    def revert(self, id: str, *, to: int, message: str = "", branch: str = "", idempotency_key: str = "") -> Written:
        """Restore an earlier version as a new one."""
        return self.call(requests.RevertRequest.of(
            id=id, to=to, message=message, branch=branch, idempotency_key=idempotency_key,
        ))

    def commit(self, id: str, *, message: str, branch: str = "", idempotency_key: str = "") -> Written:
        """Create a version with a message and unchanged content."""
        return self.call(requests.CommitRequest.of(
            id=id, message=message, branch=branch, idempotency_key=idempotency_key,
        ))

    def branch(
        self, id: str, name: str, *, description: str = "", at: int | None = None, switch: bool = False,
    ) -> Branches:
        """Create a branch of a memory; main does not show its changes."""
        return self.call(requests.BranchRequest.of(id=id, name=name, description=description, at=at, switch=switch))

    def branches(self, id: str) -> Branches:
        """Return the branches of a memory, and the current one."""
        return self.call(requests.BranchesRequest.of(id=id))

    def switch(self, id: str, name: str) -> Branches:
        """Make another branch the current one of a memory."""
        return self.call(requests.SwitchRequest.of(id=id, name=name))

    def drop_branch(self, id: str, name: str) -> Branches:
        """Move a branch to the trash."""
        return self.call(requests.DropBranchRequest.of(id=id, name=name))

    def merge_branch(
        self, id: str, name: str, *, into: str = "main", prefer: Literal["", "ours", "theirs"] = "", message: str = "",
        idempotency_key: str = "",
    ) -> BranchMerged:
        """Merge a branch into another; conflicts are reported, and then nothing is written."""
        return self.call(requests.MergeBranchRequest.of(
            id=id, name=name, into=into, prefer=prefer, message=message, idempotency_key=idempotency_key,
        ))

    def undo(self, *, run: str = "", idempotency_key: str = "") -> Undone:
        """Undo the last change of this agent, or a named run."""
        return self.call(requests.UndoRequest.of(run=run, idempotency_key=idempotency_key))

    def outcome(self, runs: Sequence[str]) -> dict[str, bool]:
        """Return for each run whether it committed a change, for callers whose answer was lost."""
        return self.call(requests.OutcomeRequest.of(runs=runs))

    def graph(
        self, ids: str | Sequence[str], *, depth: int = 1, types: Sequence[str] = (),
        direction: Literal["out", "in", "both"] = "both", limit: int = 200, as_of: Moment = None,
    ) -> Network:
        """Return the memories that relations connect to the given ones, up to `depth` steps away."""
        return self.call(requests.GraphRequest.of(
            ids=ids, depth=depth, types=types, direction=direction, limit=limit, as_of=as_of,
        ))

    def related(
        self, id: str, *, types: Sequence[str] = (), direction: Literal["out", "in", "both"] = "both", limit: int = 200,
        as_of: Moment = None, suggest: int = 5,
    ) -> Network:
        """Return the memories that relations of a memory lead to, and suggest some that are near it by meaning."""
        return self.call(requests.RelatedRequest.of(
            id=id, types=types, direction=direction, limit=limit, as_of=as_of, suggest=suggest,
        ))

    def due(self, *, by: Moment = None, limit: int = 20) -> DueReminders:
        """Return the memories whose reminder is due, the latest first."""
        return self.call(requests.DueRequest.of(by=by, limit=limit))

    def summarize(
        self, *, entity: str = "", kind: str = "", category: str = "", tags: Sequence[str] = (),
        any_tags: Sequence[str] = (), project: str = "", scope: str = "",
        tier: Literal["", "working", "episodic", "semantic", "procedural"] = "", session: str = "", agent: str = "",
        trust: Literal["", "user", "agent", "document", "unknown"] = "", metadata: Mapping[str, Json] | None = None,
        since: Moment = None, until: Moment = None,
        flag: Literal["", "thin", "redacted", "suspicious", "unapproved"] = "",
        state: Literal["live", "merged", "archived", "trashed", "waiting", "branched"] = "live", limit: int = 12,
        max_tokens: int = 1000, prose: bool = False,
    ) -> Summary:
        """Summarize the memories of a tag, an entity, a project or a period by their central statements, oldest first."""
        return self.call(requests.SummarizeRequest.of(
            entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project, scope=scope,
            tier=tier, session=session, agent=agent, trust=trust, metadata=metadata, since=since, until=until,
            flag=flag, state=state, limit=limit, max_tokens=max_tokens, prose=prose,
        ))

    def path(
        self, source: str, target: str, *, types: Sequence[str] = (), direction: Literal["out", "in", "both"] = "both",
        most: int = 6, as_of: Moment = None,
    ) -> Network:
        """Return a shortest path from one memory to another, of at most `most` steps."""
        return self.call(requests.PathRequest.of(
            source=source, target=target, types=types, direction=direction, most=most, as_of=as_of,
        ))

    def conflicts(
        self, *, status: Literal["pending", "resolved", "ignored", "all"] = "pending", id: str = "", limit: int = 50,
    ) -> tuple[ConflictDetails, ...]:
        """Return the conflicts of the space, or of one memory."""
        return self.call(requests.ConflictsRequest.of(status=status, id=id, limit=limit))

    def probe_conflicts(
        self, drafts: Sequence[requests.RememberRequest], *, threshold: float = 0.5,
    ) -> tuple[tuple[ConflictDetails, ...], ...]:
        """Return the conflicts that each draft would have if it were stored."""
        return self.call(requests.ProbeConflictsRequest.of(drafts=drafts, threshold=threshold))

    def scan_conflicts(self, *, limit: int = 50, progress: Progress | None = None) -> Scan:
        """Scan the whole space for conflicts."""
        return self.call(requests.ScanConflictsRequest.of(limit=limit), progress=progress)

    def duplicates(self, *, id: str = "", threshold: float = 0.0, merge: bool = False, limit: int = 50) -> Duplicates:
        """Find the memories that say the same, in groups; with `merge`, join each group into its most trusted memory."""
        return self.call(requests.DuplicatesRequest.of(id=id, threshold=threshold, merge=merge, limit=limit))

    def scan_later(self, *, after: int = 0) -> Job:
        """Have the daemon scan the whole space after a delay; a waiting scan is reused."""
        return self.call(requests.ScanLaterRequest.of(after=after))

    def resolve_conflict(
        self, id: str, *, strategy: Literal["merge", "update", "branch", "supersede", "ignore", "auto"] = "auto",
        notes: str = "", branch: str = "", keep: str = "", idempotency_key: str = "",
    ) -> Resolved:
        """Resolve a conflict; `undo` takes it back."""
        return self.call(requests.ResolveConflictRequest.of(
            id=id, strategy=strategy, notes=notes, branch=branch, keep=keep, idempotency_key=idempotency_key,
        ))

    def extract(
        self, text: str, *, session: str = "", store: bool = True,
        format: Literal["auto", "text", "markdown", "whatsapp", "json", "jsonl", "chatgpt", "claude", "slack", "telegram"] = "auto",
        method: Literal["auto", "patterns", "llm"] = "auto", project: str = "", me: str = "", trusted: bool = True,
        progress: Progress | None = None,
    ) -> Extracted:
        """Extract the facts of a conversation, and store them."""
        return self.call(requests.ExtractRequest.of(
            text=text, session=session, store=store, format=format, method=method, project=project, me=me,
            trusted=trusted,
        ), progress=progress)

    def context(
        self, *, session: str = "", project: str = "", session_hint: str = "", max_tokens: int = 1500,
    ) -> Context:
        """Return the context for the start of a session."""
        return self.call(requests.ContextRequest.of(
            session=session, project=project, session_hint=session_hint, max_tokens=max_tokens,
        ))

    def create_entities(self, entities: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
        """Create or update entities by name; an invalid one does not affect the others."""
        return self.call(requests.CreateEntitiesRequest.of(entities=entities))

    def update_entity(self, id: str, changes: Mapping[str, Json]) -> dict[str, Json]:
        """Change fields of an entity."""
        return self.call(requests.UpdateEntityRequest.of(id=id, changes=changes))

    def search_nodes(self, query: str, *, limit: int = 10) -> dict[str, Json]:
        """Find entities by name, type and meaning; pinned ones come first."""
        return self.call(requests.SearchNodesRequest.of(query=query, limit=limit))

    def get_memory_status(self) -> dict[str, Json]:
        """Return counts by type and tier, sizes and versions."""
        return self.call(requests.GetMemoryStatusRequest.of())

    def rules(self) -> Rules:
        """Return the rules of the space."""
        return self.call(requests.RulesRequest.of())

    def set_rules(
        self, *, gate: Literal["merge", "report", "off"] | Unset | None = UNSET,
        window_days: int | Unset | None = UNSET, same: float | Unset | None = UNSET,
        density: Literal["warn", "reject", "reconstruct", "off"] | Unset | None = UNSET,
        least_characters: int | Unset | None = UNSET, tags: Literal["normalise", "off"] | Unset | None = UNSET,
        least_tags: int | Unset | None = UNSET, most_tags: int | Unset | None = UNSET,
        secrets: Literal["redact", "off"] | Unset | None = UNSET,
        injection: Literal["label", "off"] | Unset | None = UNSET,
        conflicts: Literal["detect", "off"] | Unset | None = UNSET,
        review: Literal["none", "agents", "all"] | Unset | None = UNSET,
        never: str | Sequence[str] | Unset | None = UNSET, never_paths: str | Sequence[str] | Unset | None = UNSET,
        llm: Literal["later", "wait", "off"] | Unset | None = UNSET, prune_days: int | Unset | None = UNSET,
        purge_days: int | Unset | None = UNSET, most_memories: int | Unset | None = UNSET,
        most_bytes: int | Unset | None = UNSET,
    ) -> Rules:
        """Change rules of the space, such as `gate="report"`; null restores a default."""
        return self.call(requests.SetRulesRequest.of(
            gate=gate, window_days=window_days, same=same, density=density, least_characters=least_characters,
            tags=tags, least_tags=least_tags, most_tags=most_tags, secrets=secrets, injection=injection,
            conflicts=conflicts, review=review, never=never, never_paths=never_paths, llm=llm, prune_days=prune_days,
            purge_days=purge_days, most_memories=most_memories, most_bytes=most_bytes,
        ))

    def tags(self, *, limit: int = 200) -> TagTable:
        """Return the tags of the space with their counts, and their synonyms."""
        return self.call(requests.TagsRequest.of(limit=limit))

    def add_synonyms(self, tag: str, variants: Sequence[str]) -> TagTable:
        """Make other words synonyms of a tag."""
        return self.call(requests.AddSynonymsRequest.of(tag=tag, variants=variants))

    def remove_synonyms(self, variants: Sequence[str]) -> TagTable:
        """Remove synonyms: the words become tags of their own again."""
        return self.call(requests.RemoveSynonymsRequest.of(variants=variants))

    def preview_tags(self, tags: Sequence[str] = (), *, text: str = "") -> TagPreview:
        """Preview the normalization of tags, and suggest tags for a text."""
        return self.call(requests.PreviewTagsRequest.of(tags=tags, text=text))

    def inbox(self, *, limit: int = 50) -> tuple[Memory, ...]:
        """Return the memories that wait for approval, newest first."""
        return self.call(requests.InboxRequest.of(limit=limit))

    def approve(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Approve waiting memories."""
        return self.call(requests.ApproveRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        ))

    def decline(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Move waiting memories to the trash."""
        return self.call(requests.DeclineRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        ))

    def jobs(self, *, limit: int = 50) -> tuple[Job, ...]:
        """Return queued and finished jobs, newest first."""
        return self.call(requests.JobsRequest.of(limit=limit))

    def retry_job(self, id: str) -> Job:
        """Run a failed job again."""
        return self.call(requests.RetryJobRequest.of(id=id))

    def cancel_job(self, id: str) -> Job:
        """Cancel a job."""
        return self.call(requests.CancelJobRequest.of(id=id))

    def curate(
        self,
        jobs: str | Sequence[Literal["tiers", "duplicates", "consolidate", "prune", "tags", "vectors", "bodies"]] = (),
        *, dry_run: bool = False, limit: int = 50, progress: Progress | None = None,
    ) -> CurationReport:
        """Run the jobs that keep the space in order, such as moving unused memories to another tier.

        Every change is a version: `undo` with the id of the run takes all of them back. A run that was interrupted goes on.
        """
        return self.call(requests.CurateRequest.of(jobs=jobs, dry_run=dry_run, limit=limit), progress=progress)

    def prune(
        self, *, days: int | None = None, keep: int | None = None, keep_bytes: int | None = None,
        clusters: bool = False, include: str | Sequence[Literal["pinned", "linked", "stated"]] = (),
        dry_run: bool = False, limit: int = 50, progress: Progress | None = None,
    ) -> CurationReport:
        """Move memories to the trash: the expired, the long unused, and all but the best of a budget.

        Pinned memories, those that others link to and what the user stated are spared. `undo` with the id of the run takes
        it back. Without a limit, what the rules of the space say is done.
        """
        return self.call(requests.PruneRequest.of(
            days=days, keep=keep, keep_bytes=keep_bytes, clusters=clusters, include=include, dry_run=dry_run,
            limit=limit,
        ), progress=progress)

    def curations(self, *, run: str = "", limit: int = 10, changes: int = 50) -> tuple[CurationReport, ...]:
        """Return the reports of earlier runs of curation, the newest first."""
        return self.call(requests.CurationsRequest.of(run=run, limit=limit, changes=changes))

    def run_code(
        self, code: str = "", *, context_vars: Mapping[str, Json] | None = None, max_tokens: int = 2000,
        handle: str = "", offset: int = 0,
    ) -> CodeResult:
        """Run a Python program beside the memory, and return what it computed; or the next part of a stored result."""
        return self.call(requests.RunCodeRequest.of(
            code=code, context_vars=context_vars, max_tokens=max_tokens, handle=handle, offset=offset,
        ))

    def usage(self, *, days: int = 30, limit: int = 10) -> Usage:
        """Return what is asked of the space, what is found and read, and which memories never are."""
        return self.call(requests.UsageRequest.of(days=days, limit=limit))

    def save_skill(
        self, name: str, *, source: str = "", description: str = "", tags: Sequence[str] = (),
        example: Mapping[str, Json] | None = None, draft: bool = False, from_memory: str = "",
        expected_version: int | None = None,
    ) -> SavedSkill:
        """Save a function as a skill, or the next version of one, after it was run with its example.

        The example is run for real: what it writes is stored.
        """
        return self.call(requests.SaveSkillRequest.of(
            name=name, source=source, description=description, tags=tags, example=example, draft=draft,
            from_memory=from_memory, expected_version=expected_version,
        ))

    def list_skills(self, query: str = "", *, tags: Sequence[str] = (), limit: int = 50) -> tuple[Skill, ...]:
        """Return the skills with their runs, mean time and success rate; those whose runs fail are marked."""
        return self.call(requests.ListSkillsRequest.of(query=query, tags=tags, limit=limit))

    def load_skill(self, name: str) -> Skill:
        """Return a skill with its source."""
        return self.call(requests.LoadSkillRequest.of(name=name))

    def run_skill(
        self, name: str, *, arguments: Mapping[str, Json] | None = None, max_tokens: int = 2000,
    ) -> CodeResult:
        """Run a skill, and return what it computed."""
        return self.call(requests.RunSkillRequest.of(name=name, arguments=arguments, max_tokens=max_tokens))

    def status(self) -> Status:
        """Return health, sizes, backends and degraded parts."""
        return self.call(requests.StatusRequest.of())

    def doctor(self, *, deep: bool = False, repair: bool = False) -> DoctorReport:
        """Check everything; `repair` first repairs what it can."""
        return self.call(requests.DoctorRequest.of(deep=deep, repair=repair))

    def embed_missing(self, *, progress: Progress | None = None) -> int:
        """Embed texts without a vector; returns their number."""
        return self.call(requests.EmbedMissingRequest.of(), progress=progress)

    def reembed(self, *, model: str, url: str = "", dimension: int = 0, progress: Progress | None = None) -> Reembedded:
        """Embed all texts with another model, beside the vectors in use, then use that model; a killed run goes on."""
        return self.call(requests.ReembedRequest.of(model=model, url=url, dimension=dimension), progress=progress)

    def backup(self, target: str | Path, *, progress: Progress | None = None) -> Path:
        """Copy the store to a file while it is in use, and verify the copy; returns the path of the copy."""
        return self.call(requests.BackupRequest.of(target=target), progress=progress)

    def create_token(
        self, *, name: str, spaces: Sequence[str] = (), access: str = "read", expires: str = "",
        requests_per_minute: int = 0, body_bytes: int = 0, mcp_only: bool = False, trusted_imports: bool = False,
    ) -> NewToken:
        """Create a token for access over HTTP; only this answer contains its secret."""
        return self.call(requests.CreateTokenRequest.of(
            name=name, spaces=spaces, access=access, expires=expires, requests_per_minute=requests_per_minute,
            body_bytes=body_bytes, mcp_only=mcp_only, trusted_imports=trusted_imports,
        ))

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, oldest first, including expired and revoked ones."""
        return self.call(requests.TokensRequest.of())

    def revoke_token(self, ref: str) -> Token:
        """Revoke a token by its id or name, at once and for good."""
        return self.call(requests.RevokeTokenRequest.of(ref=ref))

    def write_note(
        self, title: str, content: str = "", *, tags: Sequence[str] = (), category: str = "", template: str = "",
        project: str = "", source: Source | Mapping[str, Json] | None = None, idempotency_key: str = "",
    ) -> NoteWritten:
        """Write a new note; similar ones are reported, and never merged with it."""
        return self.call(requests.WriteNoteRequest.of(
            title=title, content=content, tags=tags, category=category, template=template, project=project,
            source=source, idempotency_key=idempotency_key,
        ))

    def read_note(self, identifier: str, *, format: Literal["markdown", "plain", "json"] = "markdown") -> NoteRead:
        """Return a note by id, title, name, file name or half of a title."""
        return self.call(requests.ReadNoteRequest.of(identifier=identifier, format=format))

    def edit_note(
        self, id: str, *, title: str | None = None, content: str | None = None, tags: Sequence[str] | None = None,
        category: str | None = None, expected_version: int | None = None, message: str = "", idempotency_key: str = "",
    ) -> NoteChanged:
        """Change a note; omitted fields keep their values, and the previous state remains as a version."""
        return self.call(requests.EditNoteRequest.of(
            id=id, title=title, content=content, tags=tags, category=category, expected_version=expected_version,
            message=message, idempotency_key=idempotency_key,
        ))

    def search_notes(
        self, query: str, *, limit: int = 10, category: str = "", tags: Sequence[str] = (), semantic: bool = False,
    ) -> NotesFound:
        """Find notes by words, `"phrases"` and `prefixes*`; with `semantic` also by meaning."""
        return self.call(requests.SearchNotesRequest.of(
            query=query, limit=limit, category=category, tags=tags, semantic=semantic,
        ))

    def link_notes(self, source_id: str, target_id: str, *, link_text: str = "") -> NoteLinked:
        """Link two notes with each other."""
        return self.call(requests.LinkNotesRequest.of(source_id=source_id, target_id=target_id, link_text=link_text))

    def unlink_notes(self, source_id: str, target_id: str) -> NoteLinked:
        """Remove the link between two notes, at both ends."""
        return self.call(requests.UnlinkNotesRequest.of(source_id=source_id, target_id=target_id))

    def current_date(
        self, *, format: Literal["iso", "locale", "timestamp", "date_only"] = "iso", timezone: str = "",
    ) -> CurrentDate:
        """Return the current date and time."""
        return self.call(requests.CurrentDateRequest.of(format=format, timezone=timezone))

    def review_note(self, id: str) -> NoteReviewed:
        """Mark a note as reviewed."""
        return self.call(requests.ReviewNoteRequest.of(id=id))

    def due_notes(self, *, days: int = 90, limit: int = 20, category: str = "") -> DueNotes:
        """Return the notes that were not reviewed for a number of days."""
        return self.call(requests.DueNotesRequest.of(days=days, limit=limit, category=category))

    def backlinks(self, id: str) -> Backlinks:
        """Return the notes that link to a note."""
        return self.call(requests.BacklinksRequest.of(id=id))

    def broken_links(self, *, limit: int = 100) -> BrokenLinks:
        """Return the links without a target note, with suggestions."""
        return self.call(requests.BrokenLinksRequest.of(limit=limit))

    def note_categories(self) -> Categories:
        """Return the categories of notes with their counts."""
        return self.call(requests.NoteCategoriesRequest.of())

    def note_templates(self) -> Templates:
        """Return the templates for new notes."""
        return self.call(requests.NoteTemplatesRequest.of())

    def sync_notes(
        self, *, deletions: bool = False, adopt: bool = False, progress: Progress | None = None,
    ) -> NotesSynced:
        """Synchronize the store with the whole folder of notes."""
        return self.call(requests.SyncNotesRequest.of(deletions=deletions, adopt=adopt), progress=progress)

    def attach_file(self, note: str, name: str, data: str | bytes, *, caption: str = "") -> Attached:
        """Attach bytes, or text in base64, to a note: stored next to it and embedded in it."""
        return self.call(requests.AttachFileRequest.of(note=note, name=name, data=data, caption=caption))

    def attach_path(self, note: str, path: str | Path, *, caption: str = "", name: str = "") -> Attached:
        """Attach a file of this machine to a note; a remote server receives its bytes."""
        return self.call(requests.AttachPathRequest.of(note=note, path=path, caption=caption, name=name))

    def note_attachments(self, note: str) -> NoteAttachments:
        """Return the attachments of a note."""
        return self.call(requests.NoteAttachmentsRequest.of(note=note))

    def orphaned_files(self) -> Orphans:
        """Return attachments that no note embeds or without a file, and unknown files."""
        return self.call(requests.OrphanedFilesRequest.of())

    def export_notes(
        self, target: str | Path, *, refs: Sequence[str] = (),
        format: Literal["md", "json", "csv", "html", "pdf"] = "md", category: str = "", tags: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> NotesExported:
        """Export notes: the named ones, else all of a category and with tags.

        The target is a file, a folder or a .zip, which is complete when this returns.
        """
        return self.call(requests.ExportNotesRequest.of(
            target=target, refs=refs, format=format, category=category, tags=tags,
        ), progress=progress)

    def import_notes(
        self, folder: str | Path, *, category: str = "", dry_run: bool = False, progress: Progress | None = None,
    ) -> NotesImported:
        """Import a folder of Markdown files, such as an Obsidian vault, without writing to it.

        A repeated import writes only new and changed notes.
        """
        return self.call(requests.ImportNotesRequest.of(
            folder=folder, category=category, dry_run=dry_run,
        ), progress=progress)
