"""Attachments: the files that notes embed."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated

from fastapi import Depends, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from scrubjay.errors import InvalidInput
from scrubjay.model.attachments import Attached, Attachment, NoteAttachments, Orphans
from scrubjay.model.memory import Json
from scrubjay.model.requests import AttachFileRequest, NoteAttachmentsRequest, OrphanedFilesRequest
from scrubjay.surfaces.rest.deps import OneSpaceContext, RequestContext, WriteContext
from scrubjay.surfaces.rest.requests import Fields, query_of
from scrubjay.surfaces.rest.route import MemoryRef, download_headers, is_head, json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("attachments")
_CREATED = 201
_BYTES = "application/octet-stream"
# Other types are sent as bytes: a browser must not run a file, or show it as a page of this server.
_SAFE_TYPES = (
    "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/heic", "audio/mpeg", "audio/wav",
    "audio/ogg", "audio/flac", "audio/mp4", "video/mp4", "video/ogg", "video/quicktime", "video/webm",
    "video/x-matroska",
)  # fmt: skip
_BINARY: dict[str, Json] = {"type": "string", "format": "binary"}
_FILE_BODY: dict[str, Json] = {"schema": _BINARY, "example": "The bytes of the file"}
_BODY: dict[str, Json] = {"requestBody": {"required": True, "content": {_BYTES: _FILE_BODY}}}


@routes.post(
    "/notes/{id}/attachments",
    summary="Attach a file",
    status_code=_CREATED,
    responses=response_schema(Attached, status=_CREATED, description="A new attachment")
    | response_schema(Attached, description="The same bytes are stored already"),
    openapi_extra=_BODY,
)
async def attach_file(
    request: Request,
    ref: MemoryRef,
    context: WriteContext,
    query: Annotated[Fields, Depends(query_of(AttachFileRequest, without=["note", "data"]))],
) -> Response:
    """Store the body as a file in the folder of notes, and embed it in a note. The same bytes are stored once."""
    data = await request.body()
    if not data:
        raise InvalidInput("there is nothing to attach: the body is empty", hint="Send the bytes of the file")
    attached = await context.call(AttachFileRequest.of(note=ref, data=data, **query))
    return json_response(attached, status=_CREATED if attached.action == "created" else 200)


@routes.get(
    "/notes/{id}/attachments",
    summary="List the attachments of a note",
    responses=response_schema(NoteAttachments),
)
async def note_attachments(ref: MemoryRef, context: OneSpaceContext) -> Response:
    """List the files that a note embeds, with their types, sizes and captions."""
    return json_response(await context.call(NoteAttachmentsRequest(note=ref)))


@routes.get("/attachments/orphans", summary="List orphaned files", responses=response_schema(Orphans))
async def orphaned_files(context: OneSpaceContext) -> Response:
    """List attachments that no note embeds or whose file is missing, and files that belong to no attachment."""
    return json_response(await context.call(OrphanedFilesRequest()))


@routes.get(
    "/attachments/{id}",
    summary="Download an attachment",
    response_class=Response,
    responses={200: {"description": "The file", "content": dict.fromkeys((_BYTES, *_SAFE_TYPES), _FILE_BODY)}},
)
async def download_attachment(ref: MemoryRef, context: OneSpaceContext) -> Response:
    """Download the bytes of an attachment. Browsers save the file instead of showing it."""
    stack = AsyncExitStack()
    attachment, pieces = await context.read("download_attachment", _open_attachment(ref, context, stack=stack))
    return _Download(attachment, pieces, stack=stack, context=context)


class _Download(StreamingResponse):
    """A file download, which counts as a running request until it ends."""

    def __init__(
        self,
        attachment: Attachment,
        pieces: AsyncIterator[bytes],
        *,
        stack: AsyncExitStack,
        context: RequestContext,
    ) -> None:
        media_type = attachment.media_type if attachment.media_type in _SAFE_TYPES else _BYTES
        super().__init__(pieces, headers=download_headers(attachment.title), media_type=media_type)
        self._stack = stack
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file, or only the headers for HEAD; raise Busy before anything is sent."""
        gate, caller = self._context.dependencies.gate, self._context.grant.id
        async with self._stack, gate.hold("download_attachment", caller=caller):
            if is_head(scope):
                self.body_iterator = _no_pieces()
            await super().__call__(scope, receive, send)


async def _no_pieces() -> AsyncIterator[bytes]:
    yield b""


async def _open_attachment(
    ref: str, context: RequestContext, *, stack: AsyncExitStack
) -> tuple[Attachment, AsyncIterator[bytes]]:
    notes = context.dependencies.notes
    if notes is None:
        raise InvalidInput("this server has no folder of notes")
    return await stack.enter_async_context(notes.attachment_content(ref, who=context.who))
