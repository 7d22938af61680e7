"""What relations lead to."""

from typing import Annotated, Literal

from fastapi import Query, Response

from scrubjay.model.relation import Network
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import Reading
from scrubjay.surfaces.rest.fields import WHOLE, Label, Name
from scrubjay.surfaces.rest.route import AsOf, Ref, answer, router
from scrubjay.surfaces.rest.schemas import gives

routes = router("graph")
_NETWORK = gives(Network, examples.NETWORK)
_WAY = gives(Network, examples.WAY)
_Start = Annotated[Name, Query(min_length=1, description="Id, name or title of a memory.", examples=["sarah"])]
_Types = Annotated[
    list[Label], Query(alias="type", max_length=64, description="Only relations of these types, in any case.")
]
_Direction = Annotated[
    Literal["out", "in", "both"],
    Query(description="Along relations, against them, or both. A link (`related_to`) leads both ways."),
]
_Depth = Annotated[int, Query(ge=0, le=10, description="So many relations away at most."), WHOLE]
_Limit = Annotated[int, Query(ge=1, le=10_000, description="So many memories at most."), WHOLE]
_Most = Annotated[int, Query(ge=0, le=20, description="So many relations at most."), WHOLE]


@routes.get("/memories/{id}/related", summary="What a memory is related to", responses=_NETWORK)
async def related(
    ref: Ref,
    context: Reading,
    types: _Types = [],  # noqa: B006 - FastAPI copies it
    direction: _Direction = "both",
    limit: _Limit = 200,
    as_of: AsOf = None,
) -> Response:
    """The memories that relations of one lead to, the strongest first."""
    work = context.memory.related(ref, types=types, direction=direction, limit=limit, as_of=as_of)
    return answer(await context.read("graph", work))


@routes.get("/graph", summary="What is around memories", responses=_NETWORK)
async def graph(
    context: Reading,
    ids: Annotated[
        list[Name],
        Query(alias="id", min_length=1, max_length=100, description="Where to begin: ids, names or titles."),
    ],
    depth: _Depth = 1,
    types: _Types = [],  # noqa: B006
    direction: _Direction = "both",
    limit: _Limit = 200,
    as_of: AsOf = None,
) -> Response:
    """The memories that relations lead to, level by level; `truncated` says that there are more."""
    work = context.memory.graph(ids, depth=depth, types=types, direction=direction, limit=limit, as_of=as_of)
    return answer(await context.read("graph", work))


@routes.get("/graph/path", summary="How one memory leads to another", responses=_WAY)
async def path(
    context: Reading,
    source: Annotated[_Start, Query(alias="from")],
    target: Annotated[_Start, Query(alias="to")],
    types: _Types = [],  # noqa: B006
    direction: _Direction = "both",
    most: _Most = 6,
    as_of: AsOf = None,
) -> Response:
    """A shortest way from one memory to another; without nodes where there is none."""
    work = context.memory.path(source, target, types=types, direction=direction, most=most, as_of=as_of)
    return answer(await context.read("path", work))
