"""Relations between memories: the edges of one memory, and traversals of the graph."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Query, Response

from scrubjay.model.relation import LINK, Network, Relation
from scrubjay.model.results import Related
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import ReadContext, WriteContext
from scrubjay.surfaces.rest.memories import only_memory
from scrubjay.surfaces.rest.requests import INTEGER, Label, LinkBody, Name
from scrubjay.surfaces.rest.route import AsOf, MemoryRef, json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("graph")
link_routes = router("links")
_CREATED = 201
_Start = Annotated[Name, Query(min_length=1, description="Id, name or title of a memory.", examples=["sarah"])]
_Types = Annotated[
    list[Label], Query(alias="type", max_length=64, description="Only relations of these types, in any case.")
]
_Direction = Annotated[
    Literal["out", "in", "both"],
    Query(description="Follow relations forwards, backwards, or both. A link (`related_to`) has no direction."),
]
_Depth = Annotated[int, Query(ge=0, le=10, description="Maximum number of relations from the start."), INTEGER]
_Limit = Annotated[int, Query(ge=1, le=10_000, description="Maximum number of memories."), INTEGER]
_Most = Annotated[int, Query(ge=0, le=20, description="Maximum number of relations on the path."), INTEGER]


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The edges of one memory."""

    id: str
    name: str
    links: tuple[Relation, ...]


@link_routes.get(
    "/memories/{id}/links", summary="List the edges of a memory", responses=response_schema(Links, examples.LINKS)
)
async def links(ref: MemoryRef, context: ReadContext) -> Response:
    """List every edge of a memory."""
    result = await context.read("read", context.memory.read(ref, format="json"))
    memory = only_memory(result, ref)
    return json_response(Links(id=memory.id, name=memory.name, links=result.relations))


@link_routes.post(
    "/memories/{id}/links",
    summary="Relate two memories",
    status_code=_CREATED,
    responses=response_schema(Related, examples.RELATED, status=201, description="A new edge")
    | response_schema(Related, examples.RELATED, description="The edge existed, and was updated if it differed"),
)
async def relate(ref: MemoryRef, body: LinkBody, context: WriteContext) -> Response:
    """Create an edge. Both memories show a link (`related_to`)."""
    fields = body.model_dump()
    related = await context.write("relate", context.memory.relate(ref, fields.pop("target"), **fields))
    return json_response(related, status=_CREATED if related.action == "created" else 200)


@link_routes.delete(
    "/memories/{id}/links", summary="Remove an edge", responses=response_schema(Related, examples.UNRELATED)
)
async def unrelate(
    ref: MemoryRef,
    context: WriteContext,
    target: Annotated[Label, Query(min_length=1, examples=["sarah"])],
    relation: Annotated[Name, Query(min_length=1)] = LINK,
) -> Response:
    """Remove an edge. A link (`related_to`) disappears from both memories."""
    return json_response(await context.write("unrelate", context.memory.unrelate(ref, target, relation=relation)))


@routes.get(
    "/memories/{id}/related", summary="List related memories", responses=response_schema(Network, examples.NETWORK)
)
async def related(
    ref: MemoryRef,
    context: ReadContext,
    types: _Types = [],  # noqa: B006 - FastAPI copies it
    direction: _Direction = "both",
    limit: _Limit = 200,
    as_of: AsOf = None,
) -> Response:
    """List the memories that a memory is related to, the strongest relations first."""
    work = context.memory.related(ref, types=types, direction=direction, limit=limit, as_of=as_of)
    return json_response(await context.read("graph", work))


@routes.get("/graph", summary="Traverse the graph", responses=response_schema(Network, examples.NETWORK))
async def graph(
    context: ReadContext,
    ids: Annotated[
        list[Name],
        Query(
            alias="id", min_length=1, max_length=100, description="The memories to start from: ids, names or titles."
        ),
    ],
    depth: _Depth = 1,
    types: _Types = [],  # noqa: B006
    direction: _Direction = "both",
    limit: _Limit = 200,
    as_of: AsOf = None,
) -> Response:
    """Follow relations from some memories, level by level. `truncated` means that there are more."""
    work = context.memory.graph(ids, depth=depth, types=types, direction=direction, limit=limit, as_of=as_of)
    return json_response(await context.read("graph", work))


@routes.get("/graph/path", summary="Find a path", responses=response_schema(Network, examples.NETWORK))
async def path(
    context: ReadContext,
    source: Annotated[_Start, Query(alias="from")],
    target: Annotated[_Start, Query(alias="to")],
    types: _Types = [],  # noqa: B006
    direction: _Direction = "both",
    most: _Most = 6,
    as_of: AsOf = None,
) -> Response:
    """Find a shortest path from one memory to another. Without a path, the result has no nodes."""
    work = context.memory.path(source, target, types=types, direction=direction, most=most, as_of=as_of)
    return json_response(await context.read("path", work))
