"""Edges between memories."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query, Response

from scrubjay.model.relation import LINK, Relation
from scrubjay.model.results import Related
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import Reading, Writing
from scrubjay.surfaces.rest.fields import Label, Name
from scrubjay.surfaces.rest.memories import only
from scrubjay.surfaces.rest.requests import LinkAsked
from scrubjay.surfaces.rest.route import Ref, answer, router
from scrubjay.surfaces.rest.schemas import gives

routes = router("links")
_CREATED = 201


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The edges of one memory."""

    id: str
    name: str
    links: tuple[Relation, ...]


@routes.get("/memories/{id}/links", summary="Edges of a memory", responses=gives(Links, examples.LINKS))
async def links(ref: Ref, context: Reading) -> Response:
    """Every edge that touches a memory."""
    results = await context.read("read", context.memory.read(ref, format="json"))
    memory = only(results, ref)
    return answer(Links(id=memory.id, name=memory.name, links=results.relations))


@routes.post(
    "/memories/{id}/links",
    summary="Relate two memories",
    status_code=_CREATED,
    responses=gives(Related, examples.RELATED, status=201, what="A new edge")
    | gives(Related, examples.RELATED, what="There already, and changed where it differed"),
)
async def relate(ref: Ref, asked: LinkAsked, context: Writing) -> Response:
    """Set an edge; a link (`related_to`) is shown from both ends."""
    inputs = asked.model_dump()
    done = await context.write("relate", context.memory.relate(ref, inputs.pop("target"), **inputs))
    return answer(done, status=_CREATED if done.action == "created" else 200)


@routes.delete("/memories/{id}/links", summary="Remove an edge", responses=gives(Related, examples.UNRELATED))
async def unrelate(
    ref: Ref,
    context: Writing,
    target: Annotated[Label, Query(min_length=1, examples=["sarah"])],
    relation: Annotated[Name, Query(min_length=1)] = LINK,
) -> Response:
    """A link goes away from both ends."""
    return answer(await context.write("unrelate", context.memory.unrelate(ref, target, relation=relation)))
