"""The tags of a space: which there are, and what stands for them."""

from typing import Annotated

from fastapi import Query, Response

from scrubjay.model.tags import TagPreview, TagTable
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import Watching, Writing
from scrubjay.surfaces.rest.fields import Name, Thousand
from scrubjay.surfaces.rest.requests import PreviewAsked, SynonymsAsked
from scrubjay.surfaces.rest.route import answer, router
from scrubjay.surfaces.rest.schemas import gives

routes = router("tags")
# By its default, which is a list, others see that it may be given several times.
Variants = Annotated[list[Name], Query(max_length=100)]


@routes.get("/tags", summary="List tags", responses=gives(TagTable, examples.TAGS))
async def tags(
    context: Watching, limit: Annotated[Thousand, Query(description="How many tags at most.")] = 200
) -> Response:
    """The tags of the space, the most used first, and the synonyms that hold in it."""
    return answer(await context.read("tags", context.dependencies.engine.tags(who=context.who, limit=limit)))


@routes.post("/tags/synonyms", summary="Add synonyms", responses=gives(TagTable, examples.TAGS))
async def add_synonyms(asked: SynonymsAsked, context: Writing) -> Response:
    """Let words stand for a tag, in what is written from now on."""
    adding = context.dependencies.engine.add_synonyms(asked.tag, tuple(asked.variants), who=context.who)
    return answer(await context.write("add_synonyms", adding))


@routes.delete("/tags/synonyms", summary="Remove synonyms", responses=gives(TagTable, examples.TAGS))
async def remove_synonyms(
    context: Writing,
    variant: Annotated[Variants, Query(description="What stands for itself again.", examples=[["db"]])] = [],  # noqa: B006 - FastAPI copies it
) -> Response:
    """Let words stand for themselves again; one that comes with Scrubjay is switched off in this space."""
    removing = context.dependencies.engine.remove_synonyms(tuple(variant), who=context.who)
    return answer(await context.write("remove_synonyms", removing))


@routes.post("/tags/preview", summary="Try tags out", responses=gives(TagPreview, examples.PREVIEW))
async def preview_tags(asked: PreviewAsked, context: Watching) -> Response:
    """What would become of some tags, and which a text would be given besides; nothing is stored."""
    trying = context.dependencies.engine.preview_tags(tuple(asked.tags), text=asked.text, who=context.who)
    return answer(await context.read("preview_tags", trying))
