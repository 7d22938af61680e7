"""One command a verb, with the verb's own name and arguments."""

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
from scrubjay.model.results import (
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
Tags = Annotated[list[str] | None, typer.Option("--tag", "-t", help="Tag; may be given several times.")]
Meta = Annotated[str | None, typer.Option("--metadata", metavar="JSON", help="A JSON object.")]
AsOf = Annotated[str | None, typer.Option(metavar="TIME", help="What was remembered at this time.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]


@verb(app)
async def remember(
    client: MemoryClient,
    text: Annotated[
        str, typer.Argument(help="What to remember; `-` reads it from standard input.", show_default=False)
    ],
    *,
    title: Annotated[str, typer.Option(help="Title.")] = "",
    kind: Annotated[str, typer.Option(help="What sort of thing it is: fact, preference, decision …")] = "",
    name: Annotated[str, typer.Option(help="Handle, unique among live memories. Default: made from the title.")] = "",
    entity: Annotated[
        list[str] | None, typer.Option("--entity", "-e", help="Whom or what it is about; repeatable.")
    ] = None,
    observation: Annotated[
        list[str] | None, typer.Option("--observation", "-o", help="An atomic fact; repeatable.")
    ] = None,
    tag: Tags = None,
    category: Annotated[str, typer.Option(help="Category.")] = "",
    project: Annotated[str, typer.Option(help="Project.")] = "",
    scope: Annotated[str, typer.Option(help="Scope, for example personal or team.")] = "",
    session_hint: Annotated[
        str, typer.Option(metavar="NAME", help="The same for all of one task: it is gathered in one memory.")
    ] = "",
    intent: Annotated[
        str, typer.Option(help="auto, new (never merged into another) or continue (the session hint's memory).")
    ] = "auto",
    pinned: Annotated[bool, typer.Option("--pinned", help="Always part of what recall returns.")] = False,
    expires_at: Annotated[str | None, typer.Option(metavar="TIME", help="Not found after this time.")] = None,
    remind_at: Annotated[str | None, typer.Option(metavar="TIME", help="When to bring it up again.")] = None,
    session: Annotated[str, typer.Option(help="Session it comes from.")] = "",
    source: Annotated[
        str, typer.Option(metavar="WHOSE", help="Whose word it is: user, agent, document or unknown.")
    ] = Trust.USER.value,
    metadata: Meta = None,
    idempotency_key: Annotated[str, typer.Option(help="Makes a repeated call safe.")] = "",
    wait_for_llm: Annotated[
        bool, typer.Option("--wait-for-llm", help="Wait for what a language model, if there is one, may improve.")
    ] = False,
    dry_run: DryRun = False,
) -> Remembered:
    """Store a text, once, filed under every entity it is about. What a rule refuses leaves with exit code 4."""
    return await client.remember(
        _text(text), title=title, kind=kind, name=name, entities=entity or (), observations=observation or (),
        tags=tag or (), category=category, project=project, scope=scope, session_hint=session_hint, intent=intent,
        pinned=pinned, expires_at=expires_at, remind_at=remind_at, source={"session": session, "trust": source},
        metadata=_object(metadata), idempotency_key=idempotency_key, dry_run=dry_run, wait_for_llm=wait_for_llm,
    )  # fmt: skip


@verb(app)
async def recall(
    client: MemoryClient,
    query: Annotated[str, typer.Argument(help="What to look for; nothing shows the most recent.")] = "",
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 8,
    entity: Annotated[str, typer.Option(help="Only what is filed under this entity.")] = "",
    kind: Annotated[str, typer.Option(help="Only this kind.")] = "",
    category: Annotated[str, typer.Option(help="Only this category and those below it.")] = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="Only what has this tag; all must match.")
    ] = None,
    any_tag: Annotated[list[str] | None, typer.Option("--any-tag", help="Only what has one of these tags.")] = None,
    project: Annotated[str, typer.Option(help="Only this project.")] = "",
    scope: Annotated[str, typer.Option(help="Only this scope.")] = "",
    tier: Annotated[str, typer.Option(help="working, episodic, semantic or procedural.")] = "",
    session: Annotated[str, typer.Option(help="Only from this session.")] = "",
    from_agent: Annotated[str, typer.Option("--from-agent", help="Only what this agent wrote.")] = "",
    trust: Annotated[str, typer.Option(help="user, agent, document or unknown.")] = "",
    contains: Annotated[str, typer.Option(metavar="TEXT", help="Only where this text stands, in any case.")] = "",
    metadata: Meta = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Not older than this.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Older than this.")] = None,
    state: Annotated[str, typer.Option(help="live, archived, merged, trashed or waiting.")] = "live",
    around: Annotated[
        int, typer.Option(metavar="N", help="Show so many memories before and after each in its session; at most 10.")
    ] = 0,
    max_tokens: Annotated[int, typer.Option(help="What the answer may cost a model.")] = 1500,
    detail: Annotated[str, typer.Option(help="concise or full.")] = "concise",
    cursor: Annotated[str, typer.Option(help="Go on where the last answer ended.")] = "",
    explain: Annotated[bool, typer.Option("--explain", help="Show every part of each score.")] = False,
    today: Annotated[
        str | None, typer.Option(metavar="TIME", help="What 'yesterday' and 'in March' are counted from. Default: now.")
    ] = None,
    as_of: AsOf = None,
    branch: Annotated[
        str, typer.Option("--branch", "-b", metavar="NAME", help="Show what has this branch as it is there.")
    ] = MAIN,
) -> Recalled:
    """Find the memories that answer a question."""
    return await client.recall(
        query, limit=limit, entity=entity, kind=kind, category=category, tags=tag or (), any_tags=any_tag or (),
        project=project, scope=scope, tier=tier, session=session, agent=from_agent, trust=trust, contains=contains,
        metadata=_object(metadata), since=since, until=until, state=state, around=around, max_tokens=max_tokens,
        detail=detail, cursor=cursor, explain=explain, today=today, as_of=as_of, branch=branch,
    )  # fmt: skip


@verb(app)
async def read(
    client: MemoryClient,
    ids: Refs,
    *,
    format: Annotated[str, typer.Option("--format", "-f", help="markdown, plain or json.")] = "markdown",
    version: Annotated[int | None, typer.Option(help="An older version.")] = None,
    branch: OnBranch = "",
    as_of: AsOf = None,
) -> ReadResult:
    """Print whole memories."""
    return await client.read(ids, format=format, version=version, branch=branch, as_of=as_of)


@verb(app)
async def revise(
    client: MemoryClient,
    id: Ref,
    *,
    text: Annotated[str | None, typer.Option(help="New content; `-` reads it from standard input.")] = None,
    title: Annotated[str | None, typer.Option(help="New title.")] = None,
    name: Annotated[str | None, typer.Option(help="New handle.")] = None,
    kind: Annotated[str | None, typer.Option(help="New kind.")] = None,
    category: Annotated[str | None, typer.Option(help="New category.")] = None,
    project: Annotated[str | None, typer.Option(help="New project.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="New tags, replacing all; repeatable.")] = None,
    pinned: Annotated[bool | None, typer.Option("--pin/--unpin", help="Pin or unpin.")] = None,
    add_observation: Annotated[list[str] | None, typer.Option(help="A fact to add; repeatable.")] = None,
    remove_observation: Annotated[list[str] | None, typer.Option(help="A fact to remove; repeatable.")] = None,
    metadata: Meta = None,
    remind_at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When to bring it up again; `never` ends that.")
    ] = None,
    message: Message = "",
    expected_version: Annotated[int | None, typer.Option(help="Refuse if it has changed since this version.")] = None,
    branch: OnBranch = "",
) -> Written:
    """Change a memory; the state before stays a version."""
    given: dict[str, Json] = {
        "title": title, "name": name, "kind": kind, "category": category, "project": project, "pinned": pinned,
        "text": None if text is None else _text(text), "tags": None if tag is None else list(tag),
        "metadata": None if metadata is None else _object(metadata), "remind_at": remind_at,
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    if remind_at == _NEVER:
        given["remind_at"] = None
    return await client.revise(
        id, add_observations=add_observation or (), remove_observations=remove_observation or (), message=message,
        expected_version=expected_version, branch=branch, idempotency_key="",
        source={"trust": Trust.USER.value} if add_observation or text is not None else None, **given,
    )  # fmt: skip


def _selection(
    ids: list[str] | None, kind: str, tag: list[str] | None, project: str, entity: str, session: str
) -> tuple[list[str], Filter | None]:
    wanted = Filter(kind=kind, tags=tuple(tag or ()), project=project, entity=entity, session=session)
    return list(ids or ()), None if wanted.is_empty else wanted


OptionalRefs = Annotated[
    list[str] | None, typer.Argument(help="Ids, names or titles; or give a filter.", show_default=False)
]
ByKind = Annotated[str, typer.Option("--kind", help="All of this kind.")]
ByTag = Annotated[list[str] | None, typer.Option("--tag", "-t", help="All with this tag.")]
ByProject = Annotated[str, typer.Option("--project", help="All of this project.")]
ByEntity = Annotated[str, typer.Option("--entity", help="All filed under this entity.")]
BySession = Annotated[str, typer.Option("--session", help="All from this session.")]
Group = Annotated[bool, typer.Option("--group", help="The records of the same text for other entities too.")]
Reason = Annotated[str, typer.Option(help="Why, for the history.")]


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
    """Put memories into the trash; `restore` brings them back."""
    refs, wanted = _selection(ids, kind, tag, project, entity, session)
    return await client.forget(refs, filter=wanted, group=group, reason=reason, dry_run=dry_run)


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
        str, typer.Option("--branch", "-b", metavar="NAME", help="Not the memories: their dropped branch of this name.")
    ] = "",
) -> Outcome:
    """Take memories out of the trash; or, by its name, a branch of theirs that was dropped."""
    refs, wanted = _selection(ids, kind, tag, project, entity, session)
    return await client.restore(refs, filter=wanted, group=group, reason=reason, dry_run=dry_run, branch=branch)


# The index on disk must lose what is purged too, so this process takes hold of it.
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
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: DryRun = False,
) -> Outcome:
    """Destroy memories that are in the trash, with all their versions. This cannot be undone."""
    refs, wanted = _selection(ids, kind, tag, project, entity, session)
    planned = await client.purge(refs, filter=wanted, group=group, dry_run=True)
    if dry_run or not planned.done:
        return planned
    if not yes and not typer.confirm(f"Destroy {len(planned.done)} memories for good?", err=True):
        raise InvalidInput("nothing was purged", hint="Answer y, or give --yes")
    done = await client.purge([one.id for one in planned.done])
    return replace(done, missing=planned.missing)


