"""One command per verb, with the name and the arguments of the verb."""

import json
import sys
from dataclasses import replace
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.memory import MAIN, Json, Trust
from scrubjay.model.query import Filter
from scrubjay.model.relation import LINK
from scrubjay.model.requests import ReadRequest, RecallRequest, RememberRequest, ReviseRequest
from scrubjay.model.results import (
    Context,
    DoctorReport,
    Outcome,
    ReadResult,
    Recalled,
    Related,
    Remembered,
    Status,
    Undone,
    Written,
)
from scrubjay.surfaces.cli.command import verb
from scrubjay.surfaces.cli.history import Message, OnBranch, Ref

app = typer.Typer()
_NEVER = "never"

Refs = Annotated[list[str], typer.Argument(help="Ids, names or titles.", show_default=False)]
Tags = Annotated[list[str] | None, typer.Option("--tag", "-t", help="Tag; repeatable.")]
Meta = Annotated[str | None, typer.Option("--metadata", metavar="JSON", help="A JSON object.")]
AsOf = Annotated[str | None, typer.Option(metavar="TIME", help="Show the memory as of this time.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]


@verb(app)
async def remember(
    client: MemoryClient,
    text: Annotated[str, typer.Argument(help="Text to remember; `-` reads standard input.", show_default=False)],
    *,
    title: Annotated[str, typer.Option(help="Title.")] = "",
    kind: Annotated[str, typer.Option(help="Kind: fact, preference, decision …")] = "",
    name: Annotated[str, typer.Option(help="Name, unique among live memories. Default: derived from the title.")] = "",
    entity: Annotated[
        list[str] | None, typer.Option("--entity", "-e", help="Person or thing the text is about; repeatable.")
    ] = None,
    observation: Annotated[
        list[str] | None, typer.Option("--observation", "-o", help="An atomic fact; repeatable.")
    ] = None,
    tag: Tags = None,
    category: Annotated[str, typer.Option(help="Category.")] = "",
    project: Annotated[str, typer.Option(help="Project.")] = "",
    scope: Annotated[str, typer.Option(help="Scope, for example personal or team.")] = "",
    session_hint: Annotated[
        str, typer.Option(metavar="NAME", help="Name of a task: its texts are collected in one memory.")
    ] = "",
    intent: Annotated[
        str, typer.Option(help="auto, new (never merge) or continue (the memory of the session hint).")
    ] = "auto",
    pinned: Annotated[bool, typer.Option("--pinned", help="Include it in every result of recall.")] = False,
    expires_at: Annotated[str | None, typer.Option(metavar="TIME", help="Hide it from recall after this time.")] = None,
    remind_at: Annotated[str | None, typer.Option(metavar="TIME", help="When to remind you of it.")] = None,
    session: Annotated[str, typer.Option(help="Session that the text comes from.")] = "",
    source: Annotated[
        str, typer.Option(metavar="WHOSE", help="Origin of the statement: user, agent, document or unknown.")
    ] = Trust.USER.value,
    metadata: Meta = None,
    idempotency_key: Annotated[str, typer.Option(help="Key that makes a repeated call safe.")] = "",
    wait_for_llm: Annotated[
        bool,
        typer.Option("--wait-for-llm", help="Wait for the improvements of the language model, if one is configured."),
    ] = False,
    dry_run: DryRun = False,
) -> Remembered:
    """Store a text, filed under every entity it is about.

    The exit code is 4 if a rule of the space rejects the text.
    """
    return await client.call(RememberRequest.of(
        text=_read_text(text), title=title, kind=kind, name=name, entities=entity or (), observations=observation or
        (), tags=tag or (), category=category, project=project, scope=scope, session_hint=session_hint, intent=intent,
        pinned=pinned, expires_at=expires_at, remind_at=remind_at, source={"session": session, "trust": source},
        metadata=_parse_object(metadata), idempotency_key=idempotency_key, dry_run=dry_run, wait_for_llm=wait_for_llm,
    ))  # fmt: skip


@verb(app)
async def recall(
    client: MemoryClient,
    query: Annotated[str, typer.Argument(help="Question or words; without it, the most recent memories.")] = "",
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of memories.")] = 8,
    entity: Annotated[str, typer.Option(help="Only memories filed under this entity.")] = "",
    kind: Annotated[str, typer.Option(help="Only this kind.")] = "",
    category: Annotated[str, typer.Option(help="Only this category and its subcategories.")] = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="Only memories with this tag; repeatable, all must match.")
    ] = None,
    any_tag: Annotated[
        list[str] | None, typer.Option("--any-tag", help="Only memories with one of these tags; repeatable.")
    ] = None,
    project: Annotated[str, typer.Option(help="Only this project.")] = "",
    scope: Annotated[str, typer.Option(help="Only this scope.")] = "",
    tier: Annotated[str, typer.Option(help="working, episodic, semantic or procedural.")] = "",
    session: Annotated[str, typer.Option(help="Only from this session.")] = "",
    from_agent: Annotated[str, typer.Option("--from-agent", help="Only memories that this agent wrote.")] = "",
    trust: Annotated[str, typer.Option(help="user, agent, document or unknown.")] = "",
    contains: Annotated[
        str, typer.Option(metavar="TEXT", help="Only memories that contain this text, in upper or lower case.")
    ] = "",
    metadata: Meta = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Not older than this time.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Older than this time.")] = None,
    state: Annotated[str, typer.Option(help="live, archived, merged, trashed or waiting.")] = "live",
    around: Annotated[
        int, typer.Option(metavar="N", help="Show N neighbours before and after each hit in its session; up to 10.")
    ] = 0,
    max_tokens: Annotated[int, typer.Option(help="Token budget of the result.")] = 1500,
    detail: Annotated[str, typer.Option(help="concise or full.")] = "concise",
    cursor: Annotated[str, typer.Option(help="Continue after the previous page.")] = "",
    explain: Annotated[bool, typer.Option("--explain", help="Show the parts of each score.")] = False,
    today: Annotated[
        str | None, typer.Option(metavar="TIME", help="Reference date for 'yesterday' and 'in March'. Default: now.")
    ] = None,
    as_of: AsOf = None,
    branch: Annotated[
        str,
        typer.Option("--branch", "-b", metavar="NAME", help="Show memories that have this branch as they are on it."),
    ] = MAIN,
) -> Recalled:
    """Find memories that answer a question."""
    return await client.call(RecallRequest.of(
        query=query, limit=limit, entity=entity, kind=kind, category=category, tags=tag or (), any_tags=any_tag or (),
        project=project, scope=scope, tier=tier, session=session, agent=from_agent, trust=trust, contains=contains,
        metadata=_parse_object(metadata), since=since, until=until, state=state, around=around, max_tokens=max_tokens,
        detail=detail, cursor=cursor, explain=explain, today=today, as_of=as_of, branch=branch,
    ))  # fmt: skip


