"""Notes: memories as Markdown, each with a file if the server has a folder of notes."""

from typing import Annotated, Literal

from fastapi import Depends, Query, Response

from scrubjay.model import notes as results
from scrubjay.model.memory import Json
from scrubjay.model.notes import EXPORT_MEDIA_TYPES
from scrubjay.model.requests import (
    BacklinksRequest,
    BrokenLinksRequest,
    CurrentDateRequest,
    DueNotesRequest,
    EditNoteRequest,
    LinkNotesRequest,
    NoteCategoriesRequest,
    NoteTemplatesRequest,
    ReadNoteRequest,
    ReviewNoteRequest,
    SearchNotesRequest,
    SyncNotesRequest,
    UnlinkNotesRequest,
    WriteNoteRequest,
)
from scrubjay.notes.service import Notes
from scrubjay.surfaces.rest.deps import OneSpaceContext, ReadContext, WriteContext
from scrubjay.surfaces.rest.memories import IdempotencyKey, IfMatch, require_accepted
from scrubjay.surfaces.rest.requests import Fields, body_of, query_of
from scrubjay.surfaces.rest.route import (
    MemoryRef,
    download_headers,
    etag,
    json_response,
    location,
    router,
    version_from,
)
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("notes")
_CREATED = 201
_LINK_NAMES = {"target_id": "target", "link_text": "text"}
_EXPORT_TYPES: dict[str, Json] = {
    media_type.partition(";")[0]: {"schema": {"type": "string"}} for media_type in EXPORT_MEDIA_TYPES.values()
}
_EXPORT_TYPES[EXPORT_MEDIA_TYPES["json"]] = {"schema": {"type": "object"}}
_EXPORT_TYPES[EXPORT_MEDIA_TYPES["pdf"]] = {
    "schema": {"type": "string", "format": "binary"},
    "example": "The bytes of the file",
}
_EXPORT_RESPONSES: dict[int | str, dict[str, Json]] = {
    200: {"description": "The note as a file to save", "content": _EXPORT_TYPES},
}


@routes.post(
    "/notes",
    summary="Write a note",
    status_code=_CREATED,
    responses=response_schema(
        results.NoteWritten,
        status=_CREATED,
        description="A new note",
        headers=("ETag", "Location"),
    ),
)
async def write_note(
    body: Annotated[Fields, body_of(WriteNoteRequest)], context: WriteContext, key: IdempotencyKey = ""
) -> Response:
    """Write a new note. The response lists similar notes, but a note is never merged."""
    written = await context.call(WriteNoteRequest.of(idempotency_key=key, **body))
    require_accepted(written)
    headers = etag(written.version) | location("notes", written.id, context)
    return json_response(written, status=_CREATED, headers=headers)


@routes.get("/notes/search", summary="Search notes", responses=response_schema(results.NotesFound))
async def search_notes(
    context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(SearchNotesRequest, renamed={"query": "q"}))]
) -> Response:
    """Search title, content, observations, tags and category for words; the best notes first, each with a snippet."""
    return json_response(await context.call(SearchNotesRequest.of(**query)))


@routes.get("/notes/due", summary="List notes to review", responses=response_schema(results.DueNotes))
async def due_notes(context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(DueNotesRequest))]) -> Response:
    """List the notes whose last review is long ago, the oldest first."""
    return json_response(await context.call(DueNotesRequest.of(**query)))


@routes.get(
    "/notes/broken-links",
    summary="List broken links",
    responses=response_schema(results.BrokenLinks),
)
async def broken_links(
    context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(BrokenLinksRequest))]
) -> Response:
    """List links to notes that do not exist, with suggestions."""
    return json_response(await context.call(BrokenLinksRequest.of(**query)))


@routes.get(
    "/notes/categories",
    summary="List categories of notes",
    responses=response_schema(results.Categories),
)
async def note_categories(context: OneSpaceContext) -> Response:
    """List the categories with the number of notes in each, without and with its subcategories."""
    return json_response(await context.call(NoteCategoriesRequest()))


@routes.get(
    "/notes/templates",
    summary="List templates for notes",
    responses=response_schema(results.Templates),
)
async def note_templates(context: OneSpaceContext) -> Response:
    """List the templates that a new note can start with."""
    return json_response(await context.call(NoteTemplatesRequest()))


