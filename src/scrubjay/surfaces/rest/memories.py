"""Memories: kept, read, changed, put into the trash and taken out of it."""

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import quote

from fastapi import Header, Query, Response

from scrubjay.errors import InvalidInput, NotFound, StaleVersion
from scrubjay.model.draft import Selection
from scrubjay.model.memory import Json, Memory
from scrubjay.model.results import Missing, Outcome, ReadResult, Remembered, Written
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import Reading, RequestContext, Writing
from scrubjay.surfaces.rest.fields import LONGEST_LABEL, Label
from scrubjay.surfaces.rest.requests import (
    ReadAsked,
    RememberAsked,
    ReviseAsked,
    SelectionAsked,
    SmartWriteAsked,
    filter_of,
)
from scrubjay.surfaces.rest.route import ETAG, AsOf, OnBranch, Ref, answer, branch_from, etag, router, version_from
from scrubjay.surfaces.rest.schemas import Described, gives

routes = router("memories")

Key = Annotated[
    Label,
    Header(
        alias="Idempotency-Key",
        description="Makes a retry safe: the same key and request get the first answer again.",
        examples=["7d0a2f7e"],
    ),
]
IfMatch = Annotated[
    str,
    Header(
        alias="If-Match",
        max_length=100,
        description="The version that the caller goes by; `*` is any.",
        examples=['"2"'],
        json_schema_extra={"pattern": ETAG},
    ),
]
IfNoneMatch = Annotated[
    str, Header(alias="If-None-Match", max_length=1_000, description="The version that the caller has.")
]
DroppedBranch = Annotated[
    str, Query(max_length=LONGEST_LABEL, description="Not the memory itself: a branch of it that was dropped.")
]
_CREATED = 201
_UNCHANGED = 304
_MARKDOWN = "text/markdown"
_MEMORY = gives(Memory, examples.MEMORY, what="The memory", headers=("ETag",), also={_MARKDOWN: examples.TEXT})


def _written(example: Mapping[str, Json]) -> Described:
    return gives(Written, example, headers=("ETag",))


_REMEMBERED = gives(
    Remembered, examples.CREATED, status=_CREATED, what="A new memory", headers=("ETag", "Location")
) | gives(Remembered, examples.MERGED, what="Merged into another, known already, or refused", headers=("ETag",))


@routes.post("/memories", summary="Remember a text", status_code=_CREATED, responses=_REMEMBERED)
async def remember(asked: RememberAsked, context: Writing, key: Key = "") -> Response:
    """Store a text once, filed under every entity it is about; the answer says what was done, stage by stage."""
    inputs = asked.model_dump(exclude_none=True, exclude_defaults=True)
    done = await context.write("remember", context.memory.remember(**inputs, idempotency_key=key))
    return _remembered(done, context, dry_run=asked.dry_run)


@routes.post("/memories/smart-write", summary="Write smartly", status_code=_CREATED, responses=_REMEMBERED)
async def smart_write(asked: SmartWriteAsked, context: Writing, key: Key = "") -> Response:
    """Create a memory, or add to the one that it continues: `intent` says whether to choose, and which."""
    inputs = asked.model_dump(exclude_none=True, exclude_defaults=True)
    text, kind = inputs.pop("content"), inputs.pop("type", "")
    if not text.strip():
        raise InvalidInput("there is nothing to remember: the content is empty", field="content")
    done = await context.write("remember", context.memory.remember(text, kind=kind, **inputs, idempotency_key=key))
    return _remembered(done, context, dry_run=asked.dry_run)


@routes.post("/memories/read", summary="Read several memories", responses=gives(ReadResult, examples.READ))
async def read_many(asked: ReadAsked, context: Reading) -> Response:
    """Whole memories by id, name or title; what is missing is named, with suggestions."""
    work = context.memory.read(
        asked.ids, format=asked.format, version=asked.version, branch=asked.branch, as_of=asked.as_of
    )
    return answer(await context.read("read", work))


@routes.post("/memories/forget", summary="Forget several memories", responses=gives(Outcome, examples.FORGOTTEN))
async def forget_many(asked: SelectionAsked, context: Writing) -> Response:
    """Put memories into the trash, from where `restore` brings them back."""
    return answer(await context.write("forget", context.dependencies.engine.forget(selection(asked), who=context.who)))


@routes.post("/memories/restore", summary="Restore several memories", responses=gives(Outcome, examples.RESTORED))
async def restore_many(asked: SelectionAsked, context: Writing) -> Response:
    """Take memories out of the trash."""
    return answer(
        await context.write("restore", context.dependencies.engine.restore(selection(asked), who=context.who))
    )


@routes.post("/memories/purge", summary="Purge several memories", responses=gives(Outcome, examples.PURGED))
async def purge_many(asked: SelectionAsked, context: Writing) -> Response:
    """Destroy memories that are in the trash, with every version and every trace of their text."""
    return answer(
        await context.write("purge", context.dependencies.engine.purge(selection(asked), who=context.who), long=True)
    )