@verb(app)
async def read(
    client: MemoryClient,
    ids: Refs,
    *,
    format: Annotated[str, typer.Option("--format", "-f", help="markdown, plain or json.")] = "markdown",
    version: Annotated[int | None, typer.Option(help="Print this older version.")] = None,
    branch: OnBranch = "",
    as_of: AsOf = None,
) -> ReadResult:
    """Print memories in full."""
    return await client.call(ReadRequest.of(ids=ids, format=format, version=version, branch=branch, as_of=as_of))


@verb(app)
async def revise(
    client: MemoryClient,
    id: Ref,
    *,
    text: Annotated[str | None, typer.Option(help="New content; `-` reads standard input.")] = None,
    title: Annotated[str | None, typer.Option(help="New title.")] = None,
    name: Annotated[str | None, typer.Option(help="New name.")] = None,
    kind: Annotated[str | None, typer.Option(help="New kind.")] = None,
    category: Annotated[str | None, typer.Option(help="New category.")] = None,
    project: Annotated[str | None, typer.Option(help="New project.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="New tags, which replace all tags; repeatable.")
    ] = None,
    pinned: Annotated[bool | None, typer.Option("--pin/--unpin", help="Pin or unpin.")] = None,
    add_observation: Annotated[list[str] | None, typer.Option(help="A fact to add; repeatable.")] = None,
    remove_observation: Annotated[list[str] | None, typer.Option(help="A fact to remove; repeatable.")] = None,
    metadata: Meta = None,
    remind_at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When to remind you of it; `never` cancels the reminder.")
    ] = None,
    message: Message = "",
    expected_version: Annotated[
        int | None, typer.Option(help="Fail if the memory has changed since this version.")
    ] = None,
    branch: OnBranch = "",
) -> Written:
    """Change a memory and keep the previous state as a version."""
    changes: dict[str, Json] = {
        "title": title, "name": name, "kind": kind, "category": category, "project": project, "pinned": pinned,
        "text": None if text is None else _read_text(text), "tags": None if tag is None else list(tag),
        "metadata": None if metadata is None else _parse_object(metadata), "remind_at": remind_at,
    }  # fmt: skip
    changes = {name: value for name, value in changes.items() if value is not None}
    if remind_at == _NEVER:
        changes["remind_at"] = None
    return await client.call(ReviseRequest.of(
        id=id, add_observations=add_observation or (), remove_observations=remove_observation or (), message=message,
        expected_version=expected_version, branch=branch, idempotency_key="", source={"trust": Trust.USER.value} if
        add_observation or text is not None else None, **changes,
    ))  # fmt: skip


