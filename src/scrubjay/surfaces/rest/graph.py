"""Relations between memories: the edges of one memory, and traversals of the graph."""

from typing import Annotated

from fastapi import Depends, Response

from scrubjay.lazy import dataclass
from scrubjay.model.relation import Network, Relation
from scrubjay.model.requests import (
    GraphRequest,
    PathRequest,
    ReadRequest,
    RelatedRequest,
    RelateRequest,
    UnrelateRequest,
)
from scrubjay.model.results import Related
from scrubjay.surfaces.rest.deps import ReadContext, WriteContext
from scrubjay.surfaces.rest.memories import only_memory
from scrubjay.surfaces.rest.requests import Fields, body_of, query_of
from scrubjay.surfaces.rest.route import MemoryRef, json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("graph")
link_routes = router("links")
_CREATED = 201
_TYPE = {"types": "type"}
_PATH_NAMES = _TYPE | {"source": "from", "target": "to"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The edges of one memory."""

    id: str
    name: str
    links: tuple[Relation, ...]


@link_routes.get("/memories/{id}/links", summary="List the edges of a memory", responses=response_schema(Links))
async def links(ref: MemoryRef, context: ReadContext) -> Response:
    """List every edge of a memory."""
    result = await context.call(ReadRequest(ids=(ref,), format="json"))
    memory = only_memory(result, ref)
    return json_response(Links(id=memory.id, name=memory.name, links=result.relations))


@link_routes.post(
    "/memories/{id}/links",
    summary="Relate two memories",
    status_code=_CREATED,
    responses=response_schema(Related, status=201, description="A new edge")
    | response_schema(Related, description="The edge existed, and was updated if it differed"),
)
async def relate(
    ref: MemoryRef, body: Annotated[Fields, body_of(RelateRequest, without=["source"])], context: WriteContext
) -> Response:
    """Create an edge. Both memories show a link (`related_to`)."""
    related = await context.call(RelateRequest.of(source=ref, **body))
    return json_response(related, status=_CREATED if related.action == "created" else 200)


@link_routes.delete("/memories/{id}/links", summary="Remove an edge", responses=response_schema(Related))
async def unrelate(
    ref: MemoryRef,
    context: WriteContext,
    query: Annotated[Fields, Depends(query_of(UnrelateRequest, without=["source"]))],
) -> Response:
    """Remove an edge. A link (`related_to`) disappears from both memories."""
    return json_response(await context.call(UnrelateRequest.of(source=ref, **query)))


@routes.get("/memories/{id}/related", summary="List related memories", responses=response_schema(Network))
async def related(
    ref: MemoryRef,
    context: ReadContext,
    query: Annotated[Fields, Depends(query_of(RelatedRequest, without=["id"], renamed=_TYPE))],
) -> Response:
    """List the memories that a memory is related to, the strongest relations first."""
    return json_response(await context.call(RelatedRequest.of(id=ref, **query)))


@routes.get("/graph", summary="Traverse the graph", responses=response_schema(Network))
async def graph(
    context: ReadContext,
    query: Annotated[Fields, Depends(query_of(GraphRequest, renamed=_TYPE | {"ids": "id"}))],
) -> Response:
    """Follow relations from some memories, level by level. `truncated` means that there are more."""
    return json_response(await context.call(GraphRequest.of(**query)))


@routes.get("/graph/path", summary="Find a path", responses=response_schema(Network))
async def path(
    context: ReadContext, query: Annotated[Fields, Depends(query_of(PathRequest, renamed=_PATH_NAMES))]
) -> Response:
    """Find a shortest path from one memory to another. Without a path, the result has no nodes."""
    return json_response(await context.call(PathRequest.of(**query)))
