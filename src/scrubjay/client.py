"""`MemoryClient`: the verbs for Python programs, done by the daemon or by an engine opened in this process."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, NotAllowed, StoreError
from scrubjay.graph.lines import FORMATS
from scrubjay.model.draft import Caller, Draft, Edit
from scrubjay.model.given import require_moment, wrong
from scrubjay.model.job import Job
from scrubjay.model.memory import Json, Memory, Source, State
from scrubjay.model.moment import parse_moment
from scrubjay.model.query import Filter, Question
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
from scrubjay.model.snapshot import source_from_json
from scrubjay.model.tags import TagPreview, TagTable
from scrubjay.ports import Progress
from scrubjay.remote.engine import RemoteEngine
from scrubjay.settings import Settings
from scrubjay.transfer.intake import Imported, Lines
from scrubjay.way import Way
from scrubjay.writing.dispose import Selection

Moment = datetime | str | None


class MemoryClient:
    """One space of one memory. Use it as an async context manager.

    It talks to the daemon of the data folder when one runs, else it opens the store itself. With `url` it talks to a
    server over HTTP, and shows it the `token`; with `path` it opens the store in that folder, whoever else does.
    """

    def __init__(
        self,
        *,
        path: str | Path | None = None,
        url: str = "",
        token: str | None = None,
        space: str | None = None,
        agent: str | None = None,
        run: str = "",
        settings: Settings | None = None,
    ) -> None:
        chosen = settings or Settings.load(home=str(path) if path else None, space=space, agent=agent)
        chosen = chosen.with_given(token=token)
        if path and url:
            raise InvalidInput("a client goes to a folder or to an address", hint="Give path or url", field="url")
        home = str(path) if path else chosen.home
        self._settings = replace(chosen, home=home, space=space or chosen.space, agent=agent or chosen.agent)
        self._who = Caller(space=self._settings.space, agent=self._settings.agent, run=run)
        names_space = space is not None or self._settings.space != Settings().space
        self._way = Way(settings=self._settings, url=url, alone=path is not None, names_space=names_space)
        self._engine: Engine | RemoteEngine | None = None

    @classmethod
    def over(cls, engine: Engine, who: Caller) -> "MemoryClient":
        """A client over an engine that somebody else has opened, and closes."""
        return _Borrowing(engine, who)

    async def __aenter__(self) -> Self:
        self._engine = await self._way.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine = None
        await self._way.leave()

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
            text=text, title=title, kind=kind, name=name, entities=_tuple(entities), tags=_tuple(tags),
            observations=_tuple(observations), category=category, project=project, scope=scope,
            session_hint=session_hint, intent=intent, pinned=pinned, metadata={} if metadata is None else metadata,
            expires_at=_moment(expires_at, "expires_at"), remind_at=_moment(remind_at, "remind_at"),
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
    ) -> Recalled:
        """Find the memories that answer a question; without one, the most recent.

        `contains` is a text that stands in them, whatever its case. `around` is how many memories before and after each
        in its session come with it. `today` is what "yesterday" and "in March" are counted from, unless it is now.
        """
        wanted = Filter(
            entity=entity, kind=kind, category=category, tags=_tuple(tags), any_tags=_tuple(any_tags), project=project,
            scope=scope, tier=tier, session=session, agent=agent, trust=trust,
            metadata={} if metadata is None else metadata, since=_moment(since, "since"),
            until=_moment(until, "until"), state=_state(state),
        )  # fmt: skip
        question = Question(
            query=query, filter=wanted, limit=limit, max_tokens=max_tokens, detail=detail, explain=explain,
            contains=contains, around=around, today=_moment(today, "today"),
        )  # fmt: skip
        return await self._open.recall(question, who=self._who, cursor=cursor)

    async def read(
        self,
        ids: str | Sequence[str],
        *,
        format: str = "markdown",
        version: int | None = None,
    ) -> ReadResult:
        """Whole memories by id, name or title; what is missing is named, with suggestions."""
        return await self._open.read(_refs(ids), who=self._who, format=format, version=version)

    async def revise(
        self,
        id: str,
        *,
        add_observations: Sequence[str] = (),
        remove_observations: Sequence[str] = (),
        message: str = "",
        expected_version: int | None = None,
        idempotency_key: str = "",
        **fields: Json,
    ) -> Written:
        """Change fields of a memory; the state before stays a version."""
        edit = Edit(
            fields=fields, add_observations=_tuple(add_observations), remove_observations=_tuple(remove_observations),
            message=message, expected_version=expected_version, idempotency_key=idempotency_key,
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
        chosen = Selection(refs=_refs(ids), wanted=filter, group=group, reason=reason, dry_run=dry_run)
        return await self._open.forget(chosen, who=self._who)

    async def restore(
        self,
        ids: str | Sequence[str] = (),
        *,
        filter: Filter | None = None,
        group: bool = False,
        reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Take memories out of the trash."""
        chosen = Selection(refs=_refs(ids), wanted=filter, group=group, reason=reason, dry_run=dry_run)
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
        chosen = Selection(refs=_refs(ids), wanted=filter, group=group, reason=reason, dry_run=dry_run)
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

    async def history(
        self,
        id: str,
        *,
        limit: int = 20,
        before: int | None = None,
        diff: Sequence[int] | None = None,
    ) -> History:
        """The versions of a memory, newest first; with `diff=[a, b]`, how a became b."""
        if diff is not None:
            return await self._open.diff(id, who=self._who, versions=diff)
        return await self._open.history(id, who=self._who, limit=limit, before=before)

    async def revert(self, id: str, *, to: int, message: str = "", idempotency_key: str = "") -> Written:
        """Go back to a version, as a new one."""
        return await self._open.revert(id, who=self._who, to=to, message=message, idempotency_key=idempotency_key)

    async def undo(self, *, run: str = "", idempotency_key: str = "") -> Undone:
        """Take back the last change of this agent, or a named run."""
        return await self._open.undo(who=self._who, run=run, idempotency_key=idempotency_key)

    async def rules(self) -> Rules:
        """What becomes of what is written into the space."""
        return await self._open.rules(who=self._who)

    async def set_rules(self, **changes: Json) -> Rules:
        """Change rules of the space, such as `gate="report"`; None gives one back to the default."""
        return await self._open.set_rules(changes, who=self._who)

    async def tags(self, *, limit: int = 200) -> TagTable:
        """The tags of the space, and what stands for what."""
        return await self._open.tags(who=self._who, limit=limit)

    async def add_synonyms(self, tag: str, variants: Sequence[str]) -> TagTable:
        """Have other words stand for a tag from now on."""
        return await self._open.add_synonyms(tag, _tuple(variants), who=self._who)

    async def remove_synonyms(self, variants: Sequence[str]) -> TagTable:
        """Have words stand for themselves again."""
        return await self._open.remove_synonyms(_tuple(variants), who=self._who)

    async def preview_tags(self, tags: Sequence[str], *, text: str = "") -> TagPreview:
        """What would become of tags, and which would be suggested for a text."""
        return await self._open.preview_tags(_tuple(tags), who=self._who, text=text)

    async def inbox(self, *, limit: int = 50) -> tuple[Memory, ...]:
        """What waits for a person's yes."""
        return await self._open.inbox(who=self._who, limit=limit)

    async def approve(self, ids: str | Sequence[str], *, reason: str = "", dry_run: bool = False) -> Outcome:
        """Keep what waits."""
        chosen = Selection(refs=_refs(ids), reason=reason, dry_run=dry_run)
        return await self._open.approve(chosen, who=self._who)

    async def decline(self, ids: str | Sequence[str], *, reason: str = "", dry_run: bool = False) -> Outcome:
        """Put what waits into the trash."""
        chosen = Selection(refs=_refs(ids), reason=reason, dry_run=dry_run)
        return await self._open.decline(chosen, who=self._who)

    async def jobs(self, *, limit: int = 50) -> tuple[Job, ...]:
        """The work that is left for later, and what came of it."""
        return await self._open.jobs(who=self._who, limit=limit)

    async def retry_job(self, job_id: str) -> Job:
        """Have a job done again that failed."""
        return await self._open.retry_job(job_id, who=self._who)

    async def cancel_job(self, job_id: str) -> Job:
        """Have a job not done after all."""
        return await self._open.cancel_job(job_id, who=self._who)

    async def status(self) -> Status:
        """Health, sizes, backends, and what is degraded."""
        return await self._open.status(who=self._who)

    async def doctor(self, *, deep: bool = False, repair: bool = False) -> Examination:
        """Look at everything; `repair` mends what can be mended."""
        return await self._open.doctor(who=self._who, deep=deep, repair=repair)

    async def backup(self, target: str | Path, *, progress: Progress | None = None) -> Path:
        """Copy the store to a file while it is in use, and verify the copy."""
        return await self._open.backup(Path(target), progress=progress)

    def export(self, *, format: str = FORMATS[0], progress: Progress | None = None) -> AsyncIterator[str]:
        """Every memory of the space as JSON Lines, with its whole past; `kg` as the reference graph server keeps it."""
        return self._open.export(who=self._who, format=format, progress=progress)

    async def import_lines(
        self, lines: Sequence[str] | Path, *, progress: Progress | None = None, embed: bool = True
    ) -> Imported:
        """Take in an export; everything is checked before anything is stored."""
        done = await self._open.import_(_reopened(lines), who=self._who, progress=progress)
        if embed:
            # A server to which this client is a guest has done it by itself.
            with suppress(NotAllowed):
                await self._open.embed_missing(progress=progress)
        return done

    @property
    def _open(self) -> Engine | RemoteEngine:
        if self._engine is None:
            raise StoreError("the client is not open", hint="Use it as `async with MemoryClient() as memory:`")
        return self._engine

    def _source(self, given: Source | Mapping[str, Json] | None) -> Source:
        if given is not None and not isinstance(given, Source | Mapping):
            raise wrong("source", "an object", given)
        source = given if isinstance(given, Source) else source_from_json(dict(given or {}))
        return source if source.agent else replace(source, agent=self._who.agent)