OptionalRefs = Annotated[
    list[str] | None, typer.Argument(help="Ids, names or titles; or give a filter.", show_default=False)
]
ByKind = Annotated[str, typer.Option("--kind", help="All memories of this kind.")]
ByTag = Annotated[list[str] | None, typer.Option("--tag", "-t", help="All memories with this tag; repeatable.")]
ByProject = Annotated[str, typer.Option("--project", help="All memories of this project.")]
ByEntity = Annotated[str, typer.Option("--entity", help="All memories filed under this entity.")]
BySession = Annotated[str, typer.Option("--session", help="All memories from this session.")]
Group = Annotated[bool, typer.Option("--group", help="Include the records of the same text for other entities.")]
Reason = Annotated[str, typer.Option(help="Reason, recorded in the history.")]


@verb(app)
async def forget(
    client: MemoryClient,
    ids: OptionalRefs = None,
    *,
    kind: ByKind = "",
    tag: ByTag = None,
    project: ByProject = "",
    entity: ByEntity = "",
    session: BySession = "",
    group: Group = False,
    reason: Reason = "",
    dry_run: DryRun = False,
) -> Outcome:
    """Move memories to the trash; `restore` brings them back."""
    refs, criteria = _selection(ids, kind, tag, project, entity, session)
    return await client.forget(refs, filter=criteria, group=group, reason=reason, dry_run=dry_run)


@verb(app)
async def restore(
    client: MemoryClient,
    ids: OptionalRefs = None,
    *,
    kind: ByKind = "",
    tag: ByTag = None,
    project: ByProject = "",
    entity: ByEntity = "",
    session: BySession = "",
    group: Group = False,
    reason: Reason = "",
    dry_run: DryRun = False,
    branch: Annotated[
        str,
        typer.Option(
            "--branch", "-b", metavar="NAME", help="Restore the dropped branch of this name, not the memories."
        ),
    ] = "",
) -> Outcome:
    """Take memories, or a dropped branch, out of the trash."""
    refs, criteria = _selection(ids, kind, tag, project, entity, session)
    return await client.restore(refs, filter=criteria, group=group, reason=reason, dry_run=dry_run, branch=branch)


