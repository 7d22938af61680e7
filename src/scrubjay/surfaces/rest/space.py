"""A space as a whole: its status, rules, tags, inbox and jobs, and its export and import."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Annotated

from fastapi import Depends, Path, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from scrubjay.errors import Busy, InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.health import HealthReport
from scrubjay.model.job import Job
from scrubjay.model.memory import Memory
from scrubjay.model.requests import (
    AddSynonymsRequest,
    ApproveRequest,
    CancelJobRequest,
    DeclineRequest,
    ExportRequest,
    HealthRequest,
    ImportRequest,
    InboxRequest,
    JobsRequest,
    PreviewTagsRequest,
    RemoveSynonymsRequest,
    RetryJobRequest,
    RulesRequest,
    SetRulesRequest,
    StatusRequest,
    TagsRequest,
)
from scrubjay.model.results import Outcome, Status
from scrubjay.model.rules import Rules
from scrubjay.model.tags import TagPreview, TagTable
from scrubjay.model.transfer import Imported
from scrubjay.surfaces.http.body import ClientGone, split_lines
from scrubjay.surfaces.http.upload import UploadBuffer
from scrubjay.surfaces.rest.deps import OneSpaceContext, RequestContext, WriteContext
from scrubjay.surfaces.rest.requests import MAX_LABEL_LENGTH, Fields, SelectionBody, body_of, query_of
from scrubjay.surfaces.rest.route import EXAMPLE_ID, json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("space")
rule_routes = router("rules")
tag_routes = router("tags")
inbox_routes = router("inbox")
job_routes = router("jobs")
_NDJSON = "application/x-ndjson"
_LINES_PER_CHECK = 200
_TEXT = {"type": "string", "minLength": 1}
_BODY = {"requestBody": {"required": True, "content": {_NDJSON: {"schema": _TEXT}}}}


@rule_routes.get("/rules", summary="Read the rules", responses=response_schema(Rules))
async def rules(context: OneSpaceContext) -> Response:
    """Return all rules of the space, including those with default values."""
    return json_response(await context.call(RulesRequest()))


@rule_routes.patch("/rules", summary="Change the rules", responses=response_schema(Rules))
async def set_rules(body: Annotated[Fields, body_of(SetRulesRequest)], context: WriteContext) -> Response:
    """Change rules for later writes."""
    request = SetRulesRequest.of(**body) if body else RulesRequest()
    return json_response(await context.call(request))


@tag_routes.get("/tags", summary="List tags", responses=response_schema(TagTable))
async def tags(context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(TagsRequest))]) -> Response:
    """List the tags of the space, the most used first, and the synonyms that apply."""
    return json_response(await context.call(TagsRequest.of(**query)))


@tag_routes.post("/tags/synonyms", summary="Add synonyms", responses=response_schema(TagTable))
async def add_synonyms(body: Annotated[Fields, body_of(AddSynonymsRequest)], context: WriteContext) -> Response:
    """Replace words with a tag in later writes."""
    return json_response(await context.call(AddSynonymsRequest.of(**body)))


@tag_routes.delete("/tags/synonyms", summary="Remove synonyms", responses=response_schema(TagTable))
async def remove_synonyms(
    context: WriteContext,
    query: Annotated[Fields, Depends(query_of(RemoveSynonymsRequest, renamed={"variants": "variant"}))],
) -> Response:
    """Remove synonyms. A built-in synonym is switched off in this space."""
    return json_response(await context.call(RemoveSynonymsRequest.of(**query)))


@tag_routes.post("/tags/preview", summary="Preview tags", responses=response_schema(TagPreview))
async def preview_tags(body: Annotated[Fields, body_of(PreviewTagsRequest)], context: OneSpaceContext) -> Response:
    """Return the normalised form of tags, and the tags that a text would get. Nothing is stored."""
    return json_response(await context.call(PreviewTagsRequest.of(**body)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """Memories that wait for approval."""

    memories: tuple[Memory, ...]


@inbox_routes.get("/inbox", summary="List the inbox", responses=response_schema(Inbox))
async def inbox(context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(InboxRequest))]) -> Response:
    """List the memories that wait for approval. Searches do not find them until then."""
    return json_response(Inbox(memories=await context.call(InboxRequest.of(**query))))


@inbox_routes.post("/inbox/approve", summary="Approve memories", responses=response_schema(Outcome))
async def approve(body: SelectionBody, context: WriteContext) -> Response:
    """Approve memories that wait in the inbox."""
    return json_response(await context.call(ApproveRequest.of(**body)))


@inbox_routes.post("/inbox/decline", summary="Decline memories", responses=response_schema(Outcome))
async def decline(body: SelectionBody, context: WriteContext) -> Response:
    """Move memories that wait in the inbox to the trash. `restore` reverts this."""
    return json_response(await context.call(DeclineRequest.of(**body)))


JobId = Annotated[str, Path(alias="id", max_length=MAX_LABEL_LENGTH, description="Id of a job.", examples=[EXAMPLE_ID])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """The jobs of a space, newest first."""

    jobs: tuple[Job, ...]


@job_routes.get("/jobs", summary="List jobs", responses=response_schema(Jobs))
async def jobs(context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(JobsRequest))]) -> Response:
    """List the jobs of a space. Completed jobs are kept for a day, failed jobs for a week."""
    return json_response(Jobs(jobs=await context.call(JobsRequest.of(**query))))


@job_routes.post("/jobs/{id}/retry", summary="Retry a job", responses=response_schema(Job))
async def retry_job(job_id: JobId, context: WriteContext) -> Response:
    """Run a failed or completed job again."""
    return json_response(await context.call(RetryJobRequest(id=job_id)))


@job_routes.delete("/jobs/{id}", summary="Cancel a job", responses=response_schema(Job))
async def cancel_job(job_id: JobId, context: WriteContext) -> Response:
    """Cancel a job."""
    return json_response(await context.call(CancelJobRequest(id=job_id)))


@routes.get("/status", summary="Get the status", responses=response_schema(Status))
async def status(context: OneSpaceContext) -> Response:
    """Return the health and sizes of a space, or of the whole store if the token allows every space."""
    result = await context.call(StatusRequest())
    return json_response(result if context.grant.allows_all_spaces else result.limited_to_space)


@routes.get("/health", summary="Get the health", responses=response_schema(HealthReport))
async def health(context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(HealthRequest))]) -> Response:
    """Return the figures of the space by day, who writes what, and the alerts; of every space with `all_spaces`."""
    return json_response(await context.call(HealthRequest.of(**query)))


@routes.get(
    "/export",
    summary="Export a space",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "A header line, and a line for each memory",
            "content": {_NDJSON: {"schema": {"type": "string"}}},
        }
    },
)
async def export(
    context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(ExportRequest, without=["include"]))]
) -> Response:
    """Export every memory of the space with its history as JSON Lines; `kg` is the reference graph server's format."""
    lines = context.service.export(ExportRequest.of(**query), who=context.who)
    # Read the first line now: an error cannot become an error response once the response has started.
    first = await anext(lines, None)
    return _ExportResponse(_encode_lines(first, lines, context), context=context)


