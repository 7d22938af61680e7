"""Notes: memories as Markdown, each with a file if the server has a folder of notes."""

from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import Field

from scrubjay.errors import InvalidInput
from scrubjay.model import notes as results
from scrubjay.model.memory import Json
from scrubjay.model.notes import EXPORT_MEDIA_TYPES
from scrubjay.notes.service import Notes
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import OneSpaceContext, ReadContext, WriteContext
from scrubjay.surfaces.rest.memories import IdempotencyKey, IfMatch
from scrubjay.surfaces.rest.requests import (
    REASON,
    Label,
    Line,
    Name,
    Omitted,
    RequestBody,
    SourceBody,
    Tags,
    Text,
)
from scrubjay.surfaces.rest.route import (
    ListLimit,
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
_Category = Annotated[Label, Query(description="Only this category and those below it, such as `work/meetings`.")]
_AllTags = Annotated[list[Label], Query(max_length=64, description="Only notes that have all of these tags.")]
_EXPORT_TYPES: dict[str, Json] = {
    media_type.partition(";")[0]: {"schema": {"type": "string"}, "example": "The note"}
    for media_type in EXPORT_MEDIA_TYPES.values()
}
_EXPORT_TYPES[EXPORT_MEDIA_TYPES["json"]] = {"schema": {"type": "object"}, "example": {"title": "The note"}}
_EXPORT_RESPONSES: dict[int | str, dict[str, Json]] = {
    200: {"description": "The note as a file to save", "content": _EXPORT_TYPES},
}


class NoteBody(RequestBody):
    """A note to write."""

    title: Name = Field(examples=["How to reach Sarah"])
    content: Text = Field(default="", examples=["# Sarah\n\nShe prefers **voice calls** to mail.\n"])
    tags: Tags = Field(default_factory=list[str], examples=[["contact"]])
    category: Line = Field(default="", examples=["people"])
    template: Label = Field(default="", description="The name of the template that the note starts with.")
    project: Line = ""
    source: SourceBody | None = None


class NoteEditBody(RequestBody):
    """Fields of a note to change. An omitted field stays as it is."""

    title: Name | Omitted = Field(default=None, examples=["How to reach Sarah"])
    content: Text | Omitted = None
    tags: Tags | Omitted = Field(default=None, examples=[["contact", "phone"]])
    category: Line | Omitted = None
    message: Annotated[str, Field(max_length=1_000, description=REASON)] = ""


class NoteLinkBody(RequestBody):
    """A note to link to."""

    target: Annotated[Label, Field(min_length=1)] = Field(examples=["sarah"])
    text: Line = Field(default="", description="The text of the link. Default: the title of the target.")


@routes.post(
    "/notes",
    summary="Write a note",
    status_code=_CREATED,
    responses=response_schema(
        results.NoteWritten,
        examples.NOTE_WRITTEN,
        status=_CREATED,
        description="A new note",
        headers=("ETag", "Location"),
    )
    | response_schema(
        results.NoteWritten, examples.NOTE_WRITTEN, description="Refused by a rule, or written before with this key"
    ),
)
async def write_note(body: NoteBody, context: WriteContext, key: IdempotencyKey = "") -> Response:
    """Write a new note. The response lists similar notes, but a note is never merged."""
    fields = body.model_dump(exclude_none=True, exclude_defaults=True)
    written = await context.write("write_note", context.memory.write_note(**fields, idempotency_key=key))
    if written.action != "created":
        return json_response(written)
    headers = etag(written.version) | location("notes", written.id, context)
    return json_response(written, status=_CREATED, headers=headers)


@routes.get(
    "/notes/search", summary="Search notes", responses=response_schema(results.NotesFound, examples.NOTES_FOUND)
)
async def search_notes(
    context: OneSpaceContext,
    q: Annotated[
        str, Query(min_length=1, max_length=8_000, description='Words, `"a phrase"`, `begin*`.', examples=["calls"])
    ],
    limit: ListLimit = 10,
    category: _Category = "",
    tags: _AllTags = [],  # noqa: B006 - FastAPI copies it
    semantic: Annotated[bool, Query(description="Also search by meaning.")] = False,
) -> Response:
    """Search title, content, observations, tags and category for words; the best notes first, each with a snippet."""
    work = context.memory.search_notes(q, limit=limit, category=category, tags=tags, semantic=semantic)
    return json_response(await context.read("search_notes", work))


@routes.get(
    "/notes/due", summary="List notes to review", responses=response_schema(results.DueNotes, examples.DUE_NOTES)
)
async def due_notes(
    context: OneSpaceContext,
    days: Annotated[int, Query(ge=0, le=36_500, description="Days since the last review.")] = 90,
    limit: ListLimit = 20,
    category: _Category = "",
) -> Response:
    """List the notes whose last review is long ago, the oldest first."""
    work = context.memory.due_notes(days=days, limit=limit, category=category)
    return json_response(await context.read("due_notes", work))


@routes.get(
    "/notes/broken-links",
    summary="List broken links",
    responses=response_schema(results.BrokenLinks, examples.BROKEN_LINKS),
)
async def broken_links(context: OneSpaceContext, limit: ListLimit = 100) -> Response:
    """List links to notes that do not exist, with suggestions."""
    return json_response(await context.read("broken_links", context.memory.broken_links(limit=limit)))


@routes.get(
    "/notes/categories",
    summary="List categories of notes",
    responses=response_schema(results.Categories, examples.CATEGORIES),
)
async def note_categories(context: OneSpaceContext) -> Response:
    """List the categories with the number of notes in each, without and with its subcategories."""
    return json_response(await context.read("note_categories", context.memory.note_categories()))


@routes.get(
    "/notes/templates",
    summary="List templates for notes",
    responses=response_schema(results.Templates, examples.TEMPLATES),
)
async def note_templates(context: OneSpaceContext) -> Response:
    """List the templates that a new note can start with."""
    return json_response(await context.read("note_templates", context.memory.note_templates()))


@routes.get(
    "/notes/date", summary="Get the current date", responses=response_schema(results.CurrentDate, examples.DATE)
)
async def current_date(
    context: OneSpaceContext,
    format: Annotated[
        Literal["iso", "locale", "timestamp", "date_only"], Query(description="The format of the date.")
    ] = "iso",
    timezone: Annotated[
        Label,
        Query(description="Such as `Europe/Berlin`. Default: the server's time zone.", examples=["Europe/Berlin"]),
    ] = "",
) -> Response:
    """Return the current date and time, with the time zone."""
    work = context.memory.current_date(format=format, timezone=timezone)
    return json_response(await context.read("current_date", work))


@routes.post(
    "/notes/sync", summary="Synchronise files", responses=response_schema(results.NotesSynced, examples.NOTES_SYNCED)
)
async def sync_notes(
    context: WriteContext,
    deletions: Annotated[bool, Query(description="Move notes to the trash even if most files were deleted.")] = False,
) -> Response:
    """Compare the store with the whole folder of notes, and apply the changes of each side to the other."""
    return json_response(await context.write("sync_notes", context.memory.sync_notes(deletions=deletions), long=True))


@routes.get(
    "/notes/{id}",
    summary="Read a note",
    responses=response_schema(results.NoteRead, examples.NOTE_READ, description="The note", headers=("ETag",)),
)
async def read_note(
    ref: MemoryRef,
    context: ReadContext,
    format: Annotated[
        Literal["markdown", "plain", "json"], Query(description="The format of the content.")
    ] = "markdown",
) -> Response:
    """Read a note by id, title, name or file name. Use the id if another route under `/notes` has the note's name."""
    note = await context.read("read_note", context.memory.read_note(ref, format=format))
    return json_response(note, headers=etag(note.version))


@routes.patch(
    "/notes/{id}",
    summary="Edit a note",
    responses=response_schema(results.NoteChanged, examples.NOTE_CHANGED, headers=("ETag",)),
)
async def edit_note(
    ref: MemoryRef, body: NoteEditBody, context: WriteContext, match: IfMatch = "", key: IdempotencyKey = ""
) -> Response:
    """Change fields of a note. The previous state remains as a version."""
    fields = body.model_dump(mode="json", exclude_unset=True)
    for name, value in fields.items():
        if value is None:
            raise InvalidInput(f"{name} cannot be null", hint="Omit it to keep it as it is", field=name)
    work = context.memory.edit_note(ref, expected_version=version_from(match), idempotency_key=key, **fields)
    changed = await context.write("edit_note", work)
    return json_response(changed, headers=etag(changed.version))


@routes.post(
    "/notes/{id}/review",
    summary="Review a note",
    responses=response_schema(results.NoteReviewed, examples.NOTE_REVIEWED),
)
async def review_note(ref: MemoryRef, context: WriteContext) -> Response:
    """Record that a person has reviewed a note."""
    return json_response(await context.write("review_note", context.memory.review_note(ref)))


@routes.get(
    "/notes/{id}/backlinks", summary="List backlinks", responses=response_schema(results.Backlinks, examples.BACKLINKS)
)
async def backlinks(ref: MemoryRef, context: OneSpaceContext) -> Response:
    """List the notes that link to a note, with the text of each link."""
    return json_response(await context.read("backlinks", context.memory.backlinks(ref)))


@routes.post(
    "/notes/{id}/links", summary="Link two notes", responses=response_schema(results.NoteLinked, examples.NOTES_LINKED)
)
async def link_notes(ref: MemoryRef, body: NoteLinkBody, context: WriteContext) -> Response:
    """Link a note to another. Both show the link."""
    work = context.memory.link_notes(ref, body.target, link_text=body.text)
    return json_response(await context.write("link_notes", work))


@routes.delete(
    "/notes/{id}/links",
    summary="Unlink two notes",
    responses=response_schema(results.NoteLinked, examples.NOTES_UNLINKED),
)
async def unlink_notes(
    ref: MemoryRef, context: WriteContext, target: Annotated[Label, Query(min_length=1, examples=["sarah"])]
) -> Response:
    """Remove the link between two notes from both."""
    return json_response(await context.write("unlink_notes", context.memory.unlink_notes(ref, target)))


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
