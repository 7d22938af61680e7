"""Searching: by query for what fits into an address, by body for the rest."""

from typing import Annotated, Literal

from fastapi import Query, Response

from scrubjay.model.memory import MAIN
from scrubjay.model.results import Recalled
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import Reading, RequestContext
from scrubjay.surfaces.rest.fields import Around, Count, Label, Moment, Until
from scrubjay.surfaces.rest.requests import AROUND, BRANCH, CONTAINS, EXPLAIN, TODAY, SearchAsked, States, Tiers, Trusts
from scrubjay.surfaces.rest.route import AsOf, answer, router
from scrubjay.surfaces.rest.schemas import gives

routes = router("search")

Limit = Annotated[int, Query(ge=1, le=1_000, description="So many hits at most.")]
Tokens = Annotated[Count, Query(description="The answer fits into so many tokens of a language model.")]
Tags = Annotated[list[Label], Query(max_length=64)]
_CURSOR = "From the answer before; one that is longer goes into a body."


@routes.get("/search", summary="Search", responses=gives(Recalled, examples.FOUND))
async def search(
    context: Reading,
    q: Annotated[str, Query(max_length=8_000, description="The question; without one, the most recent.")] = "",
    entity: Label = "",
    kind: Label = "",
    category: Label = "",
    tags: Annotated[Tags, Query(description="All of these.")] = [],  # noqa: B006 - FastAPI copies it
    any_tags: Annotated[Tags, Query(description="One of these.")] = [],  # noqa: B006
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
    limit: Limit = 8,
    around: Annotated[Around, Query(description=AROUND)] = 0,
    max_tokens: Tokens = 1_500,
    detail: Literal["concise", "full"] = "concise",
    explain: Annotated[bool, Query(description=EXPLAIN)] = False,
    today: Annotated[Moment | None, Query(description=TODAY)] = None,
    as_of: AsOf = None,
    branch: Annotated[Label, Query(description=BRANCH)] = MAIN,
    cursor: Annotated[str, Query(max_length=8_000, description=_CURSOR)] = "",
) -> Response:
    """Find the memories that answer a question, of every space that is open or asked for; every hit names its space."""
    return await _search(
        context,
        SearchAsked(
            query=q, entity=entity, kind=kind, category=category, tags=tags, any_tags=any_tags, project=project,
            scope=scope, tier=tier or "", session=session, agent=agent, trust=trust or "", contains=contains,
            since=since, until=until, state=state, limit=limit, around=around, max_tokens=max_tokens, detail=detail,
            explain=explain, today=today, as_of=as_of, branch=branch, cursor=cursor,
        ),
    )  # fmt: skip


@routes.post("/search", summary="Search by a body", responses=gives(Recalled, examples.FOUND))
async def search_by_body(asked: SearchAsked, context: Reading) -> Response:
    """The same, for long questions, for filters by metadata, and for what should not stand in an address."""
    return await _search(context, asked)


async def _search(context: RequestContext, asked: SearchAsked) -> Response:
    inputs = asked.model_dump(mode="json")
    return answer(await context.read("recall", context.memory.recall(inputs.pop("query"), **inputs)))