class _Borrowing(MemoryClient):
    """A client that is open as long as its engine is."""

    def __init__(self, engine: Engine, who: Caller) -> None:
        self._who = who
        self._engine = engine

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the engine to its owner."""


def _tuple(values: Sequence[str]) -> tuple[str, ...]:
    # A lone text would become a tuple of letters; what is no list is left as it is, and validation names the field.
    is_list = isinstance(values, Sequence) and not isinstance(values, str | bytes)
    return tuple(values) if is_list else values  # type: ignore[return-value]


def _refs(ids: str | Sequence[str]) -> tuple[str, ...]:
    return (ids,) if isinstance(ids, str) else _tuple(ids)


def _moment(value: Moment, field: str) -> datetime | None:
    if isinstance(value, str):
        return parse_moment(value, field=field)
    # Here, since on the way to a daemon a time without a zone would be taken for one of this machine's.
    require_moment(value, field=field)
    return value


def _state(value: str) -> State:
    try:
        return State(value)
    except ValueError:
        raise InvalidInput(f"state must be one of {', '.join(State)}, not {value!r}", field="state") from None


def _reopened(lines: Sequence[str] | Path) -> Lines:
    def read() -> Iterable[str]:
        if isinstance(lines, Path):
            with lines.open(encoding="utf-8") as file:
                yield from file
        else:
            yield from lines

    return read
