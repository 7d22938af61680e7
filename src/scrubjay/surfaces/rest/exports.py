"""Single notes as files, to be saved."""

from typing import Annotated, Literal

from fastapi import Query, Response

from scrubjay.model.memory import Json
from scrubjay.notes.results import EXPORT_MEDIA_TYPES
from scrubjay.notes.service import Notes
from scrubjay.surfaces.rest.deps import Watching
from scrubjay.surfaces.rest.route import Ref, router, saved_as

routes = router("notes")
_KINDS: dict[str, Json] = {
    kind.partition(";")[0]: {"schema": {"type": "string"}, "example": "The note"}
    for kind in EXPORT_MEDIA_TYPES.values()
}
_KINDS[EXPORT_MEDIA_TYPES["json"]] = {"schema": {"type": "object"}, "example": {"title": "The note"}}
_RESPONSES: dict[int | str, dict[str, Json]] = {
    200: {"description": "The note as a file, to be saved", "content": _KINDS},
}


@routes.get("/notes/{id}/export", summary="A note as a file", response_class=Response, responses=_RESPONSES)
async def export_note(
    ref: Ref,
    context: Watching,
    format: Annotated[Literal["md", "json", "csv", "html", "pdf"], Query(description="What it is written as.")] = "md",
) -> Response:
    """A note as Markdown, JSON, CSV, HTML or PDF, to be saved: no browser shows it in the name of this server."""
    notes = context.dependencies.notes or Notes(engine=context.dependencies.engine)
    results = await context.read("export_note", notes.export_note(ref, who=context.who, format=format))
    headers = {
        **saved_as(results.name),
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-store",
    }
    return Response(results.data, media_type=results.media_type, headers=headers)
