"""Attachments: the files that notes embed."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.notes.attachments.results import Attached, Attachment, NoteAttachments, Orphans
from scrubjay.surfaces.rest.deps import RequestContext, RestDependencies, Watching, Writing
from scrubjay.surfaces.rest.fields import Line, Name
from scrubjay.surfaces.rest.route import Ref, answer, is_head, router, saved_as
from scrubjay.surfaces.rest.schemas import gives

routes = router("attachments")
_CREATED = 201
_BYTES = "application/octet-stream"
# What is told by its own type: nothing that a browser would run, or take for a page of this server.
_PLAIN = (
    "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/heic", "audio/mpeg", "audio/wav",
    "audio/ogg", "audio/flac", "audio/mp4", "video/mp4", "video/ogg", "video/quicktime", "video/webm",
    "video/x-matroska",
)  # fmt: skip
_BINARY: dict[str, Json] = {"type": "string", "format": "binary"}
_FILE_BODY: dict[str, Json] = {"schema": _BINARY, "example": "The bytes of the file"}
_BODY: dict[str, Json] = {"requestBody": {"required": True, "content": {_BYTES: _FILE_BODY}}}
_NOTE = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"
_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_FILE = f"attachments/sarah-at-her-desk-{_DIGEST[:12]}.png"
_ATTACHMENT: dict[str, Json] = {
    "id": "0197f3c2-7a10-7c2f-8d11-0b1c2d3e4f5a",
    "name": f"sarah-at-her-desk-png-{_DIGEST[:12]}",
    "title": "Sarah at her desk.png",
    "media_type": "image/png",
    "bytes": 48_120,
    "sha256": _DIGEST,
    "file": _FILE,
    "caption": "Sarah, May 2026",
    "path": f"/home/ada/notes/{_FILE}",
}
_ATTACHED: dict[str, Json] = {"action": "created", "note": _NOTE, "attachment": _ATTACHMENT, "warnings": []}
_ORPHAN: dict[str, Json] = {
    "why": "no note embeds it",
    "file": _FILE,
    "id": _ATTACHMENT["id"],
    "bytes": _ATTACHMENT["bytes"],
}


@routes.post(
    "/notes/{id}/attachments",
    summary="Attach a file",
    status_code=_CREATED,
    responses=gives(Attached, _ATTACHED, status=_CREATED, what="A new attachment")
    | gives(Attached, _ATTACHED | {"action": "known"}, what="The same bytes were there"),
    openapi_extra=_BODY,
)
async def attach_file(
    request: Request,
    ref: Ref,
    context: Writing,
    name: Annotated[Name, Query(description="What the file is called.", examples=["Sarah at her desk.png"])],
    caption: Annotated[Line, Query(description="What it shows; it is found by that, too.")] = "",
) -> Response:
    """Keep the body as a file beside the notes, and embed it in one; the same bytes are kept once."""
    data = await request.body()
    if not data:
        raise InvalidInput("there is nothing to attach: the body is empty", hint="Send the bytes of the file")
    done = await context.write("attach_file", context.memory.attach_file(ref, name, data, caption=caption), long=True)
    return answer(done, status=_CREATED if done.action == "created" else 200)


@routes.get(
    "/notes/{id}/attachments",
    summary="What a note embeds",
    responses=gives(NoteAttachments, {"note": _NOTE, "attachments": [_ATTACHMENT]}),
)
async def note_attachments(ref: Ref, context: Watching) -> Response:
    """The files that a note embeds, with their types, sizes and captions."""
    return answer(await context.read("note_attachments", context.memory.note_attachments(ref)))


@routes.get("/attachments/orphans", summary="Files nobody embeds", responses=gives(Orphans, {"orphans": [_ORPHAN]}))
async def orphaned_files(context: Watching) -> Response:
    """Attachments that no note embeds or whose file is gone, and files that nothing knows of."""
    return answer(await context.read("orphaned_files", context.memory.orphaned_files()))


@routes.get(
    "/attachments/{id}",
    summary="Download an attachment",
    response_class=Response,
    responses={200: {"description": "Its bytes", "content": dict.fromkeys((_BYTES, *_PLAIN), _FILE_BODY)}},
)
async def download_attachment(ref: Ref, context: Watching) -> Response:
    """The bytes of an attachment, to be saved: a browser shows none of it in the name of this server."""
    stack = AsyncExitStack()
    results, pieces = await context.read("download_attachment", _opened(ref, context, stack=stack))
    return _Download(results, pieces, stack=stack, dependencies=context.dependencies)


class _Download(StreamingResponse):
    """A file on its way to a caller, who is counted until all of it is sent."""

    def __init__(
        self, found: Attachment, pieces: AsyncIterator[bytes], *, stack: AsyncExitStack, dependencies: RestDependencies
    ) -> None:  # fmt: skip
        super().__init__(pieces, headers=_headers(found), media_type=_kind(found))
        self._stack = stack
        self._dependencies = dependencies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or only how it begins; raises Busy before anything is sent."""
        async with self._stack, self._dependencies.gate.staying("download_attachment"):
            if is_head(scope):
                self.body_iterator = _nothing()
            await super().__call__(scope, receive, send)


async def _nothing() -> AsyncIterator[bytes]:
    yield b""


async def _opened(
    ref: str, context: RequestContext, *, stack: AsyncExitStack
) -> tuple[Attachment, AsyncIterator[bytes]]:
    notes = context.dependencies.notes
    if notes is None:
        raise InvalidInput("this server keeps no folder of notes")
    return await stack.enter_async_context(notes.attachment_content(ref, who=context.who))


def _headers(found: Attachment) -> dict[str, str]:
    return saved_as(found.title) | {
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-store",
    }


def _kind(found: Attachment) -> str:
    return found.media_type if found.media_type in _PLAIN else _BYTES
