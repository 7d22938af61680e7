"""The tags of a space: which there are, and what stands for them."""

from typing import Annotated

from fastapi import Query, Response

from scrubjay.model.tags import TagPreview, TagTable
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.asked import PreviewAsked, SynonymsAsked
from scrubjay.surfaces.rest.house import Watching, Writing
from scrubjay.surfaces.rest.route import answer, router
from scrubjay.surfaces.rest.schemas import gives
from scrubjay.surfaces.rest.texts import Name, Thousand

routes = router("tags")
# By its default, which is a list, others see that it may be given several times.
Variants = Annotated[list[Name], Query(max_length=100)]


@routes.get("/tags", summary="List tags", responses=gives(TagTable, examples.TAGS))
async def tags(
    visit: Watching, limit: Annotated[Thousand, Query(description="How many tags at most.")] = 200
) -> Response:
    """The tags of the space, the most used first, and the synonyms that hold in it."""
    return answer(await visit.read("tags", visit.house.engine.tags(who=visit.who, limit=limit)))


@routes.post("/tags/synonyms", summary="Add synonyms", responses=gives(TagTable, examples.TAGS))
async def add_synonyms(asked: SynonymsAsked, visit: Writing) -> Response:
    """Let words stand for a tag, in what is written from now on."""
    adding = visit.house.engine.add_synonyms(asked.tag, tuple(asked.variants), who=visit.who)
    return answer(await visit.write("add_synonyms", adding))


@routes.delete("/tags/synonyms", summary="Remove synonyms", responses=gives(TagTable, examples.TAGS))
async def remove_synonyms(
    visit: Writing,
    variant: Annotated[Variants, Query(description="What stands for itself again.", examples=[["db"]])] = [],  # noqa: B006 - FastAPI copies it
) -> Response:
    """Let words stand for themselves again; one that comes with Scrubjay is switched off in this space."""
    removing = visit.house.engine.remove_synonyms(tuple(variant), who=visit.who)
    return answer(await visit.write("remove_synonyms", removing))


@routes.post("/tags/preview", summary="Try tags out", responses=gives(TagPreview, examples.PREVIEW))
async def preview_tags(asked: PreviewAsked, visit: Watching) -> Response:
    """What would become of some tags, and which a text would be given besides; nothing is stored."""
    trying = visit.house.engine.preview_tags(tuple(asked.tags), text=asked.text, who=visit.who)
    return answer(await visit.read("preview_tags", trying))