@routes.get("/notes/date", summary="Get the current date", responses=response_schema(results.CurrentDate))
async def current_date(
    context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(CurrentDateRequest))]
) -> Response:
    """Return the current date and time, with the time zone."""
    return json_response(await context.call(CurrentDateRequest.of(**query)))


@routes.post("/notes/sync", summary="Synchronise files", responses=response_schema(results.NotesSynced))
async def sync_notes(
    context: WriteContext, query: Annotated[Fields, Depends(query_of(SyncNotesRequest, without=["adopt"]))]
) -> Response:
    """Compare the store with the whole folder of notes, and apply the changes of each side to the other."""
    return json_response(await context.call(SyncNotesRequest.of(**query)))


@routes.get(
    "/notes/{id}",
    summary="Read a note",
    responses=response_schema(results.NoteRead, description="The note", headers=("ETag",)),
)
async def read_note(
    ref: MemoryRef,
    context: ReadContext,
    query: Annotated[Fields, Depends(query_of(ReadNoteRequest, without=["identifier"]))],
) -> Response:
    """Read a note by id, title, name or file name. Use the id if another route under `/notes` has the note's name."""
    note = await context.call(ReadNoteRequest.of(identifier=ref, **query))
    return json_response(note, headers=etag(note.version))


@routes.patch(
    "/notes/{id}",
    summary="Edit a note",
    responses=response_schema(results.NoteChanged, headers=("ETag",)),
)
async def edit_note(
    ref: MemoryRef,
    body: Annotated[Fields, body_of(EditNoteRequest, without=["id"], not_blank=["title"], nullable=False)],
    context: WriteContext,
    match: IfMatch = "",
    key: IdempotencyKey = "",
) -> Response:
    """Change fields of a note. The previous state remains as a version."""
    request = EditNoteRequest.of(id=ref, expected_version=version_from(match), idempotency_key=key, **body)
    changed = await context.call(request)
    return json_response(changed, headers=etag(changed.version))


@routes.post(
    "/notes/{id}/review",
    summary="Review a note",
    responses=response_schema(results.NoteReviewed),
)
async def review_note(ref: MemoryRef, context: WriteContext) -> Response:
    """Record that a person has reviewed a note."""
    return json_response(await context.call(ReviewNoteRequest(id=ref)))


@routes.get("/notes/{id}/backlinks", summary="List backlinks", responses=response_schema(results.Backlinks))
async def backlinks(ref: MemoryRef, context: OneSpaceContext) -> Response:
    """List the notes that link to a note, with the text of each link."""
    return json_response(await context.call(BacklinksRequest(id=ref)))


@routes.post("/notes/{id}/links", summary="Link two notes", responses=response_schema(results.NoteLinked))
async def link_notes(
    ref: MemoryRef,
    body: Annotated[Fields, body_of(LinkNotesRequest, without=["source_id"], renamed=_LINK_NAMES)],
    context: WriteContext,
) -> Response:
    """Link a note to another. Both show the link."""
    return json_response(await context.call(LinkNotesRequest.of(source_id=ref, **body)))


@routes.delete(
    "/notes/{id}/links",
    summary="Unlink two notes",
    responses=response_schema(results.NoteLinked),
)
async def unlink_notes(
    ref: MemoryRef,
    context: WriteContext,
    query: Annotated[Fields, Depends(query_of(UnlinkNotesRequest, without=["source_id"], renamed=_LINK_NAMES))],
) -> Response:
    """Remove the link between two notes from both."""
    return json_response(await context.call(UnlinkNotesRequest.of(source_id=ref, **query)))


@routes.get("/notes/{id}/export", summary="Export a note", response_class=Response, responses=_EXPORT_RESPONSES)
async def export_note(
    ref: MemoryRef,
    context: OneSpaceContext,
    format: Annotated[Literal["md", "json", "csv", "html", "pdf"], Query(description="The format of the file.")] = "md",
) -> Response:
    """Export a note as Markdown, JSON, CSV, HTML or PDF. Browsers save the file instead of showing it."""
    notes = context.dependencies.notes or Notes(engine=context.dependencies.engine)
    exported = await context.read("export_note", notes.export_note(ref, who=context.who, format=format))
    return Response(exported.data, media_type=exported.media_type, headers=download_headers(exported.name))