@routes.post("/import", summary="Import", responses=response_schema(Imported), openapi_extra=_BODY)
async def import_(request: Request, context: WriteContext) -> Response:
    """Import the lines of an export. All lines are checked before any is stored."""
    upload = UploadBuffer(encrypted=context.dependencies.engine.is_encrypted)
    await upload.read_from(split_lines(request.stream()))
    if upload.is_empty:
        raise InvalidInput("there is nothing to import: the body is empty", hint="Send the lines of an export")
    try:
        imported = await context.write("import", _import_lines(upload, context), long=True)
    except Busy:
        upload.close()
        raise
    # Searches by words find the memories at once, searches by meaning when they are embedded.
    context.dependencies.run_in_background("embed_missing", context.dependencies.engine.backfill())
    return json_response(imported)


async def _import_lines(upload: UploadBuffer, context: RequestContext) -> Imported:
    # The import continues if its caller disconnects, so the buffer closes only here.
    with closing(upload):
        request = ImportRequest(sections=False, screened=context.grant.screens_imports)
        return await context.service.import_(request, upload.lines, who=context.who)


class _ExportResponse(StreamingResponse):
    """An export, which counts as a running request until its last line is sent."""

    def __init__(self, lines: AsyncIterator[bytes], *, context: RequestContext) -> None:
        super().__init__(lines, media_type=_NDJSON)
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines; raise Busy before anything is sent."""
        async with self._context.dependencies.gate.hold("export", caller=self._context.grant.id):
            await super().__call__(scope, receive, send)


async def _encode_lines(first: str | None, lines: AsyncIterator[str], context: RequestContext) -> AsyncIterator[bytes]:
    if first is not None:
        yield _encode_line(first)
    number = 0
    async for line in lines:
        yield _encode_line(line)
        number += 1
        if number % _LINES_PER_CHECK == 0 and not await context.dependencies.authenticator.is_valid(context.grant):
            # Break the connection, so that the client cannot mistake this for a complete export.
            raise ClientGone
        # Lines come without waiting: let other requests run.
        await asyncio.sleep(0)


def _encode_line(text: str) -> bytes:
    return text.rstrip("\n").encode("utf-8", "surrogatepass") + b"\n"
