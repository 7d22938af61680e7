"""Search, by query string or by body, and the context for a new session."""

from typing import Annotated, Literal

from fastapi import Header, Query, Response

from scrubjay.model.memory import MAIN
from scrubjay.model.results import Context, Recalled
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import OneSpaceContext, ReadContext, RequestContext
from scrubjay.surfaces.rest.requests import (
    AROUND,
    BRANCH,
    CONTAINS,
    EXPLAIN,
    TODAY,
    Around,
    Count,
    Label,
    Moment,
    SearchBody,
    States,
    Tiers,
    Trusts,
    Until,
)
from scrubjay.surfaces.rest.route import MARKDOWN, AsOf, ListLimit, json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("search")
context_routes = router("context")

MaxTokens = Annotated[Count, Query(description="Maximum length of the result in tokens of a language model.")]
TagList = Annotated[list[Label], Query(max_length=64)]
_CURSOR = "The cursor of the previous page. Send a longer cursor in a body."


@routes.get("/search", summary="Search", responses=response_schema(Recalled, examples.RECALLED))
async def search(
    context: ReadContext,
    q: Annotated[str, Query(max_length=8_000, description="The question. Default: return the newest memories.")] = "",
    entity: Label = "",
    kind: Label = "",
    category: Label = "",
    tags: Annotated[TagList, Query(description="Memories with all of these tags.")] = [],  # noqa: B006 - FastAPI copies it
    any_tags: Annotated[TagList, Query(description="Memories with one of these tags.")] = [],  # noqa: B006
    project: Label = "",
    scope: Label = "",
    tier: Tiers | None = None,
    session: Label = "",
    agent: Label = "",
    trust: Trusts | None = None,
    contains: Annotated[str, Query(max_length=8_000, description=CONTAINS)] = "",
    since: Annotated[Moment | None, Query(description="Not before this moment.")] = None,
    until: Annotated[Until | None, Query(description="Before this moment.")] = None,
    state: States = "live",
    limit: ListLimit = 8,
    around: Annotated[Around, Query(description=AROUND)] = 0,
    max_tokens: MaxTokens = 1_500,
    detail: Literal["concise", "full"] = "concise",
    explain: Annotated[bool, Query(description=EXPLAIN)] = False,
    today: Annotated[Moment | None, Query(description=TODAY)] = None,
    as_of: AsOf = None,
    branch: Annotated[Label, Query(description=BRANCH)] = MAIN,
    cursor: Annotated[str, Query(max_length=8_000, description=_CURSOR)] = "",
) -> Response:
    """Find the memories that answer a question, in the given spaces or all that the token allows."""
    return await _search(
        context,
        SearchBody(
            query=q, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project,
            scope=scope, tier=tier or "", session=session, agent=agent, trust=trust or "", contains=contains,
            since=since, until=until, state=state, limit=limit, around=around, max_tokens=max_tokens, detail=detail,
            explain=explain, today=today, as_of=as_of, branch=branch, cursor=cursor,
        ),
    )  # fmt: skip


@routes.post("/search", summary="Search by a body", responses=response_schema(Recalled, examples.RECALLED))
async def search_by_body(body: SearchBody, context: ReadContext) -> Response:
    """Search with a JSON body: for long questions, filters by metadata, and words that a URL should not contain."""
    return await _search(context, body)


async def _search(context: RequestContext, body: SearchBody) -> Response:
    fields = body.model_dump(mode="json")
    return json_response(await context.read("recall", context.memory.recall(fields.pop("query"), **fields)))


@context_routes.get(
    "/context",
    summary="Get the context for a session",
    responses=response_schema(Context, examples.CONTEXT, other_types={MARKDOWN: str(examples.CONTEXT["text"])}),
)
async def context(
    context: OneSpaceContext,
    session: Annotated[
        Label, Query(description="The session that starts; the summary of the last session excludes it.")
    ] = "",
    project: Annotated[Label, Query(description="Summarise the last session of this project only.")] = "",
    max_tokens: MaxTokens = 1_500,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Return the user's profile, pinned memories, reminders, conflicts, and a summary of the last session.

    The response is JSON, or Markdown with `Accept: text/markdown`.
    """
    work = context.memory.context(session=session, project=project, max_tokens=max_tokens)
    result = await context.read("context", work)
    if MARKDOWN in accept.lower():
        return Response(result.text, headers={"vary": "accept"}, media_type=MARKDOWN)
    return json_response(result, headers={"vary": "accept"})
