"""Writing, finding and putting away memories."""

from collections.abc import Mapping, Sequence

from scrubjay.client.coerce import Moment, as_moment, as_refs, as_state, as_tuple
from scrubjay.client.connection import Connection
from scrubjay.model.draft import Draft, Edit, Selection
from scrubjay.model.memory import MAIN, Json, Source
from scrubjay.model.query import Filter, Question
from scrubjay.model.relation import LINK
from scrubjay.model.results import Outcome, ReadResult, Recalled, Related, Remembered, Written


class ClientMemories(Connection):
    """Writing, finding and putting away memories."""

    async def remember(
        self,
        text: str,
        *,
        title: str = "",
        kind: str = "",
        name: str = "",
        entities: Sequence[str] = (),
        observations: Sequence[str] = (),
        tags: Sequence[str] = (),
        category: str = "",
        project: str = "",
        scope: str = "",
        session_hint: str = "",
        intent: str = "auto",
        pinned: bool = False,
        expires_at: Moment = None,
        remind_at: Moment = None,
        source: Source | Mapping[str, Json] | None = None,
        metadata: Mapping[str, Json] | None = None,
        idempotency_key: str = "",
        dry_run: bool = False,
        wait_for_llm: bool = False,
    ) -> Remembered:
        """Store a text once, filed under every entity it is about; the answer says what was done."""
        draft = Draft(
            text=text, title=title, kind=kind, name=name, entities=as_tuple(entities), tags=as_tuple(tags),
            observations=as_tuple(observations), category=category, project=project, scope=scope,
            session_hint=session_hint, intent=intent, pinned=pinned, metadata={} if metadata is None else metadata,
            expires_at=as_moment(expires_at, "expires_at"), remind_at=as_moment(remind_at, "remind_at"),
            source=self._source(source), idempotency_key=idempotency_key, dry_run=dry_run, wait_for_llm=wait_for_llm,
        )  # fmt: skip
        return await self._open.remember(draft, who=self._who)

    async def recall(
        self,
        query: str = "",
        *,
        limit: int = 8,
        entity: str = "",
        kind: str = "",
        category: str = "",
        tags: Sequence[str] = (),
        any_tags: Sequence[str] = (),
        project: str = "",
        scope: str = "",
        tier: str = "",
        session: str = "",
        agent: str = "",
        trust: str = "",
        contains: str = "",
        metadata: Mapping[str, Json] | None = None,
        since: Moment = None,
        until: Moment = None,
        state: str = "live",
        around: int = 0,
        max_tokens: int = 1500,
        detail: str = "concise",
        cursor: str = "",
        explain: bool = False,
        today: Moment = None,
        as_of: Moment = None,
        branch: str = MAIN,
    ) -> Recalled:
        """Find the memories that answer a question; without one, the most recent.

        `contains` is a text that stands in them, whatever its case. `around` is how many memories before and after each
        in its session come with it. `today` is what "yesterday" and "in March" are counted from, unless it is now.
        `as_of` asks for what was said at a moment of the past; memories that have the `branch` are told as on it.
        """
        wanted = Filter(
            entity=entity, kind=kind, category=category, tags=as_tuple(tags), any_tags=as_tuple(any_tags),
            project=project, scope=scope, tier=tier, session=session, agent=agent, trust=trust,
            metadata={} if metadata is None else metadata, since=as_moment(since, "since"),
            until=as_moment(until, "until"), state=as_state(state),
        )  # fmt: skip
        question = Question(
            query=query, filter=wanted, limit=limit, max_tokens=max_tokens, detail=detail, explain=explain,
            contains=contains, around=around, today=as_moment(today, "today"), as_of=as_moment(as_of, "as_of"),
            branch=branch,
        )  # fmt: skip
        return await self._open.recall(question, who=self._who, cursor=cursor)

    async def read(
        self,
        ids: str | Sequence[str],
        *,
        format: str = "markdown",
        version: int | None = None,
        branch: str = "",
        as_of: Moment = None,
    ) -> ReadResult:
        """Whole memories by id, name or title; what is missing is named, with suggestions.

        Without a branch each is told as it is on the one that it is switched to.
        """
        return await self._open.read(
            as_refs(ids), who=self._who, format=format, version=version, branch=branch,
            as_of=as_moment(as_of, "as_of"),
        )  # fmt: skip

    async def revise(
        self,
        id: str,
        *,
        add_observations: Sequence[str] = (),
        remove_observations: Sequence[str] = (),
        message: str = "",
        expected_version: int | None = None,
        idempotency_key: str = "",
        branch: str = "",
        source: Source | Mapping[str, Json] | None = None,
        **fields: Json,
    ) -> Written:
        """Change fields of a memory; the state before stays a version.

        `source` tells whose word the added observations are.
        """
        edit = Edit(
            fields=fields, add_observations=as_tuple(add_observations),
            remove_observations=as_tuple(remove_observations), message=message, expected_version=expected_version,
            idempotency_key=idempotency_key, branch=branch,
            source=self._source(source) if source is not None else None,
        )  # fmt: skip
        return await self._open.revise(id, edit, who=self._who)

    async def forget(
        self,
        ids: str | Sequence[str] = (),
        *,
        filter: Filter | None = None,
        group: bool = False,
        reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Put memories into the trash, from where `restore` brings them back."""
        chosen = Selection(refs=as_refs(ids), filter=filter, group=group, reason=reason, dry_run=dry_run)
        return await self._open.forget(chosen, who=self._who)

    async def restore(
        self,
        ids: str | Sequence[str] = (),
        *,
        filter: Filter | None = None,
        group: bool = False,
        reason: str = "",
        dry_run: bool = False,
        branch: str = "",
    ) -> Outcome:
        """Take memories out of the trash; or, by its name, a branch of theirs that was dropped."""
        chosen = Selection(refs=as_refs(ids), filter=filter, group=group, reason=reason, dry_run=dry_run, branch=branch)
        return await self._open.restore(chosen, who=self._who)

    async def purge(
        self,
        ids: str | Sequence[str] = (),
        *,
        filter: Filter | None = None,
        group: bool = False,
        reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Destroy memories that are in the trash, with every version and every trace of their text."""
        chosen = Selection(refs=as_refs(ids), filter=filter, group=group, reason=reason, dry_run=dry_run)
        return await self._open.purge(chosen, who=self._who)

    async def relate(
        self,
        source: str,
        target: str,
        *,
        relation: str = LINK,
        text: str = "",
        strength: float = 0.5,
        metadata: Mapping[str, Json] | None = None,
    ) -> Related:
        """Relate two memories; a link is shown from both ends."""
        return await self._open.relate(
            source, target, who=self._who, relation=relation, text=text, strength=strength, metadata=metadata
        )

    async def unrelate(self, source: str, target: str, *, relation: str = LINK) -> Related:
        """Remove a relation."""
        return await self._open.unrelate(source, target, who=self._who, relation=relation)
