"""The verbs as methods, with their arguments. Written by `make docs` from the requests: change those instead."""

# fmt: off
# ruff: noqa: D413, E501
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

from scrubjay.client import pages
from scrubjay.model import requests
from scrubjay.model.arguments import UNSET, Request, Unset
from scrubjay.model.attachments import Attached, NoteAttachments, Orphans
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.code import CodeResult
from scrubjay.model.conflict import ConflictDetails, Duplicates, Resolved, Scan
from scrubjay.model.curation import CurationReport
from scrubjay.model.fact import Extracted
from scrubjay.model.health import HealthReport
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
    NotesAdopted,
    NotesExported,
    NotesFound,
    NotesImported,
    NotesSynced,
    NoteWritten,
    Templates,
)
from scrubjay.model.query import Filter, TextHit, TextsFound
from scrubjay.model.relation import Network
from scrubjay.model.results import (
    Context,
    DoctorReport,
    DueReminders,
    History,
    Hit,
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
from scrubjay.model.version import Version

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
        """Store a text once, under every entity it is about; the result says what was done.

        Args:
            text: Text to remember.
            title: Title.
            kind: Kind: fact, preference, decision …
            name: Name, unique among live memories. Default: derived from the title.
            entities: Person or thing the text is about; repeatable.
            observations: An atomic fact; repeatable.
            tags: Tag; repeatable.
            category: Category, such as work or work/meetings.
            project: Project.
            scope: Scope, for example personal or team.
            session_hint: Name of a task: its texts are collected in one memory.
            intent: `new` never merges, `continue` appends to the memory of the session hint, `auto` decides.
            pinned: Include it in every answer to a question.
            expires_at: Hide it from recall after this time.
            remind_at: When to remind you of it.
            source: Where the text comes from: session, conversation, agent, tool, at, method and trust.
            metadata: Values of your own, as an object.
            idempotency_key: Key that makes a repeated call safe.
            dry_run: Only show what would be done.
            wait_for_llm: Wait for the improvements of the language model, if one is configured, instead of leaving them
                to a job.
        """
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
        """Store many texts, each as `remember` does; the result has an entry for each, in order.

        Args:
            items: The texts, each with the arguments of `remember`.
            atomic: Store all of them, or none if one cannot be stored.
            idempotency_key: Key that makes a repeated call safe.
            dry_run: Only show what would be done.
            progress: Called with two numbers, done and total.
        """
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
        contains: str = "", around: int = 0, max_tokens: int | None = None, min_score: float | None = None,
        detail: Literal["concise", "full"] = "concise", cursor: str = "", explain: bool = False, today: Moment = None,
        as_of: Moment = None, branch: str = "main",
    ) -> Recalled:
        """Find the memories that answer a question; without one, the most recent.

        Args:
            query: Question or words; without it, the most recent memories.
            limit: Maximum number of memories.
            entity: Only memories filed under this entity.
            kind: Only this kind.
            category: Only this category and its subcategories.
            tags: Only memories with this tag; repeatable, all must match.
            any_tags: Only memories with one of these tags; repeatable.
            project: Only this project; `*` for all.
            scope: Only this scope.
            tier: Only this tier.
            session: Only from this session.
            agent: Only memories that this agent wrote.
            trust: Only from this kind of source.
            metadata: Only memories with these values in their metadata.
            since: Not older than this time.
            until: Older than this time.
            flag: Only memories with this flag.
            state: Only memories in this state.
            from_project: The project in which it is asked: its memories come first, those of others last and marked.
            contains: Only memories whose title, content or observations contain this text, in upper or lower case.
            around: Show so many neighbours before and after each hit in its session.
            max_tokens: Token budget of the result, which may leave hits to the next page. Default: none.
            min_score: Least score of a hit, from 0 to 1. Without it, what hardly answers is left out or marked as weak.
            detail: Show a part of each memory, or all of it.
            cursor: Continue after the previous page.
            explain: Show the parts of each score.
            today: Reference time for 'yesterday' and 'in March'. Default: now.
            as_of: Show the state at this time.
            branch: Show memories that have this branch as they are on it.
        """
        return await self.call(requests.RecallRequest.of(
            query=query, limit=limit, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags,
            project=project, scope=scope, tier=tier, session=session, agent=agent, trust=trust, metadata=metadata,
            since=since, until=until, flag=flag, state=state, from_project=from_project, contains=contains,
            around=around, max_tokens=max_tokens, min_score=min_score, detail=detail, cursor=cursor, explain=explain,
            today=today, as_of=as_of, branch=branch,
        ))

    async def recall_all(
        self, query: str = "", *, page: int = 50, entity: str = "", kind: str = "", category: str = "",
        tags: Sequence[str] = (), any_tags: Sequence[str] = (), project: str = "", scope: str = "",
        tier: Literal["", "working", "episodic", "semantic", "procedural"] = "", session: str = "", agent: str = "",
        trust: Literal["", "user", "agent", "document", "unknown"] = "", metadata: Mapping[str, Json] | None = None,
        since: Moment = None, until: Moment = None,
        flag: Literal["", "thin", "redacted", "suspicious", "unapproved"] = "",
        state: Literal["live", "merged", "archived", "trashed", "waiting", "branched"] = "live", from_project: str = "",
        contains: str = "", around: int = 0, max_tokens: int | None = None, min_score: float | None = None,
        detail: Literal["concise", "full"] = "concise", explain: bool = False, today: Moment = None,
        as_of: Moment = None, branch: str = "main",
    ) -> AsyncIterator[Hit]:
        """Yield every item of `hits` of `recall`, page by page.

        Args:
            page: Items of a page.
            query: Question or words; without it, the most recent memories.
            entity: Only memories filed under this entity.
            kind: Only this kind.
            category: Only this category and its subcategories.
            tags: Only memories with this tag; repeatable, all must match.
            any_tags: Only memories with one of these tags; repeatable.
            project: Only this project; `*` for all.
            scope: Only this scope.
            tier: Only this tier.
            session: Only from this session.
            agent: Only memories that this agent wrote.
            trust: Only from this kind of source.
            metadata: Only memories with these values in their metadata.
            since: Not older than this time.
            until: Older than this time.
            flag: Only memories with this flag.
            state: Only memories in this state.
            from_project: The project in which it is asked: its memories come first, those of others last and marked.
            contains: Only memories whose title, content or observations contain this text, in upper or lower case.
            around: Show so many neighbours before and after each hit in its session.
            max_tokens: Token budget of the result, which may leave hits to the next page. Default: none.
            min_score: Least score of a hit, from 0 to 1. Without it, what hardly answers is left out or marked as weak.
            detail: Show a part of each memory, or all of it.
            explain: Show the parts of each score.
            today: Reference time for 'yesterday' and 'in March'. Default: now.
            as_of: Show the state at this time.
            branch: Show memories that have this branch as they are on it.
        """
        request: requests.RecallRequest | None = requests.RecallRequest.of(
            query=query, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project,
            scope=scope, tier=tier, session=session, agent=agent, trust=trust, metadata=metadata, since=since,
            until=until, flag=flag, state=state, from_project=from_project, contains=contains, around=around,
            max_tokens=max_tokens, min_score=min_score, detail=detail, explain=explain, today=today, as_of=as_of,
            branch=branch, limit=page,
        )
        while request is not None:
            result = await self.call(request)
            for item in result.hits:
                yield item
            request = pages.after_recall(request, result)

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
        """Find memories by words: required words, `prefixes*`, "exact phrases" and -excluded words.

        Args:
            query: Words, prefixes and phrases.
            entity: Only memories filed under this entity.
            kind: Only this kind.
            category: Only this category and its subcategories.
            tags: Only memories with this tag; repeatable, all must match.
            any_tags: Only memories with one of these tags; repeatable.
            project: Only this project; `*` for all.
            scope: Only this scope.
            tier: Only this tier.
            session: Only from this session.
            agent: Only memories that this agent wrote.
            trust: Only from this kind of source.
            metadata: Only memories with these values in their metadata.
            since: Not older than this time.
            until: Older than this time.
            flag: Only memories with this flag.
            state: Only memories in this state.
            limit: Maximum number of hits.
            offset: Number of best hits to skip, for paging.
        """
        return await self.call(requests.SearchTextRequest.of(
            query=query, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project,
            scope=scope, tier=tier, session=session, agent=agent, trust=trust, metadata=metadata, since=since,
            until=until, flag=flag, state=state, limit=limit, offset=offset,
        ))

    async def search_text_all(
        self, query: str, *, page: int = 50, entity: str = "", kind: str = "", category: str = "",
        tags: Sequence[str] = (), any_tags: Sequence[str] = (), project: str = "", scope: str = "",
        tier: Literal["", "working", "episodic", "semantic", "procedural"] = "", session: str = "", agent: str = "",
        trust: Literal["", "user", "agent", "document", "unknown"] = "", metadata: Mapping[str, Json] | None = None,
        since: Moment = None, until: Moment = None,
        flag: Literal["", "thin", "redacted", "suspicious", "unapproved"] = "",
        state: Literal["live", "merged", "archived", "trashed", "waiting", "branched"] = "live",
    ) -> AsyncIterator[TextHit]:
        """Yield every item of `hits` of `search_text`, page by page.

        Args:
            page: Items of a page.
            query: Words, prefixes and phrases.
            entity: Only memories filed under this entity.
            kind: Only this kind.
            category: Only this category and its subcategories.
            tags: Only memories with this tag; repeatable, all must match.
            any_tags: Only memories with one of these tags; repeatable.
            project: Only this project; `*` for all.
            scope: Only this scope.
            tier: Only this tier.
            session: Only from this session.
            agent: Only memories that this agent wrote.
            trust: Only from this kind of source.
            metadata: Only memories with these values in their metadata.
            since: Not older than this time.
            until: Older than this time.
            flag: Only memories with this flag.
            state: Only memories in this state.
        """
        request: requests.SearchTextRequest | None = requests.SearchTextRequest.of(
            query=query, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project,
            scope=scope, tier=tier, session=session, agent=agent, trust=trust, metadata=metadata, since=since,
            until=until, flag=flag, state=state, limit=page,
        )
        while request is not None:
            result = await self.call(request)
            for item in result.hits:
                yield item
            request = pages.after_search_text(request, result)

    async def read(
        self, ids: str | Sequence[str], *, format: Literal["markdown", "plain", "json"] = "markdown",
        version: int | None = None, branch: str = "", as_of: Moment = None,
    ) -> ReadResult:
        """Return whole memories by id, name or title; missing ones are named, with suggestions.

        Args:
            ids: Ids, names or titles.
            format: Form of the text in the result.
            version: Show this older version.
            branch: Branch to use. Default: the current branch of the memory.
            as_of: Show the state at this time.
        """
        return pages.require_existing(ids, await self.call(requests.ReadRequest.of(
            ids=ids, format=format, version=version, branch=branch, as_of=as_of,
        )))

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
        """Change fields of a memory; the previous state remains as a version.

        Args:
            id: Id, name or title.
            text: New content.
            title: New title.
            name: New name.
            kind: New kind.
            entity: New entity.
            category: New category.
            project: New project.
            scope: New scope.
            tags: New tags, which replace all tags; repeatable.
            observations: New facts, which replace all facts; repeatable.
            tier: New tier.
            pinned: Pin or unpin.
            relevance: New relevance, from 0 to 1; it falls from there until you confirm the memory.
            expires_at: Hide it from recall after this time; null cancels that.
            remind_at: When to remind you of it; null cancels the reminder.
            metadata: New metadata, which replaces the old.
            add_observations: A fact to add; repeatable.
            remove_observations: A fact to remove; repeatable.
            message: Reason, recorded in the history.
            expected_version: Fail if the memory has changed since this version.
            branch: Branch to use. Default: the current branch of the memory.
            source: Source of the added observations.
            idempotency_key: Key that makes a repeated call safe.
        """
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
        """Move memories to the trash; `restore` brings them back.

        Args:
            ids: Ids, names or titles; or give a filter.
            filter: All memories that match these conditions.
            group: Include the records of the same text for other entities.
            reason: Reason, recorded in the history.
            dry_run: Only show what would be done.
        """
        return pages.require_existing(ids, await self.call(requests.ForgetRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        )))

    async def restore(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False, branch: str = "",
    ) -> Outcome:
        """Restore memories from the trash, or, by its name, a dropped branch of them.

        Args:
            ids: Ids, names or titles; or give a filter.
            filter: All memories that match these conditions.
            group: Include the records of the same text for other entities.
            reason: Reason, recorded in the history.
            dry_run: Only show what would be done.
            branch: Restore the dropped branch of this name, not the memories.
        """
        return pages.require_existing(ids, await self.call(requests.RestoreRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run, branch=branch,
        )))

    async def confirm(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Confirm that memories still hold: their relevance stops falling and starts again from its stored value.

        Args:
            ids: Ids, names or titles; or give a filter.
            filter: All memories that match these conditions.
            group: Include the records of the same text for other entities.
            reason: Reason, recorded in the history.
            dry_run: Only show what would be done.
        """
        return pages.require_existing(ids, await self.call(requests.ConfirmRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        )))

    async def purge(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False, derived: bool = False,
    ) -> Outcome:
        """Destroy memories in the trash, with every version and every trace of their text.

        Args:
            ids: Ids, names or titles; or give a filter.
            filter: All memories that match these conditions.
            group: Include the records of the same text for other entities.
            reason: Reason, recorded in the history.
            dry_run: Only show what would be done.
            derived: Destroy the memories that curation made of them too, which share their statements.
        """
        return pages.require_existing(ids, await self.call(requests.PurgeRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run, derived=derived,
        )))

    async def relate(
        self, source: str, target: str, *, relation: str = "related_to", text: str = "", strength: float = 0.5,
        metadata: Mapping[str, Json] | None = None,
    ) -> Related:
        """Relate two memories; both ends show a link.

        Args:
            source: Id, name or title.
            target: Id, name or title of the other memory.
            relation: Type of the relation.
            text: Text of the link.
            strength: Strength from 0 to 1.
            metadata: Values of your own, as an object.
        """
        return await self.call(requests.RelateRequest.of(
            source=source, target=target, relation=relation, text=text, strength=strength, metadata=metadata,
        ))

    async def unrelate(self, source: str, target: str, *, relation: str = "related_to") -> Related:
        """Remove a relation.

        Args:
            source: Id, name or title.
            target: Id, name or title of the other memory.
            relation: Type of the relation.
        """
        return await self.call(requests.UnrelateRequest.of(source=source, target=target, relation=relation))

    async def history(
        self, id: str, *, limit: int = 20, before: int | None = None, diff: Sequence[int | str] | None = None,
        branch: str = "",
    ) -> History:
        """Return the versions of a memory, newest first; with `diff=[a, b]`, compare two.

        The name of a branch means its newest version.

        Args:
            id: Id, name or title.
            limit: Maximum number of versions.
            before: Only versions before this one, for the next page.
            diff: Compare these two versions or branches.
            branch: Branch to use. Default: the current branch of the memory.
        """
        return await self.call(requests.HistoryRequest.of(id=id, limit=limit, before=before, diff=diff, branch=branch))

    async def history_all(self, id: str, *, page: int = 50, branch: str = "") -> AsyncIterator[Version]:
        """Yield every item of `versions` of `history`, page by page.

        Args:
            page: Items of a page.
            id: Id, name or title.
            branch: Branch to use. Default: the current branch of the memory.
        """
        request: requests.HistoryRequest | None = requests.HistoryRequest.of(id=id, branch=branch, limit=page)
        while request is not None:
            result = await self.call(request)
            for item in result.versions:
                yield item
            request = pages.after_history(request, result)

    async def revert(
        self, id: str, *, to: int, message: str = "", branch: str = "", idempotency_key: str = "",
    ) -> Written:
        """Restore an earlier version as a new one.

        Args:
            id: Id, name or title.
            to: The version to restore.
            message: Reason, recorded in the history.
            branch: Branch to use. Default: the current branch of the memory.
            idempotency_key: Key that makes a repeated call safe.
        """
        return await self.call(requests.RevertRequest.of(
            id=id, to=to, message=message, branch=branch, idempotency_key=idempotency_key,
        ))

    async def commit(
        self, id: str, *, message: str, branch: str = "", label: bool = False, idempotency_key: str = "",
    ) -> Written:
        """Create a version with a message and unchanged content; with `label`, give the message to the current version.

        Args:
            id: Id, name or title.
            message: Description of this version.
            branch: Branch to use. Default: the current branch of the memory.
            label: Add the message to the current version, and make no other.
            idempotency_key: Key that makes a repeated call safe.
        """
        return await self.call(requests.CommitRequest.of(
            id=id, message=message, branch=branch, label=label, idempotency_key=idempotency_key,
        ))

    async def branch(
        self, id: str, name: str, *, description: str = "", at: int | None = None, switch: bool = False,
    ) -> Branches:
        """Create a branch of a memory; main does not show its changes.

        Args:
            id: Id, name or title.
            name: Name of the branch.
            description: Purpose of the branch.
            at: Start at this version of main. Default: the newest.
            switch: Switch the memory to the branch at once.
        """
        return await self.call(requests.BranchRequest.of(
            id=id, name=name, description=description, at=at, switch=switch,
        ))

    async def branches(self, id: str) -> Branches:
        """Return the branches of a memory, and the current one.

        Args:
            id: Id, name or title.
        """
        return await self.call(requests.BranchesRequest.of(id=id))

    async def switch(self, id: str, name: str) -> Branches:
        """Make another branch the current one of a memory.

        Args:
            id: Id, name or title.
            name: Name of the branch.
        """
        return await self.call(requests.SwitchRequest.of(id=id, name=name))

    async def drop_branch(self, id: str, name: str) -> Branches:
        """Move a branch to the trash.

        Args:
            id: Id, name or title.
            name: Name of the branch.
        """
        return await self.call(requests.DropBranchRequest.of(id=id, name=name))

    async def merge_branch(
        self, id: str, name: str, *, into: str = "main", prefer: Literal["", "ours", "theirs"] = "", message: str = "",
        idempotency_key: str = "",
    ) -> BranchMerged:
        """Merge a branch into another; conflicts are reported, and then nothing is written.

        Args:
            id: Id, name or title.
            name: Name of the branch.
            into: Target branch.
            prefer: Winner of conflicts: `ours` is the value of the target branch, `theirs` that of the merged one.
            message: Reason, recorded in the history.
            idempotency_key: Key that makes a repeated call safe.
        """
        return await self.call(requests.MergeBranchRequest.of(
            id=id, name=name, into=into, prefer=prefer, message=message, idempotency_key=idempotency_key,
        ))

    async def undo(self, *, run: str = "", idempotency_key: str = "") -> Undone:
        """Undo the last change of this agent, or a named run.

        Args:
            run: Name or id of a run. Default: the last change of this agent.
            idempotency_key: Key that makes a repeated call safe.
        """
        return await self.call(requests.UndoRequest.of(run=run, idempotency_key=idempotency_key))

    async def outcome(self, runs: Sequence[str]) -> dict[str, bool]:
        """Return for each run whether it committed a change, for callers whose answer was lost.

        Args:
            runs: Names or ids of runs.
        """
        return await self.call(requests.OutcomeRequest.of(runs=runs))

    async def graph(
        self, ids: str | Sequence[str], *, depth: int = 1, types: Sequence[str] = (),
        direction: Literal["out", "in", "both"] = "both", limit: int = 200, as_of: Moment = None,
    ) -> Network:
        """Return the memories that relations connect to the given ones, up to `depth` steps away.

        Args:
            ids: Ids, names or titles.
            depth: Maximum distance in relations.
            types: Only relations of this type; repeatable.
            direction: Follow relations forwards, backwards, or both.
            limit: Maximum number of memories.
            as_of: Show the state at this time.
        """
        return await self.call(requests.GraphRequest.of(
            ids=ids, depth=depth, types=types, direction=direction, limit=limit, as_of=as_of,
        ))

    async def related(
        self, id: str, *, types: Sequence[str] = (), direction: Literal["out", "in", "both"] = "both", limit: int = 200,
        as_of: Moment = None, suggest: int = 5,
    ) -> Network:
        """Return the memories that relations of a memory lead to, and suggest some that are near it by meaning.

        Args:
            id: Id, name or title.
            types: Only relations of this type; repeatable.
            direction: Follow relations forwards, backwards, or both.
            limit: Maximum number of memories.
            as_of: Show the state at this time.
            suggest: Suggest so many memories that are near it by meaning and not related yet.
        """
        return await self.call(requests.RelatedRequest.of(
            id=id, types=types, direction=direction, limit=limit, as_of=as_of, suggest=suggest,
        ))

    async def due(self, *, by: Moment = None, limit: int = 20) -> DueReminders:
        """Return the memories whose reminder is due, the latest first.

        Args:
            by: Due by this time. Default: now.
            limit: Maximum number of memories.
        """
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
        """Summarize the memories of a tag, an entity, a project or a period by their central statements, oldest first.

        Args:
            entity: Only memories filed under this entity.
            kind: Only this kind.
            category: Only this category and its subcategories.
            tags: Only memories with this tag; repeatable, all must match.
            any_tags: Only memories with one of these tags; repeatable.
            project: Only this project; `*` for all.
            scope: Only this scope.
            tier: Only this tier.
            session: Only from this session.
            agent: Only memories that this agent wrote.
            trust: Only from this kind of source.
            metadata: Only memories with these values in their metadata.
            since: Not older than this time.
            until: Older than this time.
            flag: Only memories with this flag.
            state: Only memories in this state.
            limit: Maximum number of statements.
            max_tokens: Token budget of the result.
            prose: Let the language model, if there is one, make one text of the statements.
        """
        return await self.call(requests.SummarizeRequest.of(
            entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project, scope=scope,
            tier=tier, session=session, agent=agent, trust=trust, metadata=metadata, since=since, until=until,
            flag=flag, state=state, limit=limit, max_tokens=max_tokens, prose=prose,
        ))

    async def path(
        self, source: str, target: str, *, types: Sequence[str] = (), direction: Literal["out", "in", "both"] = "both",
        most: int = 6, as_of: Moment = None,
    ) -> Network:
        """Return a shortest path from one memory to another, of at most `most` steps.

        Args:
            source: Id, name or title.
            target: Id, name or title.
            types: Only relations of this type; repeatable.
            direction: Follow relations forwards, backwards, or both.
            most: Maximum number of relations.
            as_of: Show the state at this time.
        """
        return await self.call(requests.PathRequest.of(
            source=source, target=target, types=types, direction=direction, most=most, as_of=as_of,
        ))

    async def conflicts(
        self, *, status: Literal["pending", "resolved", "ignored", "all"] = "pending", id: str = "", limit: int = 50,
    ) -> tuple[ConflictDetails, ...]:
        """Return the conflicts of the space, or of one memory.

        Args:
            status: Which conflicts to return.
            id: Only conflicts of this memory: its id, name or title.
            limit: Maximum number of conflicts.
        """
        return await self.call(requests.ConflictsRequest.of(status=status, id=id, limit=limit))

    async def probe_conflicts(
        self, drafts: Sequence[requests.RememberRequest], *, threshold: float = 0.5,
    ) -> tuple[tuple[ConflictDetails, ...], ...]:
        """Return the conflicts that each draft would have if it were stored.

        Args:
            drafts: Texts that are not stored yet.
            threshold: Least confidence of a conflict, from 0 to 1.
        """
        return await self.call(requests.ProbeConflictsRequest.of(drafts=drafts, threshold=threshold))

    async def scan_conflicts(self, *, limit: int = 50, progress: Progress | None = None) -> Scan:
        """Scan the whole space for conflicts.

        Args:
            limit: Maximum number of conflicts.
            progress: Called with two numbers, done and total.
        """
        return await self.call(requests.ScanConflictsRequest.of(limit=limit), progress=progress)

    async def duplicates(
        self, *, id: str = "", threshold: float = 0.0, merge: bool = False, limit: int = 50,
    ) -> Duplicates:
        """Find the memories that say the same, in groups; with `merge`, join each group into its most trusted memory.

        Args:
            id: Only the group of this memory: id, name or title.
            threshold: Least confidence of a group, from 0 to 1.
            merge: Merge the groups; `undo` takes it back.
            limit: Maximum number of groups.
        """
        return await self.call(requests.DuplicatesRequest.of(id=id, threshold=threshold, merge=merge, limit=limit))

    async def scan_later(self, *, after: int = 0) -> Job:
        """Have the daemon scan the whole space after a delay; a waiting scan is reused.

        Args:
            after: Delay in seconds.
        """
        return await self.call(requests.ScanLaterRequest.of(after=after))

    async def resolve_conflict(
        self, id: str, *, strategy: Literal["merge", "update", "branch", "supersede", "ignore", "auto"] = "auto",
        notes: str = "", branch: str = "", keep: str = "", idempotency_key: str = "",
    ) -> Resolved:
        """Resolve a conflict; `undo` takes it back.

        Args:
            id: Id of the conflict.
            strategy: How to resolve it; `auto` chooses.
            notes: Reason, recorded in the history.
            branch: Name of the new branch for `branch`.
            keep: The memory whose statement holds, for `supersede`; the newer one by default.
            idempotency_key: Key that makes a repeated call safe.
        """
        return await self.call(requests.ResolveConflictRequest.of(
            id=id, strategy=strategy, notes=notes, branch=branch, keep=keep, idempotency_key=idempotency_key,
        ))

    async def extract(
        self, text: str, *, session: str = "", store: bool = True,
        format: Literal["auto", "text", "markdown", "whatsapp", "json", "jsonl", "chatgpt", "claude", "slack", "telegram"] = "auto",
        method: Literal["auto", "patterns", "llm"] = "auto", project: str = "", me: str = "", trusted: bool = True,
        progress: Progress | None = None,
    ) -> Extracted:
        """Extract the facts of a conversation, and store them.

        Args:
            text: The chat log.
            session: Session of the log. Default: the name in the log.
            store: Store the facts, or only return them.
            format: Format of the log; `auto` detects it.
            method: `auto` uses a language model if one is configured.
            project: Project.
            me: Your name in a conversation between people.
            trusted: Whether you trust the log: the statements of another count as read in a document.
            progress: Called with two numbers, done and total.
        """
        return await self.call(requests.ExtractRequest.of(
            text=text, session=session, store=store, format=format, method=method, project=project, me=me,
            trusted=trusted,
        ), progress=progress)

    async def context(
        self, *, session: str = "", project: str = "", session_hint: str = "", max_tokens: int = 1500,
    ) -> Context:
        """Return the context for the start of a session.

        Args:
            session: The session that starts; it is not shown as the last one.
            project: The project whose decisions and last session are shown; others are left out.
            session_hint: The session to show as the last one. The other parts stay the same.
            max_tokens: Token budget of the result.
        """
        return await self.call(requests.ContextRequest.of(
            session=session, project=project, session_hint=session_hint, max_tokens=max_tokens,
        ))

    async def create_entities(self, entities: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
        """Create or update entities by name; an invalid one does not affect the others.

        Args:
            entities: Entities, each with name, entityType and observations.
        """
        return await self.call(requests.CreateEntitiesRequest.of(entities=entities))

    async def update_entity(self, id: str, changes: Mapping[str, Json]) -> dict[str, Json]:
        """Change fields of an entity.

        Args:
            id: Id, name or title.
            changes: New values by field.
        """
        return await self.call(requests.UpdateEntityRequest.of(id=id, changes=changes))

    async def search_nodes(self, query: str, *, limit: int = 10) -> dict[str, Json]:
        """Find entities by name, type and meaning; pinned ones come first.

        Args:
            query: Name, type or question.
            limit: Maximum number of entities.
        """
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
        """Change rules of the space, such as `gate="report"`; null restores a default.

        Args:
            gate: Merge similar memories, only report them, or do not search for them.
            window_days: How many days back to search for similar memories.
            same: Similarity from which two texts count as the same; 0 means the default of the model.
            density: Treatment of texts that say too little.
            least_characters: Length below which a text says too little; 0 means any.
            tags: Whether tags are normalized.
            least_tags: Least number of tags to suggest.
            most_tags: Largest number of tags of a memory.
            secrets: Whether secrets are redacted.
            injection: Whether texts with instructions for models are labelled.
            conflicts: Whether to detect conflicts with stored memories.
            review: Whose memories wait for approval.
            never: Refuse texts with these words; `*` matches anything.
            never_paths: Refuse texts that come from or name these files; `*` matches anything.
            llm: Whether a language model, if there is one, improves new memories later, at once, or not at all.
            prune_days: Curation moves what was not used for so many days to the trash; 0: never.
            purge_days: Curation destroys what was in the trash for so many days; 0: never.
            most_memories: Of more memories, curation keeps the best; 0: no limit.
            most_bytes: Of more bytes of text, curation keeps the best; 0: no limit.
        """
        return await self.call(requests.SetRulesRequest.of(
            gate=gate, window_days=window_days, same=same, density=density, least_characters=least_characters,
            tags=tags, least_tags=least_tags, most_tags=most_tags, secrets=secrets, injection=injection,
            conflicts=conflicts, review=review, never=never, never_paths=never_paths, llm=llm, prune_days=prune_days,
            purge_days=purge_days, most_memories=most_memories, most_bytes=most_bytes,
        ))

    async def tags(self, *, limit: int = 200) -> TagTable:
        """Return the tags of the space with their counts, and their synonyms.

        Args:
            limit: Maximum number of tags.
        """
        return await self.call(requests.TagsRequest.of(limit=limit))

    async def add_synonyms(self, tag: str, variants: Sequence[str]) -> TagTable:
        """Make other words synonyms of a tag.

        Args:
            tag: The tag that replaces them.
            variants: Synonyms of a tag.
        """
        return await self.call(requests.AddSynonymsRequest.of(tag=tag, variants=variants))

    async def remove_synonyms(self, variants: Sequence[str]) -> TagTable:
        """Remove synonyms: the words become tags of their own again.

        Args:
            variants: Synonyms of a tag.
        """
        return await self.call(requests.RemoveSynonymsRequest.of(variants=variants))

    async def preview_tags(self, tags: Sequence[str] = (), *, text: str = "") -> TagPreview:
        """Preview the normalization of tags, and suggest tags for a text.

        Args:
            tags: Tags to normalize.
            text: Text for which to suggest more tags.
        """
        return await self.call(requests.PreviewTagsRequest.of(tags=tags, text=text))

    async def inbox(self, *, limit: int = 50) -> tuple[Memory, ...]:
        """Return the memories that wait for approval, newest first.

        Args:
            limit: Maximum number of memories.
        """
        return await self.call(requests.InboxRequest.of(limit=limit))

    async def approve(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Approve waiting memories.

        Args:
            ids: Ids, names or titles; or give a filter.
            filter: All memories that match these conditions.
            group: Include the records of the same text for other entities.
            reason: Reason, recorded in the history.
            dry_run: Only show what would be done.
        """
        return pages.require_existing(ids, await self.call(requests.ApproveRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        )))

    async def decline(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Move waiting memories to the trash.

        Args:
            ids: Ids, names or titles; or give a filter.
            filter: All memories that match these conditions.
            group: Include the records of the same text for other entities.
            reason: Reason, recorded in the history.
            dry_run: Only show what would be done.
        """
        return pages.require_existing(ids, await self.call(requests.DeclineRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        )))

    async def jobs(self, *, limit: int = 50) -> tuple[Job, ...]:
        """Return queued and finished jobs, newest first.

        Args:
            limit: Maximum number of jobs.
        """
        return await self.call(requests.JobsRequest.of(limit=limit))

    async def retry_job(self, id: str) -> Job:
        """Run a failed job again.

        Args:
            id: Id of the job.
        """
        return await self.call(requests.RetryJobRequest.of(id=id))

    async def cancel_job(self, id: str) -> Job:
        """Cancel a job.

        Args:
            id: Id of the job.
        """
        return await self.call(requests.CancelJobRequest.of(id=id))

    async def curate(
        self,
        jobs: str | Sequence[Literal["tiers", "duplicates", "consolidate", "prune", "tags", "vectors", "bodies"]] = (),
        *, dry_run: bool = False, limit: int = 50, progress: Progress | None = None,
    ) -> CurationReport:
        """Run the jobs that keep the space in order, such as moving unused memories to another tier.

        Every change is a version: `undo` with the id of the run takes all of them back. A run that was interrupted goes on.

        Args:
            jobs: Jobs to run, in this order. Default: all.
            dry_run: Only return the plan.
            limit: Maximum number of changes in the report.
            progress: Called with two numbers, done and total.
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

        Args:
            days: Prune what was neither changed nor read for so many days.
            keep: Keep the best memories, so many of them.
            keep_bytes: Keep the best memories, up to so many bytes of text.
            clusters: Merge memories that say the same into one.
            include: Do not spare these; repeatable.
            dry_run: Only return the plan.
            limit: Maximum number of changes in the report.
            progress: Called with two numbers, done and total.
        """
        return await self.call(requests.PruneRequest.of(
            days=days, keep=keep, keep_bytes=keep_bytes, clusters=clusters, include=include, dry_run=dry_run,
            limit=limit,
        ), progress=progress)

    async def curations(self, *, run: str = "", limit: int = 10, changes: int = 50) -> tuple[CurationReport, ...]:
        """Return the reports of earlier runs of curation, the newest first.

        Args:
            run: Id of a run. Default: the newest ones.
            limit: Maximum number of runs.
            changes: Maximum number of changes in each report.
        """
        return await self.call(requests.CurationsRequest.of(run=run, limit=limit, changes=changes))

    async def run_code(
        self, code: str = "", *, context_vars: Mapping[str, Json] | None = None, max_tokens: int = 2000,
        handle: str = "", offset: int = 0,
    ) -> CodeResult:
        """Run a Python program beside the memory, and return what it computed; or the next part of a stored result.

        Args:
            code: The program. It calls the verbs as functions, such as `recall`, and returns the variable `result` or
                the value of its last line.
            context_vars: Variables of the program, by name.
            max_tokens: Token budget of the result; what does not fit is stored.
            handle: A stored result to read on, instead of code.
            offset: Where to read on in it.
        """
        return await self.call(requests.RunCodeRequest.of(
            code=code, context_vars=context_vars, max_tokens=max_tokens, handle=handle, offset=offset,
        ))

    async def usage(self, *, days: int = 30, limit: int = 10) -> Usage:
        """Return what is asked of the space, what is found and read, and which memories never are.

        Args:
            days: Count the last days, so many of them.
            limit: Maximum number of questions, and of memories.
        """
        return await self.call(requests.UsageRequest.of(days=days, limit=limit))

    async def save_skill(
        self, name: str, *, source: str = "", description: str = "", tags: Sequence[str] = (),
        example: Mapping[str, Json] | None = None, draft: bool = False, from_memory: str = "",
        expected_version: int | None = None,
    ) -> SavedSkill:
        """Save a function as a skill, or the next version of one, after it was run with its example.

        The example is run for real: what it writes is stored.

        Args:
            name: Name, which is that of the function.
            source: Python source that defines the function. Default: that of the present version.
            description: What it does, by which `recall` finds it. Default: the documentation of the function.
            tags: Tag; repeatable.
            example: Arguments to try it with, by name.
            draft: Save it without running it.
            from_memory: Id or name of a procedure in words, such as curation makes, that becomes this skill. Without a
                source the skill returns its steps.
            expected_version: Refuse to save if the skill is at another version.
        """
        return await self.call(requests.SaveSkillRequest.of(
            name=name, source=source, description=description, tags=tags, example=example, draft=draft,
            from_memory=from_memory, expected_version=expected_version,
        ))

    async def list_skills(self, query: str = "", *, tags: Sequence[str] = (), limit: int = 50) -> tuple[Skill, ...]:
        """Return the skills with their runs, mean time and success rate; those whose runs fail are marked.

        Args:
            query: What it should do; without it, the latest first.
            tags: Tag; repeatable.
            limit: Maximum number of skills.
        """
        return await self.call(requests.ListSkillsRequest.of(query=query, tags=tags, limit=limit))

    async def load_skill(self, name: str) -> Skill:
        """Return a skill with its source.

        Args:
            name: Name of the skill.
        """
        return await self.call(requests.LoadSkillRequest.of(name=name))

    async def run_skill(
        self, name: str, *, arguments: Mapping[str, Json] | None = None, max_tokens: int = 2000,
    ) -> CodeResult:
        """Run a skill, and return what it computed.

        Args:
            name: Name of the skill.
            arguments: Its arguments, by name.
            max_tokens: Token budget of the result; what does not fit is stored.
        """
        return await self.call(requests.RunSkillRequest.of(name=name, arguments=arguments, max_tokens=max_tokens))

    async def status(self) -> Status:
        """Return health, sizes, backends and degraded parts."""
        return await self.call(requests.StatusRequest.of())

    async def spaces(self, *, name: str = "") -> tuple[str, ...]:
        """Return the names of the spaces, in order.

        Args:
            name: Only this space; if it does not exist, those with similar names.
        """
        return await self.call(requests.SpacesRequest.of(name=name))

    async def health(self, *, days: int = 30, all_spaces: bool = False) -> HealthReport:
        """Return the figures of the space by day, who writes what, the alerts about them, and what to do.

        Args:
            days: Count the last days, so many of them.
            all_spaces: Every space, the busiest first; for callers that may use all of them.
        """
        return await self.call(requests.HealthRequest.of(days=days, all_spaces=all_spaces))

    async def doctor(self, *, deep: bool = False, repair: bool = False) -> DoctorReport:
        """Check everything; `repair` first repairs what it can.

        Args:
            deep: Read every page and every body of the store.
            repair: Repair the problems that can be repaired.
        """
        return await self.call(requests.DoctorRequest.of(deep=deep, repair=repair))

    async def embed_missing(self, *, progress: Progress | None = None) -> int:
        """Embed texts without a vector; returns their number.

        Args:
            progress: Called with two numbers, done and total.
        """
        return await self.call(requests.EmbedMissingRequest.of(), progress=progress)

    async def reembed(
        self, *, model: str, url: str = "", dimension: int = 0, progress: Progress | None = None,
    ) -> Reembedded:
        """Embed all texts with another model, beside the vectors in use, then use that model; a killed run goes on.

        Args:
            model: The model: an embedder such as `bundled`, with the name or folder of its model, as in
                `openai:nomic-embed-text` or `onnx:/models/bge-small`; a name alone is a model of the embedder in use.
            url: Address of the embedding server, if it is another one.
            dimension: Length of the vectors to request from a server; 0 means the default of the model.
            progress: Called with two numbers, done and total.
        """
        return await self.call(requests.ReembedRequest.of(model=model, url=url, dimension=dimension), progress=progress)

    async def backup(self, target: str | Path, *, progress: Progress | None = None) -> Path:
        """Copy the store to a file while it is in use, and verify the copy; returns the path of the copy.

        Args:
            target: The file to write.
            progress: Called with two numbers, done and total.
        """
        return await self.call(requests.BackupRequest.of(target=target), progress=progress)

    async def create_token(
        self, *, name: str, spaces: Sequence[str] = (), access: str = "read", expires: str = "",
        requests_per_minute: int = 0, body_bytes: int = 0, mcp_only: bool = False, trusted_imports: bool = False,
    ) -> NewToken:
        """Create a token for access over HTTP; only this answer contains its secret.

        Args:
            name: Person or program that uses the token.
            spaces: Spaces; `*` is all.
            access: read; agent, which also remembers, revises, relates and forgets; write, which does all; or metrics.
            expires: 90d, 12h or a time. Default: never.
            requests_per_minute: Rate limit. Default: that of the server.
            body_bytes: Maximum size of a body. Default: that of the server.
            mcp_only: Valid for MCP alone, and not for REST or other programs.
            trusted_imports: What it imports keeps its trust and its pins.
        """
        return await self.call(requests.CreateTokenRequest.of(
            name=name, spaces=spaces, access=access, expires=expires, requests_per_minute=requests_per_minute,
            body_bytes=body_bytes, mcp_only=mcp_only, trusted_imports=trusted_imports,
        ))

    async def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, oldest first, including expired and revoked ones."""
        return await self.call(requests.TokensRequest.of())

    async def revoke_token(self, ref: str) -> Token:
        """Revoke a token by its id or name, at once and for good.

        Args:
            ref: Id or name of the token.
        """
        return await self.call(requests.RevokeTokenRequest.of(ref=ref))

    async def write_note(
        self, title: str, content: str = "", *, tags: Sequence[str] = (), category: str = "", template: str = "",
        project: str = "", source: Source | Mapping[str, Json] | None = None, idempotency_key: str = "",
    ) -> NoteWritten:
        """Write a new note; similar ones are reported, and never merged with it.

        Args:
            title: Title of the note.
            content: Markdown text; with a template, it follows that.
            tags: Tag; repeatable.
            category: Category, such as work or work/meetings.
            template: Start from a template.
            project: Project.
            source: Where the note comes from. Default: the caller.
            idempotency_key: Key that makes a repeated call safe.
        """
        return await self.call(requests.WriteNoteRequest.of(
            title=title, content=content, tags=tags, category=category, template=template, project=project,
            source=source, idempotency_key=idempotency_key,
        ))

    async def read_note(
        self, identifier: str, *, format: Literal["markdown", "plain", "json"] = "markdown",
    ) -> NoteRead:
        """Return a note by id, title, name, file name or half of a title.

        Args:
            identifier: Id, title, name or file name.
            format: As written, without markup, or as JSON.
        """
        return await self.call(requests.ReadNoteRequest.of(identifier=identifier, format=format))

    async def edit_note(
        self, id: str, *, title: str | None = None, content: str | None = None, tags: Sequence[str] | None = None,
        category: str | None = None, expected_version: int | None = None, message: str = "", idempotency_key: str = "",
    ) -> NoteChanged:
        """Change a note; omitted fields keep their values, and the previous state remains as a version.

        Args:
            id: Id, title, name or file name.
            title: New title; the file is renamed, and links to it are updated.
            content: New content.
            tags: New tags, which replace the old ones; repeatable.
            category: New category.
            expected_version: Fail unless the note is at this version.
            message: Reason, recorded in the history.
            idempotency_key: Key that makes a repeated call safe.
        """
        return await self.call(requests.EditNoteRequest.of(
            id=id, title=title, content=content, tags=tags, category=category, expected_version=expected_version,
            message=message, idempotency_key=idempotency_key,
        ))

    async def search_notes(
        self, query: str, *, limit: int = 10, category: str = "", tags: Sequence[str] = (), semantic: bool = False,
    ) -> NotesFound:
        """Find notes by words, `"phrases"` and `prefixes*`; with `semantic` also by meaning.

        Args:
            query: Words, "a phrase", prefix*.
            limit: Maximum number of results.
            category: Only this category and its subcategories.
            tags: Only notes with this tag; repeatable, all must match.
            semantic: Search by meaning too.
        """
        return await self.call(requests.SearchNotesRequest.of(
            query=query, limit=limit, category=category, tags=tags, semantic=semantic,
        ))

    async def link_notes(self, source_id: str, target_id: str, *, link_text: str = "") -> NoteLinked:
        """Link two notes with each other.

        Args:
            source_id: Id, title, name or file name.
            target_id: Id, title, name or file name of the other note.
            link_text: Text of the link. Default: the title of the target.
        """
        return await self.call(requests.LinkNotesRequest.of(
            source_id=source_id, target_id=target_id, link_text=link_text,
        ))

    async def unlink_notes(self, source_id: str, target_id: str) -> NoteLinked:
        """Remove the link between two notes, at both ends.

        Args:
            source_id: Id, title, name or file name.
            target_id: Id, title, name or file name of the other note.
        """
        return await self.call(requests.UnlinkNotesRequest.of(source_id=source_id, target_id=target_id))

    async def current_date(
        self, *, format: Literal["iso", "locale", "timestamp", "date_only"] = "iso", timezone: str = "",
    ) -> CurrentDate:
        """Return the current date and time.

        Args:
            format: Form of the answer.
            timezone: For example Europe/Berlin. Default: that of the server.
        """
        return await self.call(requests.CurrentDateRequest.of(format=format, timezone=timezone))

    async def review_note(self, id: str) -> NoteReviewed:
        """Mark a note as reviewed.

        Args:
            id: Id, title, name or file name.
        """
        return await self.call(requests.ReviewNoteRequest.of(id=id))

    async def due_notes(self, *, days: int = 90, limit: int = 20, category: str = "") -> DueNotes:
        """Return the notes that were not reviewed for a number of days.

        Args:
            days: Only notes not reviewed for so many days.
            limit: Maximum number of results.
            category: Only this category and its subcategories.
        """
        return await self.call(requests.DueNotesRequest.of(days=days, limit=limit, category=category))

    async def backlinks(self, id: str) -> Backlinks:
        """Return the notes that link to a note.

        Args:
            id: Id, title, name or file name.
        """
        return await self.call(requests.BacklinksRequest.of(id=id))

    async def broken_links(self, *, limit: int = 100) -> BrokenLinks:
        """Return the links without a target note, with suggestions.

        Args:
            limit: Maximum number of results.
        """
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
        """Synchronize the store with the whole folder of notes.

        Args:
            deletions: Confirm that most files were deleted on purpose: trash their notes.
            adopt: Take over the folder of another store; its files are kept.
            progress: Called with two numbers, done and total.
        """
        return await self.call(requests.SyncNotesRequest.of(deletions=deletions, adopt=adopt), progress=progress)

    async def attach_file(self, note: str, name: str, data: str | bytes, *, caption: str = "") -> Attached:
        """Attach bytes, or text in base64, to a note: stored next to it and embedded in it.

        Args:
            note: Id, title, name or file name.
            name: Name of the attachment.
            data: The bytes of the file, in base64.
            caption: Description of the file, which search finds too.
        """
        return await self.call(requests.AttachFileRequest.of(note=note, name=name, data=data, caption=caption))

    async def attach_path(self, note: str, path: str | Path, *, caption: str = "", name: str = "") -> Attached:
        """Attach a file of this machine to a note; a remote server receives its bytes.

        Args:
            note: Id, title, name or file name.
            path: Picture, recording or document.
            caption: Description of the file, which search finds too.
            name: Name of the attachment. Default: the file name.
        """
        return await self.call(requests.AttachPathRequest.of(note=note, path=path, caption=caption, name=name))

    async def note_attachments(self, note: str) -> NoteAttachments:
        """Return the attachments of a note.

        Args:
            note: Id, title, name or file name.
        """
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

        Args:
            target: A file, a folder, or a .zip.
            refs: Ids, titles, names or file names. Default: all notes.
            format: Format of the files.
            category: Only this category and its subcategories.
            tags: Only notes with this tag; repeatable, all must match.
            progress: Called with two numbers, done and total.
        """
        return await self.call(requests.ExportNotesRequest.of(
            target=target, refs=refs, format=format, category=category, tags=tags,
        ), progress=progress)

    async def import_notes(
        self, folder: str | Path, *, category: str = "", dry_run: bool = False, progress: Progress | None = None,
    ) -> NotesImported:
        """Import a folder of Markdown files, such as an Obsidian vault, without writing to it.

        A repeated import writes only new and changed notes.

        Args:
            folder: An Obsidian vault, or any folder of Markdown files.
            category: Prefix of the categories that the folders become.
            dry_run: Only show what would be done.
            progress: Called with two numbers, done and total.
        """
        return await self.call(requests.ImportNotesRequest.of(
            folder=folder, category=category, dry_run=dry_run,
        ), progress=progress)

    async def adopt_notes(
        self, folder: str | Path, *, dry_run: bool = False, progress: Progress | None = None,
    ) -> NotesAdopted:
        """Make an existing folder of Markdown files, such as an Obsidian vault, the folder of notes.

        Its files stay as they are until a note changes; an archive of them is made first.

        Args:
            folder: An Obsidian vault, or any folder of Markdown files.
            dry_run: Only show what would be done.
            progress: Called with two numbers, done and total.
        """
        return await self.call(requests.AdoptNotesRequest.of(folder=folder, dry_run=dry_run), progress=progress)


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
        """Store a text once, under every entity it is about; the result says what was done.

        Args:
            text: Text to remember.
            title: Title.
            kind: Kind: fact, preference, decision …
            name: Name, unique among live memories. Default: derived from the title.
            entities: Person or thing the text is about; repeatable.
            observations: An atomic fact; repeatable.
            tags: Tag; repeatable.
            category: Category, such as work or work/meetings.
            project: Project.
            scope: Scope, for example personal or team.
            session_hint: Name of a task: its texts are collected in one memory.
            intent: `new` never merges, `continue` appends to the memory of the session hint, `auto` decides.
            pinned: Include it in every answer to a question.
            expires_at: Hide it from recall after this time.
            remind_at: When to remind you of it.
            source: Where the text comes from: session, conversation, agent, tool, at, method and trust.
            metadata: Values of your own, as an object.
            idempotency_key: Key that makes a repeated call safe.
            dry_run: Only show what would be done.
            wait_for_llm: Wait for the improvements of the language model, if one is configured, instead of leaving them
                to a job.
        """
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
        """Store many texts, each as `remember` does; the result has an entry for each, in order.

        Args:
            items: The texts, each with the arguments of `remember`.
            atomic: Store all of them, or none if one cannot be stored.
            idempotency_key: Key that makes a repeated call safe.
            dry_run: Only show what would be done.
            progress: Called with two numbers, done and total.
        """
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
        contains: str = "", around: int = 0, max_tokens: int | None = None, min_score: float | None = None,
        detail: Literal["concise", "full"] = "concise", cursor: str = "", explain: bool = False, today: Moment = None,
        as_of: Moment = None, branch: str = "main",
    ) -> Recalled:
        """Find the memories that answer a question; without one, the most recent.

        Args:
            query: Question or words; without it, the most recent memories.
            limit: Maximum number of memories.
            entity: Only memories filed under this entity.
            kind: Only this kind.
            category: Only this category and its subcategories.
            tags: Only memories with this tag; repeatable, all must match.
            any_tags: Only memories with one of these tags; repeatable.
            project: Only this project; `*` for all.
            scope: Only this scope.
            tier: Only this tier.
            session: Only from this session.
            agent: Only memories that this agent wrote.
            trust: Only from this kind of source.
            metadata: Only memories with these values in their metadata.
            since: Not older than this time.
            until: Older than this time.
            flag: Only memories with this flag.
            state: Only memories in this state.
            from_project: The project in which it is asked: its memories come first, those of others last and marked.
            contains: Only memories whose title, content or observations contain this text, in upper or lower case.
            around: Show so many neighbours before and after each hit in its session.
            max_tokens: Token budget of the result, which may leave hits to the next page. Default: none.
            min_score: Least score of a hit, from 0 to 1. Without it, what hardly answers is left out or marked as weak.
            detail: Show a part of each memory, or all of it.
            cursor: Continue after the previous page.
            explain: Show the parts of each score.
            today: Reference time for 'yesterday' and 'in March'. Default: now.
            as_of: Show the state at this time.
            branch: Show memories that have this branch as they are on it.
        """
        return self.call(requests.RecallRequest.of(
            query=query, limit=limit, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags,
            project=project, scope=scope, tier=tier, session=session, agent=agent, trust=trust, metadata=metadata,
            since=since, until=until, flag=flag, state=state, from_project=from_project, contains=contains,
            around=around, max_tokens=max_tokens, min_score=min_score, detail=detail, cursor=cursor, explain=explain,
            today=today, as_of=as_of, branch=branch,
        ))

    def recall_all(
        self, query: str = "", *, page: int = 50, entity: str = "", kind: str = "", category: str = "",
        tags: Sequence[str] = (), any_tags: Sequence[str] = (), project: str = "", scope: str = "",
        tier: Literal["", "working", "episodic", "semantic", "procedural"] = "", session: str = "", agent: str = "",
        trust: Literal["", "user", "agent", "document", "unknown"] = "", metadata: Mapping[str, Json] | None = None,
        since: Moment = None, until: Moment = None,
        flag: Literal["", "thin", "redacted", "suspicious", "unapproved"] = "",
        state: Literal["live", "merged", "archived", "trashed", "waiting", "branched"] = "live", from_project: str = "",
        contains: str = "", around: int = 0, max_tokens: int | None = None, min_score: float | None = None,
        detail: Literal["concise", "full"] = "concise", explain: bool = False, today: Moment = None,
        as_of: Moment = None, branch: str = "main",
    ) -> Iterator[Hit]:
        """Yield every item of `hits` of `recall`, page by page.

        Args:
            page: Items of a page.
            query: Question or words; without it, the most recent memories.
            entity: Only memories filed under this entity.
            kind: Only this kind.
            category: Only this category and its subcategories.
            tags: Only memories with this tag; repeatable, all must match.
            any_tags: Only memories with one of these tags; repeatable.
            project: Only this project; `*` for all.
            scope: Only this scope.
            tier: Only this tier.
            session: Only from this session.
            agent: Only memories that this agent wrote.
            trust: Only from this kind of source.
            metadata: Only memories with these values in their metadata.
            since: Not older than this time.
            until: Older than this time.
            flag: Only memories with this flag.
            state: Only memories in this state.
            from_project: The project in which it is asked: its memories come first, those of others last and marked.
            contains: Only memories whose title, content or observations contain this text, in upper or lower case.
            around: Show so many neighbours before and after each hit in its session.
            max_tokens: Token budget of the result, which may leave hits to the next page. Default: none.
            min_score: Least score of a hit, from 0 to 1. Without it, what hardly answers is left out or marked as weak.
            detail: Show a part of each memory, or all of it.
            explain: Show the parts of each score.
            today: Reference time for 'yesterday' and 'in March'. Default: now.
            as_of: Show the state at this time.
            branch: Show memories that have this branch as they are on it.
        """
        request: requests.RecallRequest | None = requests.RecallRequest.of(
            query=query, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project,
            scope=scope, tier=tier, session=session, agent=agent, trust=trust, metadata=metadata, since=since,
            until=until, flag=flag, state=state, from_project=from_project, contains=contains, around=around,
            max_tokens=max_tokens, min_score=min_score, detail=detail, explain=explain, today=today, as_of=as_of,
            branch=branch, limit=page,
        )
        while request is not None:
            result = self.call(request)
            yield from result.hits
            request = pages.after_recall(request, result)

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
        """Find memories by words: required words, `prefixes*`, "exact phrases" and -excluded words.

        Args:
            query: Words, prefixes and phrases.
            entity: Only memories filed under this entity.
            kind: Only this kind.
            category: Only this category and its subcategories.
            tags: Only memories with this tag; repeatable, all must match.
            any_tags: Only memories with one of these tags; repeatable.
            project: Only this project; `*` for all.
            scope: Only this scope.
            tier: Only this tier.
            session: Only from this session.
            agent: Only memories that this agent wrote.
            trust: Only from this kind of source.
            metadata: Only memories with these values in their metadata.
            since: Not older than this time.
            until: Older than this time.
            flag: Only memories with this flag.
            state: Only memories in this state.
            limit: Maximum number of hits.
            offset: Number of best hits to skip, for paging.
        """
        return self.call(requests.SearchTextRequest.of(
            query=query, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project,
            scope=scope, tier=tier, session=session, agent=agent, trust=trust, metadata=metadata, since=since,
            until=until, flag=flag, state=state, limit=limit, offset=offset,
        ))

    def search_text_all(
        self, query: str, *, page: int = 50, entity: str = "", kind: str = "", category: str = "",
        tags: Sequence[str] = (), any_tags: Sequence[str] = (), project: str = "", scope: str = "",
        tier: Literal["", "working", "episodic", "semantic", "procedural"] = "", session: str = "", agent: str = "",
        trust: Literal["", "user", "agent", "document", "unknown"] = "", metadata: Mapping[str, Json] | None = None,
        since: Moment = None, until: Moment = None,
        flag: Literal["", "thin", "redacted", "suspicious", "unapproved"] = "",
        state: Literal["live", "merged", "archived", "trashed", "waiting", "branched"] = "live",
    ) -> Iterator[TextHit]:
        """Yield every item of `hits` of `search_text`, page by page.

        Args:
            page: Items of a page.
            query: Words, prefixes and phrases.
            entity: Only memories filed under this entity.
            kind: Only this kind.
            category: Only this category and its subcategories.
            tags: Only memories with this tag; repeatable, all must match.
            any_tags: Only memories with one of these tags; repeatable.
            project: Only this project; `*` for all.
            scope: Only this scope.
            tier: Only this tier.
            session: Only from this session.
            agent: Only memories that this agent wrote.
            trust: Only from this kind of source.
            metadata: Only memories with these values in their metadata.
            since: Not older than this time.
            until: Older than this time.
            flag: Only memories with this flag.
            state: Only memories in this state.
        """
        request: requests.SearchTextRequest | None = requests.SearchTextRequest.of(
            query=query, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project,
            scope=scope, tier=tier, session=session, agent=agent, trust=trust, metadata=metadata, since=since,
            until=until, flag=flag, state=state, limit=page,
        )
        while request is not None:
            result = self.call(request)
            yield from result.hits
            request = pages.after_search_text(request, result)

    def read(
        self, ids: str | Sequence[str], *, format: Literal["markdown", "plain", "json"] = "markdown",
        version: int | None = None, branch: str = "", as_of: Moment = None,
    ) -> ReadResult:
        """Return whole memories by id, name or title; missing ones are named, with suggestions.

        Args:
            ids: Ids, names or titles.
            format: Form of the text in the result.
            version: Show this older version.
            branch: Branch to use. Default: the current branch of the memory.
            as_of: Show the state at this time.
        """
        return pages.require_existing(ids, self.call(requests.ReadRequest.of(
            ids=ids, format=format, version=version, branch=branch, as_of=as_of,
        )))

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
        """Change fields of a memory; the previous state remains as a version.

        Args:
            id: Id, name or title.
            text: New content.
            title: New title.
            name: New name.
            kind: New kind.
            entity: New entity.
            category: New category.
            project: New project.
            scope: New scope.
            tags: New tags, which replace all tags; repeatable.
            observations: New facts, which replace all facts; repeatable.
            tier: New tier.
            pinned: Pin or unpin.
            relevance: New relevance, from 0 to 1; it falls from there until you confirm the memory.
            expires_at: Hide it from recall after this time; null cancels that.
            remind_at: When to remind you of it; null cancels the reminder.
            metadata: New metadata, which replaces the old.
            add_observations: A fact to add; repeatable.
            remove_observations: A fact to remove; repeatable.
            message: Reason, recorded in the history.
            expected_version: Fail if the memory has changed since this version.
            branch: Branch to use. Default: the current branch of the memory.
            source: Source of the added observations.
            idempotency_key: Key that makes a repeated call safe.
        """
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
        """Move memories to the trash; `restore` brings them back.

        Args:
            ids: Ids, names or titles; or give a filter.
            filter: All memories that match these conditions.
            group: Include the records of the same text for other entities.
            reason: Reason, recorded in the history.
            dry_run: Only show what would be done.
        """
        return pages.require_existing(ids, self.call(requests.ForgetRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        )))

    def restore(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False, branch: str = "",
    ) -> Outcome:
        """Restore memories from the trash, or, by its name, a dropped branch of them.

        Args:
            ids: Ids, names or titles; or give a filter.
            filter: All memories that match these conditions.
            group: Include the records of the same text for other entities.
            reason: Reason, recorded in the history.
            dry_run: Only show what would be done.
            branch: Restore the dropped branch of this name, not the memories.
        """
        return pages.require_existing(ids, self.call(requests.RestoreRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run, branch=branch,
        )))

    def confirm(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Confirm that memories still hold: their relevance stops falling and starts again from its stored value.

        Args:
            ids: Ids, names or titles; or give a filter.
            filter: All memories that match these conditions.
            group: Include the records of the same text for other entities.
            reason: Reason, recorded in the history.
            dry_run: Only show what would be done.
        """
        return pages.require_existing(ids, self.call(requests.ConfirmRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        )))

    def purge(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False, derived: bool = False,
    ) -> Outcome:
        """Destroy memories in the trash, with every version and every trace of their text.

        Args:
            ids: Ids, names or titles; or give a filter.
            filter: All memories that match these conditions.
            group: Include the records of the same text for other entities.
            reason: Reason, recorded in the history.
            dry_run: Only show what would be done.
            derived: Destroy the memories that curation made of them too, which share their statements.
        """
        return pages.require_existing(ids, self.call(requests.PurgeRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run, derived=derived,
        )))

    def relate(
        self, source: str, target: str, *, relation: str = "related_to", text: str = "", strength: float = 0.5,
        metadata: Mapping[str, Json] | None = None,
    ) -> Related:
        """Relate two memories; both ends show a link.

        Args:
            source: Id, name or title.
            target: Id, name or title of the other memory.
            relation: Type of the relation.
            text: Text of the link.
            strength: Strength from 0 to 1.
            metadata: Values of your own, as an object.
        """
        return self.call(requests.RelateRequest.of(
            source=source, target=target, relation=relation, text=text, strength=strength, metadata=metadata,
        ))

    def unrelate(self, source: str, target: str, *, relation: str = "related_to") -> Related:
        """Remove a relation.

        Args:
            source: Id, name or title.
            target: Id, name or title of the other memory.
            relation: Type of the relation.
        """
        return self.call(requests.UnrelateRequest.of(source=source, target=target, relation=relation))

    def history(
        self, id: str, *, limit: int = 20, before: int | None = None, diff: Sequence[int | str] | None = None,
        branch: str = "",
    ) -> History:
        """Return the versions of a memory, newest first; with `diff=[a, b]`, compare two.

        The name of a branch means its newest version.

        Args:
            id: Id, name or title.
            limit: Maximum number of versions.
            before: Only versions before this one, for the next page.
            diff: Compare these two versions or branches.
            branch: Branch to use. Default: the current branch of the memory.
        """
        return self.call(requests.HistoryRequest.of(id=id, limit=limit, before=before, diff=diff, branch=branch))

    def history_all(self, id: str, *, page: int = 50, branch: str = "") -> Iterator[Version]:
        """Yield every item of `versions` of `history`, page by page.

        Args:
            page: Items of a page.
            id: Id, name or title.
            branch: Branch to use. Default: the current branch of the memory.
        """
        request: requests.HistoryRequest | None = requests.HistoryRequest.of(id=id, branch=branch, limit=page)
        while request is not None:
            result = self.call(request)
            yield from result.versions
            request = pages.after_history(request, result)

    def revert(self, id: str, *, to: int, message: str = "", branch: str = "", idempotency_key: str = "") -> Written:
        """Restore an earlier version as a new one.

        Args:
            id: Id, name or title.
            to: The version to restore.
            message: Reason, recorded in the history.
            branch: Branch to use. Default: the current branch of the memory.
            idempotency_key: Key that makes a repeated call safe.
        """
        return self.call(requests.RevertRequest.of(
            id=id, to=to, message=message, branch=branch, idempotency_key=idempotency_key,
        ))

    def commit(
        self, id: str, *, message: str, branch: str = "", label: bool = False, idempotency_key: str = "",
    ) -> Written:
        """Create a version with a message and unchanged content; with `label`, give the message to the current version.

        Args:
            id: Id, name or title.
            message: Description of this version.
            branch: Branch to use. Default: the current branch of the memory.
            label: Add the message to the current version, and make no other.
            idempotency_key: Key that makes a repeated call safe.
        """
        return self.call(requests.CommitRequest.of(
            id=id, message=message, branch=branch, label=label, idempotency_key=idempotency_key,
        ))

    def branch(
        self, id: str, name: str, *, description: str = "", at: int | None = None, switch: bool = False,
    ) -> Branches:
        """Create a branch of a memory; main does not show its changes.

        Args:
            id: Id, name or title.
            name: Name of the branch.
            description: Purpose of the branch.
            at: Start at this version of main. Default: the newest.
            switch: Switch the memory to the branch at once.
        """
        return self.call(requests.BranchRequest.of(id=id, name=name, description=description, at=at, switch=switch))

    def branches(self, id: str) -> Branches:
        """Return the branches of a memory, and the current one.

        Args:
            id: Id, name or title.
        """
        return self.call(requests.BranchesRequest.of(id=id))

    def switch(self, id: str, name: str) -> Branches:
        """Make another branch the current one of a memory.

        Args:
            id: Id, name or title.
            name: Name of the branch.
        """
        return self.call(requests.SwitchRequest.of(id=id, name=name))

    def drop_branch(self, id: str, name: str) -> Branches:
        """Move a branch to the trash.

        Args:
            id: Id, name or title.
            name: Name of the branch.
        """
        return self.call(requests.DropBranchRequest.of(id=id, name=name))

    def merge_branch(
        self, id: str, name: str, *, into: str = "main", prefer: Literal["", "ours", "theirs"] = "", message: str = "",
        idempotency_key: str = "",
    ) -> BranchMerged:
        """Merge a branch into another; conflicts are reported, and then nothing is written.

        Args:
            id: Id, name or title.
            name: Name of the branch.
            into: Target branch.
            prefer: Winner of conflicts: `ours` is the value of the target branch, `theirs` that of the merged one.
            message: Reason, recorded in the history.
            idempotency_key: Key that makes a repeated call safe.
        """
        return self.call(requests.MergeBranchRequest.of(
            id=id, name=name, into=into, prefer=prefer, message=message, idempotency_key=idempotency_key,
        ))

    def undo(self, *, run: str = "", idempotency_key: str = "") -> Undone:
        """Undo the last change of this agent, or a named run.

        Args:
            run: Name or id of a run. Default: the last change of this agent.
            idempotency_key: Key that makes a repeated call safe.
        """
        return self.call(requests.UndoRequest.of(run=run, idempotency_key=idempotency_key))

    def outcome(self, runs: Sequence[str]) -> dict[str, bool]:
        """Return for each run whether it committed a change, for callers whose answer was lost.

        Args:
            runs: Names or ids of runs.
        """
        return self.call(requests.OutcomeRequest.of(runs=runs))

    def graph(
        self, ids: str | Sequence[str], *, depth: int = 1, types: Sequence[str] = (),
        direction: Literal["out", "in", "both"] = "both", limit: int = 200, as_of: Moment = None,
    ) -> Network:
        """Return the memories that relations connect to the given ones, up to `depth` steps away.

        Args:
            ids: Ids, names or titles.
            depth: Maximum distance in relations.
            types: Only relations of this type; repeatable.
            direction: Follow relations forwards, backwards, or both.
            limit: Maximum number of memories.
            as_of: Show the state at this time.
        """
        return self.call(requests.GraphRequest.of(
            ids=ids, depth=depth, types=types, direction=direction, limit=limit, as_of=as_of,
        ))

    def related(
        self, id: str, *, types: Sequence[str] = (), direction: Literal["out", "in", "both"] = "both", limit: int = 200,
        as_of: Moment = None, suggest: int = 5,
    ) -> Network:
        """Return the memories that relations of a memory lead to, and suggest some that are near it by meaning.

        Args:
            id: Id, name or title.
            types: Only relations of this type; repeatable.
            direction: Follow relations forwards, backwards, or both.
            limit: Maximum number of memories.
            as_of: Show the state at this time.
            suggest: Suggest so many memories that are near it by meaning and not related yet.
        """
        return self.call(requests.RelatedRequest.of(
            id=id, types=types, direction=direction, limit=limit, as_of=as_of, suggest=suggest,
        ))

    def due(self, *, by: Moment = None, limit: int = 20) -> DueReminders:
        """Return the memories whose reminder is due, the latest first.

        Args:
            by: Due by this time. Default: now.
            limit: Maximum number of memories.
        """
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
        """Summarize the memories of a tag, an entity, a project or a period by their central statements, oldest first.

        Args:
            entity: Only memories filed under this entity.
            kind: Only this kind.
            category: Only this category and its subcategories.
            tags: Only memories with this tag; repeatable, all must match.
            any_tags: Only memories with one of these tags; repeatable.
            project: Only this project; `*` for all.
            scope: Only this scope.
            tier: Only this tier.
            session: Only from this session.
            agent: Only memories that this agent wrote.
            trust: Only from this kind of source.
            metadata: Only memories with these values in their metadata.
            since: Not older than this time.
            until: Older than this time.
            flag: Only memories with this flag.
            state: Only memories in this state.
            limit: Maximum number of statements.
            max_tokens: Token budget of the result.
            prose: Let the language model, if there is one, make one text of the statements.
        """
        return self.call(requests.SummarizeRequest.of(
            entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project, scope=scope,
            tier=tier, session=session, agent=agent, trust=trust, metadata=metadata, since=since, until=until,
            flag=flag, state=state, limit=limit, max_tokens=max_tokens, prose=prose,
        ))

    def path(
        self, source: str, target: str, *, types: Sequence[str] = (), direction: Literal["out", "in", "both"] = "both",
        most: int = 6, as_of: Moment = None,
    ) -> Network:
        """Return a shortest path from one memory to another, of at most `most` steps.

        Args:
            source: Id, name or title.
            target: Id, name or title.
            types: Only relations of this type; repeatable.
            direction: Follow relations forwards, backwards, or both.
            most: Maximum number of relations.
            as_of: Show the state at this time.
        """
        return self.call(requests.PathRequest.of(
            source=source, target=target, types=types, direction=direction, most=most, as_of=as_of,
        ))

    def conflicts(
        self, *, status: Literal["pending", "resolved", "ignored", "all"] = "pending", id: str = "", limit: int = 50,
    ) -> tuple[ConflictDetails, ...]:
        """Return the conflicts of the space, or of one memory.

        Args:
            status: Which conflicts to return.
            id: Only conflicts of this memory: its id, name or title.
            limit: Maximum number of conflicts.
        """
        return self.call(requests.ConflictsRequest.of(status=status, id=id, limit=limit))

    def probe_conflicts(
        self, drafts: Sequence[requests.RememberRequest], *, threshold: float = 0.5,
    ) -> tuple[tuple[ConflictDetails, ...], ...]:
        """Return the conflicts that each draft would have if it were stored.

        Args:
            drafts: Texts that are not stored yet.
            threshold: Least confidence of a conflict, from 0 to 1.
        """
        return self.call(requests.ProbeConflictsRequest.of(drafts=drafts, threshold=threshold))

    def scan_conflicts(self, *, limit: int = 50, progress: Progress | None = None) -> Scan:
        """Scan the whole space for conflicts.

        Args:
            limit: Maximum number of conflicts.
            progress: Called with two numbers, done and total.
        """
        return self.call(requests.ScanConflictsRequest.of(limit=limit), progress=progress)

    def duplicates(self, *, id: str = "", threshold: float = 0.0, merge: bool = False, limit: int = 50) -> Duplicates:
        """Find the memories that say the same, in groups; with `merge`, join each group into its most trusted memory.

        Args:
            id: Only the group of this memory: id, name or title.
            threshold: Least confidence of a group, from 0 to 1.
            merge: Merge the groups; `undo` takes it back.
            limit: Maximum number of groups.
        """
        return self.call(requests.DuplicatesRequest.of(id=id, threshold=threshold, merge=merge, limit=limit))

    def scan_later(self, *, after: int = 0) -> Job:
        """Have the daemon scan the whole space after a delay; a waiting scan is reused.

        Args:
            after: Delay in seconds.
        """
        return self.call(requests.ScanLaterRequest.of(after=after))

    def resolve_conflict(
        self, id: str, *, strategy: Literal["merge", "update", "branch", "supersede", "ignore", "auto"] = "auto",
        notes: str = "", branch: str = "", keep: str = "", idempotency_key: str = "",
    ) -> Resolved:
        """Resolve a conflict; `undo` takes it back.

        Args:
            id: Id of the conflict.
            strategy: How to resolve it; `auto` chooses.
            notes: Reason, recorded in the history.
            branch: Name of the new branch for `branch`.
            keep: The memory whose statement holds, for `supersede`; the newer one by default.
            idempotency_key: Key that makes a repeated call safe.
        """
        return self.call(requests.ResolveConflictRequest.of(
            id=id, strategy=strategy, notes=notes, branch=branch, keep=keep, idempotency_key=idempotency_key,
        ))

    def extract(
        self, text: str, *, session: str = "", store: bool = True,
        format: Literal["auto", "text", "markdown", "whatsapp", "json", "jsonl", "chatgpt", "claude", "slack", "telegram"] = "auto",
        method: Literal["auto", "patterns", "llm"] = "auto", project: str = "", me: str = "", trusted: bool = True,
        progress: Progress | None = None,
    ) -> Extracted:
        """Extract the facts of a conversation, and store them.

        Args:
            text: The chat log.
            session: Session of the log. Default: the name in the log.
            store: Store the facts, or only return them.
            format: Format of the log; `auto` detects it.
            method: `auto` uses a language model if one is configured.
            project: Project.
            me: Your name in a conversation between people.
            trusted: Whether you trust the log: the statements of another count as read in a document.
            progress: Called with two numbers, done and total.
        """
        return self.call(requests.ExtractRequest.of(
            text=text, session=session, store=store, format=format, method=method, project=project, me=me,
            trusted=trusted,
        ), progress=progress)

    def context(
        self, *, session: str = "", project: str = "", session_hint: str = "", max_tokens: int = 1500,
    ) -> Context:
        """Return the context for the start of a session.

        Args:
            session: The session that starts; it is not shown as the last one.
            project: The project whose decisions and last session are shown; others are left out.
            session_hint: The session to show as the last one. The other parts stay the same.
            max_tokens: Token budget of the result.
        """
        return self.call(requests.ContextRequest.of(
            session=session, project=project, session_hint=session_hint, max_tokens=max_tokens,
        ))

    def create_entities(self, entities: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
        """Create or update entities by name; an invalid one does not affect the others.

        Args:
            entities: Entities, each with name, entityType and observations.
        """
        return self.call(requests.CreateEntitiesRequest.of(entities=entities))

    def update_entity(self, id: str, changes: Mapping[str, Json]) -> dict[str, Json]:
        """Change fields of an entity.

        Args:
            id: Id, name or title.
            changes: New values by field.
        """
        return self.call(requests.UpdateEntityRequest.of(id=id, changes=changes))

    def search_nodes(self, query: str, *, limit: int = 10) -> dict[str, Json]:
        """Find entities by name, type and meaning; pinned ones come first.

        Args:
            query: Name, type or question.
            limit: Maximum number of entities.
        """
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
        """Change rules of the space, such as `gate="report"`; null restores a default.

        Args:
            gate: Merge similar memories, only report them, or do not search for them.
            window_days: How many days back to search for similar memories.
            same: Similarity from which two texts count as the same; 0 means the default of the model.
            density: Treatment of texts that say too little.
            least_characters: Length below which a text says too little; 0 means any.
            tags: Whether tags are normalized.
            least_tags: Least number of tags to suggest.
            most_tags: Largest number of tags of a memory.
            secrets: Whether secrets are redacted.
            injection: Whether texts with instructions for models are labelled.
            conflicts: Whether to detect conflicts with stored memories.
            review: Whose memories wait for approval.
            never: Refuse texts with these words; `*` matches anything.
            never_paths: Refuse texts that come from or name these files; `*` matches anything.
            llm: Whether a language model, if there is one, improves new memories later, at once, or not at all.
            prune_days: Curation moves what was not used for so many days to the trash; 0: never.
            purge_days: Curation destroys what was in the trash for so many days; 0: never.
            most_memories: Of more memories, curation keeps the best; 0: no limit.
            most_bytes: Of more bytes of text, curation keeps the best; 0: no limit.
        """
        return self.call(requests.SetRulesRequest.of(
            gate=gate, window_days=window_days, same=same, density=density, least_characters=least_characters,
            tags=tags, least_tags=least_tags, most_tags=most_tags, secrets=secrets, injection=injection,
            conflicts=conflicts, review=review, never=never, never_paths=never_paths, llm=llm, prune_days=prune_days,
            purge_days=purge_days, most_memories=most_memories, most_bytes=most_bytes,
        ))

    def tags(self, *, limit: int = 200) -> TagTable:
        """Return the tags of the space with their counts, and their synonyms.

        Args:
            limit: Maximum number of tags.
        """
        return self.call(requests.TagsRequest.of(limit=limit))

    def add_synonyms(self, tag: str, variants: Sequence[str]) -> TagTable:
        """Make other words synonyms of a tag.

        Args:
            tag: The tag that replaces them.
            variants: Synonyms of a tag.
        """
        return self.call(requests.AddSynonymsRequest.of(tag=tag, variants=variants))

    def remove_synonyms(self, variants: Sequence[str]) -> TagTable:
        """Remove synonyms: the words become tags of their own again.

        Args:
            variants: Synonyms of a tag.
        """
        return self.call(requests.RemoveSynonymsRequest.of(variants=variants))

    def preview_tags(self, tags: Sequence[str] = (), *, text: str = "") -> TagPreview:
        """Preview the normalization of tags, and suggest tags for a text.

        Args:
            tags: Tags to normalize.
            text: Text for which to suggest more tags.
        """
        return self.call(requests.PreviewTagsRequest.of(tags=tags, text=text))

    def inbox(self, *, limit: int = 50) -> tuple[Memory, ...]:
        """Return the memories that wait for approval, newest first.

        Args:
            limit: Maximum number of memories.
        """
        return self.call(requests.InboxRequest.of(limit=limit))

    def approve(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Approve waiting memories.

        Args:
            ids: Ids, names or titles; or give a filter.
            filter: All memories that match these conditions.
            group: Include the records of the same text for other entities.
            reason: Reason, recorded in the history.
            dry_run: Only show what would be done.
        """
        return pages.require_existing(ids, self.call(requests.ApproveRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        )))

    def decline(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Move waiting memories to the trash.

        Args:
            ids: Ids, names or titles; or give a filter.
            filter: All memories that match these conditions.
            group: Include the records of the same text for other entities.
            reason: Reason, recorded in the history.
            dry_run: Only show what would be done.
        """
        return pages.require_existing(ids, self.call(requests.DeclineRequest.of(
            ids=ids, filter=filter, group=group, reason=reason, dry_run=dry_run,
        )))

    def jobs(self, *, limit: int = 50) -> tuple[Job, ...]:
        """Return queued and finished jobs, newest first.

        Args:
            limit: Maximum number of jobs.
        """
        return self.call(requests.JobsRequest.of(limit=limit))

    def retry_job(self, id: str) -> Job:
        """Run a failed job again.

        Args:
            id: Id of the job.
        """
        return self.call(requests.RetryJobRequest.of(id=id))

    def cancel_job(self, id: str) -> Job:
        """Cancel a job.

        Args:
            id: Id of the job.
        """
        return self.call(requests.CancelJobRequest.of(id=id))

    def curate(
        self,
        jobs: str | Sequence[Literal["tiers", "duplicates", "consolidate", "prune", "tags", "vectors", "bodies"]] = (),
        *, dry_run: bool = False, limit: int = 50, progress: Progress | None = None,
    ) -> CurationReport:
        """Run the jobs that keep the space in order, such as moving unused memories to another tier.

        Every change is a version: `undo` with the id of the run takes all of them back. A run that was interrupted goes on.

        Args:
            jobs: Jobs to run, in this order. Default: all.
            dry_run: Only return the plan.
            limit: Maximum number of changes in the report.
            progress: Called with two numbers, done and total.
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

        Args:
            days: Prune what was neither changed nor read for so many days.
            keep: Keep the best memories, so many of them.
            keep_bytes: Keep the best memories, up to so many bytes of text.
            clusters: Merge memories that say the same into one.
            include: Do not spare these; repeatable.
            dry_run: Only return the plan.
            limit: Maximum number of changes in the report.
            progress: Called with two numbers, done and total.
        """
        return self.call(requests.PruneRequest.of(
            days=days, keep=keep, keep_bytes=keep_bytes, clusters=clusters, include=include, dry_run=dry_run,
            limit=limit,
        ), progress=progress)

    def curations(self, *, run: str = "", limit: int = 10, changes: int = 50) -> tuple[CurationReport, ...]:
        """Return the reports of earlier runs of curation, the newest first.

        Args:
            run: Id of a run. Default: the newest ones.
            limit: Maximum number of runs.
            changes: Maximum number of changes in each report.
        """
        return self.call(requests.CurationsRequest.of(run=run, limit=limit, changes=changes))

    def run_code(
        self, code: str = "", *, context_vars: Mapping[str, Json] | None = None, max_tokens: int = 2000,
        handle: str = "", offset: int = 0,
    ) -> CodeResult:
        """Run a Python program beside the memory, and return what it computed; or the next part of a stored result.

        Args:
            code: The program. It calls the verbs as functions, such as `recall`, and returns the variable `result` or
                the value of its last line.
            context_vars: Variables of the program, by name.
            max_tokens: Token budget of the result; what does not fit is stored.
            handle: A stored result to read on, instead of code.
            offset: Where to read on in it.
        """
        return self.call(requests.RunCodeRequest.of(
            code=code, context_vars=context_vars, max_tokens=max_tokens, handle=handle, offset=offset,
        ))

    def usage(self, *, days: int = 30, limit: int = 10) -> Usage:
        """Return what is asked of the space, what is found and read, and which memories never are.

        Args:
            days: Count the last days, so many of them.
            limit: Maximum number of questions, and of memories.
        """
        return self.call(requests.UsageRequest.of(days=days, limit=limit))

    def save_skill(
        self, name: str, *, source: str = "", description: str = "", tags: Sequence[str] = (),
        example: Mapping[str, Json] | None = None, draft: bool = False, from_memory: str = "",
        expected_version: int | None = None,
    ) -> SavedSkill:
        """Save a function as a skill, or the next version of one, after it was run with its example.

        The example is run for real: what it writes is stored.

        Args:
            name: Name, which is that of the function.
            source: Python source that defines the function. Default: that of the present version.
            description: What it does, by which `recall` finds it. Default: the documentation of the function.
            tags: Tag; repeatable.
            example: Arguments to try it with, by name.
            draft: Save it without running it.
            from_memory: Id or name of a procedure in words, such as curation makes, that becomes this skill. Without a
                source the skill returns its steps.
            expected_version: Refuse to save if the skill is at another version.
        """
        return self.call(requests.SaveSkillRequest.of(
            name=name, source=source, description=description, tags=tags, example=example, draft=draft,
            from_memory=from_memory, expected_version=expected_version,
        ))

    def list_skills(self, query: str = "", *, tags: Sequence[str] = (), limit: int = 50) -> tuple[Skill, ...]:
        """Return the skills with their runs, mean time and success rate; those whose runs fail are marked.

        Args:
            query: What it should do; without it, the latest first.
            tags: Tag; repeatable.
            limit: Maximum number of skills.
        """
        return self.call(requests.ListSkillsRequest.of(query=query, tags=tags, limit=limit))

    def load_skill(self, name: str) -> Skill:
        """Return a skill with its source.

        Args:
            name: Name of the skill.
        """
        return self.call(requests.LoadSkillRequest.of(name=name))

    def run_skill(
        self, name: str, *, arguments: Mapping[str, Json] | None = None, max_tokens: int = 2000,
    ) -> CodeResult:
        """Run a skill, and return what it computed.

        Args:
            name: Name of the skill.
            arguments: Its arguments, by name.
            max_tokens: Token budget of the result; what does not fit is stored.
        """
        return self.call(requests.RunSkillRequest.of(name=name, arguments=arguments, max_tokens=max_tokens))

    def status(self) -> Status:
        """Return health, sizes, backends and degraded parts."""
        return self.call(requests.StatusRequest.of())

    def spaces(self, *, name: str = "") -> tuple[str, ...]:
        """Return the names of the spaces, in order.

        Args:
            name: Only this space; if it does not exist, those with similar names.
        """
        return self.call(requests.SpacesRequest.of(name=name))

    def health(self, *, days: int = 30, all_spaces: bool = False) -> HealthReport:
        """Return the figures of the space by day, who writes what, the alerts about them, and what to do.

        Args:
            days: Count the last days, so many of them.
            all_spaces: Every space, the busiest first; for callers that may use all of them.
        """
        return self.call(requests.HealthRequest.of(days=days, all_spaces=all_spaces))

    def doctor(self, *, deep: bool = False, repair: bool = False) -> DoctorReport:
        """Check everything; `repair` first repairs what it can.

        Args:
            deep: Read every page and every body of the store.
            repair: Repair the problems that can be repaired.
        """
        return self.call(requests.DoctorRequest.of(deep=deep, repair=repair))

    def embed_missing(self, *, progress: Progress | None = None) -> int:
        """Embed texts without a vector; returns their number.

        Args:
            progress: Called with two numbers, done and total.
        """
        return self.call(requests.EmbedMissingRequest.of(), progress=progress)

    def reembed(self, *, model: str, url: str = "", dimension: int = 0, progress: Progress | None = None) -> Reembedded:
        """Embed all texts with another model, beside the vectors in use, then use that model; a killed run goes on.

        Args:
            model: The model: an embedder such as `bundled`, with the name or folder of its model, as in
                `openai:nomic-embed-text` or `onnx:/models/bge-small`; a name alone is a model of the embedder in use.
            url: Address of the embedding server, if it is another one.
            dimension: Length of the vectors to request from a server; 0 means the default of the model.
            progress: Called with two numbers, done and total.
        """
        return self.call(requests.ReembedRequest.of(model=model, url=url, dimension=dimension), progress=progress)

    def backup(self, target: str | Path, *, progress: Progress | None = None) -> Path:
        """Copy the store to a file while it is in use, and verify the copy; returns the path of the copy.

        Args:
            target: The file to write.
            progress: Called with two numbers, done and total.
        """
        return self.call(requests.BackupRequest.of(target=target), progress=progress)

    def create_token(
        self, *, name: str, spaces: Sequence[str] = (), access: str = "read", expires: str = "",
        requests_per_minute: int = 0, body_bytes: int = 0, mcp_only: bool = False, trusted_imports: bool = False,
    ) -> NewToken:
        """Create a token for access over HTTP; only this answer contains its secret.

        Args:
            name: Person or program that uses the token.
            spaces: Spaces; `*` is all.
            access: read; agent, which also remembers, revises, relates and forgets; write, which does all; or metrics.
            expires: 90d, 12h or a time. Default: never.
            requests_per_minute: Rate limit. Default: that of the server.
            body_bytes: Maximum size of a body. Default: that of the server.
            mcp_only: Valid for MCP alone, and not for REST or other programs.
            trusted_imports: What it imports keeps its trust and its pins.
        """
        return self.call(requests.CreateTokenRequest.of(
            name=name, spaces=spaces, access=access, expires=expires, requests_per_minute=requests_per_minute,
            body_bytes=body_bytes, mcp_only=mcp_only, trusted_imports=trusted_imports,
        ))

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, oldest first, including expired and revoked ones."""
        return self.call(requests.TokensRequest.of())

    def revoke_token(self, ref: str) -> Token:
        """Revoke a token by its id or name, at once and for good.

        Args:
            ref: Id or name of the token.
        """
        return self.call(requests.RevokeTokenRequest.of(ref=ref))

    def write_note(
        self, title: str, content: str = "", *, tags: Sequence[str] = (), category: str = "", template: str = "",
        project: str = "", source: Source | Mapping[str, Json] | None = None, idempotency_key: str = "",
    ) -> NoteWritten:
        """Write a new note; similar ones are reported, and never merged with it.

        Args:
            title: Title of the note.
            content: Markdown text; with a template, it follows that.
            tags: Tag; repeatable.
            category: Category, such as work or work/meetings.
            template: Start from a template.
            project: Project.
            source: Where the note comes from. Default: the caller.
            idempotency_key: Key that makes a repeated call safe.
        """
        return self.call(requests.WriteNoteRequest.of(
            title=title, content=content, tags=tags, category=category, template=template, project=project,
            source=source, idempotency_key=idempotency_key,
        ))

    def read_note(self, identifier: str, *, format: Literal["markdown", "plain", "json"] = "markdown") -> NoteRead:
        """Return a note by id, title, name, file name or half of a title.

        Args:
            identifier: Id, title, name or file name.
            format: As written, without markup, or as JSON.
        """
        return self.call(requests.ReadNoteRequest.of(identifier=identifier, format=format))

    def edit_note(
        self, id: str, *, title: str | None = None, content: str | None = None, tags: Sequence[str] | None = None,
        category: str | None = None, expected_version: int | None = None, message: str = "", idempotency_key: str = "",
    ) -> NoteChanged:
        """Change a note; omitted fields keep their values, and the previous state remains as a version.

        Args:
            id: Id, title, name or file name.
            title: New title; the file is renamed, and links to it are updated.
            content: New content.
            tags: New tags, which replace the old ones; repeatable.
            category: New category.
            expected_version: Fail unless the note is at this version.
            message: Reason, recorded in the history.
            idempotency_key: Key that makes a repeated call safe.
        """
        return self.call(requests.EditNoteRequest.of(
            id=id, title=title, content=content, tags=tags, category=category, expected_version=expected_version,
            message=message, idempotency_key=idempotency_key,
        ))

    def search_notes(
        self, query: str, *, limit: int = 10, category: str = "", tags: Sequence[str] = (), semantic: bool = False,
    ) -> NotesFound:
        """Find notes by words, `"phrases"` and `prefixes*`; with `semantic` also by meaning.

        Args:
            query: Words, "a phrase", prefix*.
            limit: Maximum number of results.
            category: Only this category and its subcategories.
            tags: Only notes with this tag; repeatable, all must match.
            semantic: Search by meaning too.
        """
        return self.call(requests.SearchNotesRequest.of(
            query=query, limit=limit, category=category, tags=tags, semantic=semantic,
        ))

    def link_notes(self, source_id: str, target_id: str, *, link_text: str = "") -> NoteLinked:
        """Link two notes with each other.

        Args:
            source_id: Id, title, name or file name.
            target_id: Id, title, name or file name of the other note.
            link_text: Text of the link. Default: the title of the target.
        """
        return self.call(requests.LinkNotesRequest.of(source_id=source_id, target_id=target_id, link_text=link_text))

    def unlink_notes(self, source_id: str, target_id: str) -> NoteLinked:
        """Remove the link between two notes, at both ends.

        Args:
            source_id: Id, title, name or file name.
            target_id: Id, title, name or file name of the other note.
        """
        return self.call(requests.UnlinkNotesRequest.of(source_id=source_id, target_id=target_id))

    def current_date(
        self, *, format: Literal["iso", "locale", "timestamp", "date_only"] = "iso", timezone: str = "",
    ) -> CurrentDate:
        """Return the current date and time.

        Args:
            format: Form of the answer.
            timezone: For example Europe/Berlin. Default: that of the server.
        """
        return self.call(requests.CurrentDateRequest.of(format=format, timezone=timezone))

    def review_note(self, id: str) -> NoteReviewed:
        """Mark a note as reviewed.

        Args:
            id: Id, title, name or file name.
        """
        return self.call(requests.ReviewNoteRequest.of(id=id))

    def due_notes(self, *, days: int = 90, limit: int = 20, category: str = "") -> DueNotes:
        """Return the notes that were not reviewed for a number of days.

        Args:
            days: Only notes not reviewed for so many days.
            limit: Maximum number of results.
            category: Only this category and its subcategories.
        """
        return self.call(requests.DueNotesRequest.of(days=days, limit=limit, category=category))

    def backlinks(self, id: str) -> Backlinks:
        """Return the notes that link to a note.

        Args:
            id: Id, title, name or file name.
        """
        return self.call(requests.BacklinksRequest.of(id=id))

    def broken_links(self, *, limit: int = 100) -> BrokenLinks:
        """Return the links without a target note, with suggestions.

        Args:
            limit: Maximum number of results.
        """
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
        """Synchronize the store with the whole folder of notes.

        Args:
            deletions: Confirm that most files were deleted on purpose: trash their notes.
            adopt: Take over the folder of another store; its files are kept.
            progress: Called with two numbers, done and total.
        """
        return self.call(requests.SyncNotesRequest.of(deletions=deletions, adopt=adopt), progress=progress)

    def attach_file(self, note: str, name: str, data: str | bytes, *, caption: str = "") -> Attached:
        """Attach bytes, or text in base64, to a note: stored next to it and embedded in it.

        Args:
            note: Id, title, name or file name.
            name: Name of the attachment.
            data: The bytes of the file, in base64.
            caption: Description of the file, which search finds too.
        """
        return self.call(requests.AttachFileRequest.of(note=note, name=name, data=data, caption=caption))

    def attach_path(self, note: str, path: str | Path, *, caption: str = "", name: str = "") -> Attached:
        """Attach a file of this machine to a note; a remote server receives its bytes.

        Args:
            note: Id, title, name or file name.
            path: Picture, recording or document.
            caption: Description of the file, which search finds too.
            name: Name of the attachment. Default: the file name.
        """
        return self.call(requests.AttachPathRequest.of(note=note, path=path, caption=caption, name=name))

    def note_attachments(self, note: str) -> NoteAttachments:
        """Return the attachments of a note.

        Args:
            note: Id, title, name or file name.
        """
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

        Args:
            target: A file, a folder, or a .zip.
            refs: Ids, titles, names or file names. Default: all notes.
            format: Format of the files.
            category: Only this category and its subcategories.
            tags: Only notes with this tag; repeatable, all must match.
            progress: Called with two numbers, done and total.
        """
        return self.call(requests.ExportNotesRequest.of(
            target=target, refs=refs, format=format, category=category, tags=tags,
        ), progress=progress)

    def import_notes(
        self, folder: str | Path, *, category: str = "", dry_run: bool = False, progress: Progress | None = None,
    ) -> NotesImported:
        """Import a folder of Markdown files, such as an Obsidian vault, without writing to it.

        A repeated import writes only new and changed notes.

        Args:
            folder: An Obsidian vault, or any folder of Markdown files.
            category: Prefix of the categories that the folders become.
            dry_run: Only show what would be done.
            progress: Called with two numbers, done and total.
        """
        return self.call(requests.ImportNotesRequest.of(
            folder=folder, category=category, dry_run=dry_run,
        ), progress=progress)

    def adopt_notes(
        self, folder: str | Path, *, dry_run: bool = False, progress: Progress | None = None,
    ) -> NotesAdopted:
        """Make an existing folder of Markdown files, such as an Obsidian vault, the folder of notes.

        Its files stay as they are until a note changes; an archive of them is made first.

        Args:
            folder: An Obsidian vault, or any folder of Markdown files.
            dry_run: Only show what would be done.
            progress: Called with two numbers, done and total.
        """
        return self.call(requests.AdoptNotesRequest.of(folder=folder, dry_run=dry_run), progress=progress)