@verb(app)
async def relate(
    client: MemoryClient,
    source: Ref,
    target: Ref,
    *,
    relation: Annotated[str, typer.Option("--relation", "-r", help="Type of the relation.")] = LINK,
    text: Annotated[str, typer.Option(help="What the link says.")] = "",
    strength: Annotated[float, typer.Option(help="From 0 to 1.")] = 0.5,
    metadata: Meta = None,
) -> Related:
    """Relate two memories; without --relation it is a link, shown from both ends."""
    return await client.relate(
        source, target, relation=relation, text=text, strength=strength, metadata=_object(metadata)
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
    run: Annotated[str, typer.Option(help="A named run, or the id of one. Default: this agent's last change.")] = "",
) -> Undone:
    """Take back the last change of this agent. Where all of it was changed since, nothing is done: exit code 4."""
    return await client.undo(run=run)


@verb(app)
async def status(client: MemoryClient) -> Status:
    """Show health, sizes, backends and what is degraded."""
    return await client.status()


@verb(app)
async def doctor(
    client: MemoryClient,
    *,
    deep: Annotated[bool, typer.Option("--deep", help="Read every page and every body.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
) -> DoctorReport:
    """Look at everything and say what to do about what is not well."""
    return await client.doctor(deep=deep, repair=repair)


def _text(given: str) -> str:
    if given != "-":
        return given
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"standard input is not UTF-8 at byte {error.start}", hint="Convert it first, for example with iconv"
        ) from None


def _object(given: str | None) -> dict[str, Json]:
    if given is None:
        return {}
    try:
        found: object = json.loads(given)
    except ValueError as error:
        raise InvalidInput(
            f"--metadata is not JSON: {error}", hint="""For example --metadata '{"source": "mail"}'"""
        ) from None
    if not isinstance(found, dict):
        raise InvalidInput("--metadata must be a JSON object", hint="""For example --metadata '{"source": "mail"}'""")
    return found  # pyright: ignore[reportUnknownVariableType]