# A purge also deletes from the index on disk, so this process opens it.
@verb(app, holds_index=True)
async def purge(
    client: MemoryClient,
    ids: OptionalRefs = None,
    *,
    kind: ByKind = "",
    tag: ByTag = None,
    project: ByProject = "",
    entity: ByEntity = "",
    session: BySession = "",
    group: Group = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    dry_run: DryRun = False,
) -> Outcome:
    """Delete memories in the trash for good.

    All their versions are deleted too. You cannot undo this.
    """
    refs, criteria = _selection(ids, kind, tag, project, entity, session)
    planned = await client.purge(refs, filter=criteria, group=group, dry_run=True)
    if dry_run or not planned.done:
        return planned
    if not yes and not typer.confirm(f"Delete {len(planned.done)} memories for good?", err=True):
        raise InvalidInput("nothing was purged", hint="Answer y, or use --yes")
    done = await client.purge([written.id for written in planned.done])
    return replace(done, missing=planned.missing)


@verb(app)
async def relate(
    client: MemoryClient,
    source: Ref,
    target: Ref,
    *,
    relation: Annotated[str, typer.Option("--relation", "-r", help="Type of the relation.")] = LINK,
    text: Annotated[str, typer.Option(help="Text of the link.")] = "",
    strength: Annotated[float, typer.Option(help="Strength from 0 to 1.")] = 0.5,
    metadata: Meta = None,
) -> Related:
    """Relate two memories.

    Without --relation the relation is a link, which both memories show.
    """
    return await client.relate(
        source, target, relation=relation, text=text, strength=strength, metadata=_parse_object(metadata)
    )


@verb(app)
async def unrelate(
    client: MemoryClient,
    source: Ref,
    target: Ref,
    *,
    relation: Annotated[str, typer.Option("--relation", "-r", help="Type of the relation.")] = LINK,
) -> Related:
    """Remove a relation."""
    return await client.unrelate(source, target, relation=relation)


@verb(app)
async def undo(
    client: MemoryClient,
    *,
    run: Annotated[str, typer.Option(help="Name or id of a run. Default: the last change of this agent.")] = "",
) -> Undone:
    """Undo the last change of this agent.

    If everything it touched has changed since, `undo` does nothing and the exit code is 4.
    """
    return await client.undo(run=run)


@verb(app)
async def context(
    client: MemoryClient,
    *,
    session: Annotated[str, typer.Option(help="The session that starts; it is not shown as the last one.")] = "",
    project: Annotated[str, typer.Option(help="The project to which the last session is limited.")] = "",
    max_tokens: Annotated[int, typer.Option(help="Token budget of the result.")] = 1500,
) -> Context:
    """Print the context for the start of a session, as Markdown.

    It contains the user's profile, pinned memories, due reminders, contradictions, and the last session.
    """
    return await client.context(session=session, project=project, max_tokens=max_tokens)


@verb(app)
async def status(client: MemoryClient) -> Status:
    """Show health, sizes, backends and degraded parts."""
    return await client.status()


@verb(app)
async def doctor(
    client: MemoryClient,
    *,
    deep: Annotated[bool, typer.Option("--deep", help="Read every page and every body of the store.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Repair the problems that can be repaired.")] = False,
) -> DoctorReport:
    """Check the store and say how to fix each problem."""
    return await client.doctor(deep=deep, repair=repair)


def _selection(
    ids: list[str] | None, kind: str, tag: list[str] | None, project: str, entity: str, session: str
) -> tuple[list[str], Filter | None]:
    criteria = Filter(kind=kind, tags=tuple(tag or ()), project=project, entity=entity, session=session)
    return list(ids or ()), None if criteria.is_empty else criteria


def _read_text(value: str) -> str:
    """Return the value, or standard input for `-`."""
    if value != "-":
        return value
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"standard input is not UTF-8 at byte {error.start}", hint="Convert it first, for example with iconv"
        ) from None


def _parse_object(value: str | None) -> dict[str, Json]:
    if value is None:
        return {}
    try:
        parsed: object = json.loads(value)
    except ValueError as error:
        raise InvalidInput(
            f"--metadata is not JSON: {error}", hint="""For example --metadata '{"source": "mail"}'"""
        ) from None
    if not isinstance(parsed, dict):
        raise InvalidInput("--metadata must be a JSON object", hint="""For example --metadata '{"source": "mail"}'""")
    return parsed  # pyright: ignore[reportUnknownVariableType]