@routes.get(
    "/memories/{id}",
    summary="Read a memory",
    responses=_MEMORY | {_UNCHANGED: {"description": "The caller has this version already"}},
)
async def read(
    ref: Ref,
    context: Reading,
    version: Annotated[int | None, Query(ge=1, le=(1 << 63) - 1, description="An earlier version.")] = None,
    branch: OnBranch = "",
    as_of: AsOf = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
    known: IfNoneMatch = "",
) -> Response:
    """One memory, as JSON, or as Markdown for whoever asks with `Accept: text/markdown`."""
    is_markdown = _MARKDOWN in accept.lower()
    form = "markdown" if is_markdown else "json"
    work = context.memory.read(ref, format=form, version=version, branch=branch, as_of=as_of)
    results = await context.read("read", work)
    memory = only(results, ref)
    headers = etag(memory.version, memory.branch) | {"vary": "accept"}
    if known.strip() == "*" or headers["etag"] in known:
        return Response(status_code=_UNCHANGED, headers=headers)
    if is_markdown:
        return Response(results.texts[0], headers=headers, media_type=_MARKDOWN)
    return answer(memory, headers=headers)


@routes.patch("/memories/{id}", summary="Revise a memory", responses=_written(examples.REVISED))
async def revise(
    ref: Ref, asked: ReviseAsked, context: Writing, branch: OnBranch = "", match: IfMatch = "", key: Key = ""
) -> Response:
    """Change fields of a memory; the state before stays a version."""
    fields = asked.model_dump(mode="json", exclude_unset=True)
    work = context.memory.revise(
        ref, expected_version=version_from(match), branch=branch_from(match, branch), idempotency_key=key, **fields
    )
    done = await context.write("revise", work)
    return answer(done, headers=etag(done.version, done.branch))


@routes.delete("/memories/{id}", summary="Forget a memory", responses=_written(examples.FORGOTTEN_ONE))
async def forget(
    ref: Ref,
    context: Writing,
    match: IfMatch = "",
    group: Annotated[bool, Query(description="Take along what was made from the same text.")] = False,
    reason: Annotated[str, Query(max_length=1_000, description="Why, for the history.")] = "",
) -> Response:
    """Put a memory into the trash, from where `restore` brings it back."""
    await require_version(context, ref, match)
    return _one(await context.write("forget", context.memory.forget(ref, group=group, reason=reason)))


@routes.post("/memories/{id}/restore", summary="Restore a memory", responses=_written(examples.RESTORED_ONE))
async def restore(ref: Ref, context: Writing, match: IfMatch = "", branch: DroppedBranch = "") -> Response:
    """Take a memory out of the trash; or, by its name, a branch of it that was dropped."""
    await require_version(context, ref, match)
    return _one(await context.write("restore", context.memory.restore(ref, branch=branch)))


@routes.post("/memories/{id}/purge", summary="Purge a memory", responses=_written(examples.PURGED_ONE))
async def purge(ref: Ref, context: Writing, match: IfMatch = "") -> Response:
    """Destroy a memory that is in the trash, with every version and every trace of its text."""
    await require_version(context, ref, match)
    return _one(await context.write("purge", context.memory.purge(ref), long=True))


async def require_version(context: RequestContext, ref: str, match: str, *, branch: str = "") -> None:
    """Raises StaleVersion when a memory is at another version than the caller goes by.

    Somebody may still come in between, which costs nothing here: what these verbs do can be undone, or was done to what
    is in the trash.
    """
    expected = version_from(match)
    if expected is None:
        return
    current = only(await context.read("read", context.memory.read(ref, format="json", branch=branch)), ref)
    if current.version != expected:
        raise StaleVersion(
            f"memory {current.name!r} is at version {current.version}, not {expected}",
            hint="Read it again before you decide",
            memory_id=current.id,
            expected=expected,
            current=current.version,
        )


def selection(asked: SelectionAsked) -> Selection:
    """Which memories a body names."""
    return Selection(
        refs=tuple(asked.ids),
        filter=None if asked.filter is None else filter_of(asked.filter),
        group=asked.group,
        reason=asked.reason,
        dry_run=asked.dry_run,
    )


def only(found: ReadResult, ref: str) -> Memory:
    """The memory that was asked for; raises NotFound."""
    if not found.memories:
        raise _not_found(found.missing[0] if found.missing else Missing(ref=ref))
    return found.memories[0]


def _remembered(done: Remembered, context: RequestContext, *, dry_run: bool) -> Response:
    is_new = done.action == "created" and not dry_run
    headers = etag(done.version) if done.id else {}
    if is_new:
        headers["location"] = _place(done.id, context)
    return answer(done, status=_CREATED if is_new else 200, headers=headers)


def _place(memory_id: str, context: RequestContext) -> str:
    """Where a memory is read, also by whoever has another space of its own."""
    home = context.grant.caller(default=context.dependencies.space).space
    there = context.who.space
    return f"/api/v1/memories/{memory_id}" + ("" if there == home else f"?space={quote(there, safe='')}")


def _one(done: Outcome) -> Response:
    if not done.done:
        raise _not_found(done.missing[0])
    return answer(done.done[0], headers=etag(done.done[0].version, done.done[0].branch))


def _not_found(missing: Missing) -> NotFound:
    if missing.why:
        return NotFound(f"no memory is called {missing.ref[:100]!r}: {missing.why}", ref=missing.ref[:200])
    names = missing.suggestions
    hint = f"Did you mean {' or '.join(names)}?" if names else "Find it with GET /api/v1/search"
    return NotFound(f"no memory is called {missing.ref[:100]!r}", hint=hint, ref=missing.ref[:200], suggestions=names)
