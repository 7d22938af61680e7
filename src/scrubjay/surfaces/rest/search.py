"""Search, by query string or by body, the context for a new session, and the facts of one that ended."""

from typing import Annotated

from fastapi import Depends, Header, Response

from scrubjay.model.fact import Extracted
from scrubjay.model.requests import ContextRequest, DueRequest, ExtractRequest, RecallRequest, SummarizeRequest
from scrubjay.model.results import Context, DueReminders, Recalled, Summary
from scrubjay.surfaces.rest.deps import OneSpaceContext, ReadContext, WriteContext
from scrubjay.surfaces.rest.requests import Fields, body_of, query_of
from scrubjay.surfaces.rest.route import MARKDOWN, json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("search")
context_routes = router("context")
extract_routes = router("extract")

_Question = query_of(RecallRequest, without=["metadata"], renamed={"query": "q"})


@routes.get("/search", summary="Search", responses=response_schema(Recalled))
async def search(context: ReadContext, query: Annotated[Fields, Depends(_Question)]) -> Response:
    """Find the memories that answer a question, in the given spaces or all that the token allows."""
    return json_response(await context.call(RecallRequest.of(**query)))


@routes.post("/search", summary="Search by a body", responses=response_schema(Recalled))
async def search_by_body(body: Annotated[Fields, body_of(RecallRequest)], context: ReadContext) -> Response:
    """Search with a JSON body: for long questions, filters by metadata, and words that a URL should not contain."""
    return json_response(await context.call(RecallRequest.of(**body)))


@context_routes.get(
    "/context",
    summary="Get the context for a session",
    responses=response_schema(Context, other_types=(MARKDOWN,)),
)
async def context(
    context: OneSpaceContext,
    query: Annotated[Fields, Depends(query_of(ContextRequest))],
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Return the user's profile, pinned memories, reminders, conflicts, and a summary of the last session.

    The response is JSON, or Markdown with `Accept: text/markdown`.
    """
    result = await context.call(ContextRequest.of(**query))
    if MARKDOWN in accept.lower():
        return Response(result.text, headers={"vary": "accept"}, media_type=MARKDOWN)
    return json_response(result, headers={"vary": "accept"})


@context_routes.get("/due", summary="List due reminders", responses=response_schema(DueReminders))
async def due(context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(DueRequest))]) -> Response:
    """List the memories whose reminder is due, the latest first; another `remind_at` settles one."""
    return json_response(await context.call(DueRequest.of(**query)))


@context_routes.post(
    "/summary",
    summary="Summarize memories",
    responses=response_schema(Summary, other_types=(MARKDOWN,)),
)
async def summarize(
    body: Annotated[Fields, body_of(SummarizeRequest)],
    context: OneSpaceContext,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Return the central statements of the memories of a tag, an entity, a project or a period, oldest first.

    The response is JSON, or Markdown with `Accept: text/markdown`.
    """
    result = await context.call(SummarizeRequest.of(**body))
    if MARKDOWN in accept.lower():
        return Response(result.text, headers={"vary": "accept"}, media_type=MARKDOWN)
    return json_response(result, headers={"vary": "accept"})


@extract_routes.post(
    "/extract",
    summary="Extract facts from a conversation",
    responses=response_schema(Extracted),
)
async def extract(body: Annotated[Fields, body_of(ExtractRequest)], context: WriteContext) -> Response:
    """Extract the facts of a conversation, sentence by sentence, and store them.

    Stored facts stay as they are, so you can send a log again. Pass `run` to `undo` to revert the call.
    """
    return json_response(await context.call(ExtractRequest.of(**body)))
