"""Notes: memories as Markdown, with a file for each where the server keeps a folder of them."""

from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import Query, Response
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from scrubjay.errors import InvalidInput
from scrubjay.notes import results
from scrubjay.surfaces.rest import note_examples as examples
from scrubjay.surfaces.rest.deps import Reading, RequestContext, Watching, Writing
from scrubjay.surfaces.rest.fields import Label, Line, Name, Text
from scrubjay.surfaces.rest.memories import IfMatch, Key
from scrubjay.surfaces.rest.requests import SourceAsked, Tags
from scrubjay.surfaces.rest.route import Asked, Ref, answer, etag, router, version_from
from scrubjay.surfaces.rest.schemas import gives

routes = router("notes")
_CREATED = 201
_Left = SkipJsonSchema[None]
_Thousand = Annotated[int, Query(ge=1, le=1_000, description="So many at most.")]
_Category = Annotated[Label, Query(description="Only this category and those below it, such as `work/meetings`.")]
_Tags = Annotated[list[Label], Query(max_length=64, description="Only notes that have all of these.")]


class NoteAsked(Asked):
    """A note to write."""

    title: Name = Field(examples=["How to reach Sarah"])
    content: Text = Field(default="", examples=["# Sarah\n\nShe prefers **voice calls** to mail.\n"])
    tags: Tags = Field(default_factory=list[str], examples=[["contact"]])
    category: Line = Field(default="", examples=["people"])
    template: Label = Field(default="", description="What the note begins with, by the name of a template.")
    project: Line = ""
    source: SourceAsked | None = None


class NoteEditAsked(Asked):
    """What is to change in a note; what is left out stays as it is."""

    title: Name | _Left = Field(default=None, examples=["How to reach Sarah"])
    content: Text | _Left = None
    tags: Tags | _Left = Field(default=None, examples=[["contact", "phone"]])
    category: Line | _Left = None
    message: Annotated[str, Field(max_length=1_000, description="Why, for the history.")] = ""


class NoteLinkAsked(Asked):
    """A note to link with."""

    target: Annotated[Label, Field(min_length=1)] = Field(examples=["sarah"])
    text: Line = Field(default="", description="What the link shows; the target's title unless given.")


@routes.post(
    "/notes",
    summary="Write a note",
    status_code=_CREATED,
    responses=gives(
        results.NoteWritten, examples.WRITTEN, status=_CREATED, what="A new note", headers=("ETag", "Location")
    )
    | gives(results.NoteWritten, examples.WRITTEN, what="Refused by a rule, or written before under this key"),
)
async def write_note(asked: NoteAsked, context: Writing, key: Key = "") -> Response:
    """Write a new note; what is like it is told, and never merged with it."""
    inputs = asked.model_dump(exclude_none=True, exclude_defaults=True)
    done = await context.write("write_note", context.memory.write_note(**inputs, idempotency_key=key))
    if done.action != "created":
        return answer(done)
    headers = etag(done.version) | {"location": _place(done.id, context)}
    return answer(done, status=_CREATED, headers=headers)


@routes.get("/notes/search", summary="Search notes", responses=gives(results.NotesFound, examples.FOUND))
async def search_notes(
    context: Watching,
    q: Annotated[
        str, Query(min_length=1, max_length=8_000, description='Words, `"a phrase"`, `begin*`.', examples=["calls"])
    ],
    limit: _Thousand = 10,
    category: _Category = "",
    tags: _Tags = [],  # noqa: B006 - FastAPI copies it
    semantic: Annotated[bool, Query(description="Look for what means the same, too.")] = False,
) -> Response:
    """Notes by words in title, content, observations, tags and category, the best first, each with a snippet."""
    work = context.memory.search_notes(q, limit=limit, category=category, tags=tags, semantic=semantic)
    return answer(await context.read("search_notes", work))


@routes.get("/notes/due", summary="Notes to review", responses=gives(results.DueNotes, examples.DUE))
async def due_notes(
    context: Watching,
    days: Annotated[int, Query(ge=0, le=36_500, description="Not looked through for so many days.")] = 90,
    limit: _Thousand = 20,
    category: _Category = "",
) -> Response:
    """The notes that nobody has looked through for a while, the longest first."""
    return answer(await context.read("due_notes", context.memory.due_notes(days=days, limit=limit, category=category)))


@routes.get(
    "/notes/broken-links", summary="Links that lead nowhere", responses=gives(results.BrokenLinks, examples.BROKEN)
)
async def broken_links(context: Watching, limit: _Thousand = 100) -> Response:
    """The links to notes that do not exist, and which may be meant."""
    return answer(await context.read("broken_links", context.memory.broken_links(limit=limit)))


@routes.get(
    "/notes/categories", summary="Categories of notes", responses=gives(results.Categories, examples.CATEGORIES)
)
async def note_categories(context: Watching) -> Response:
    """The categories and how many notes are in each, alone and with those below it."""
    return answer(await context.read("note_categories", context.memory.note_categories()))


@routes.get("/notes/templates", summary="Templates for notes", responses=gives(results.Templates, examples.TEMPLATES))
async def note_templates(context: Watching) -> Response:
    """The forms that a new note can begin with."""
    return answer(await context.read("note_templates", context.memory.note_templates()))


@routes.get("/notes/date", summary="The date of now", responses=gives(results.CurrentDate, examples.DATE))
async def current_date(
    context: Watching,
    format: Annotated[Literal["iso", "locale", "timestamp", "date_only"], Query(description="How it is told.")] = "iso",
    timezone: Annotated[
        Label, Query(description="Such as `Europe/Berlin`; the server's unless given.", examples=["Europe/Berlin"])
    ] = "",
) -> Response:
    """The date and time of now, with the time zone."""
    return answer(await context.read("current_date", context.memory.current_date(format=format, timezone=timezone)))


@routes.post("/notes/sync", summary="Bring files in step", responses=gives(results.NotesSynced, examples.SYNCED))
async def sync_notes(
    context: Writing,
    deletions: Annotated[
        bool, Query(description="Most files are gone on purpose: their notes go into the trash.")
    ] = False,
) -> Response:
    """Compare the store with the whole folder of notes, and bring both in step."""
    return answer(await context.write("sync_notes", context.memory.sync_notes(deletions=deletions), long=True))


@routes.get(
    "/notes/{id}",
    summary="Read a note",
    responses=gives(results.NoteRead, examples.READ, what="The note", headers=("ETag",)),
)
async def read_note(
    ref: Ref,
    context: Reading,
    format: Annotated[Literal["markdown", "plain", "json"], Query(description="How its content is told.")] = "markdown",
) -> Response:
    """A note by id, title, name or file name. What is called as another address here goes by its id."""
    matches = await context.read("read_note", context.memory.read_note(ref, format=format))
    return answer(matches, headers=etag(matches.version))


@routes.patch(
    "/notes/{id}", summary="Edit a note", responses=gives(results.NoteChanged, examples.CHANGED, headers=("ETag",))
)
async def edit_note(ref: Ref, asked: NoteEditAsked, context: Writing, match: IfMatch = "", key: Key = "") -> Response:
    """Change a note; the state before stays a version."""
    inputs = asked.model_dump(mode="json", exclude_unset=True)
    for name, value in inputs.items():
        if value is None:
            raise InvalidInput(f"{name} cannot be null", hint="Leave it out to keep it as it is", field=name)
    work = context.memory.edit_note(ref, expected_version=version_from(match), idempotency_key=key, **inputs)
    done = await context.write("edit_note", work)
    return answer(done, headers=etag(done.version))


@routes.post("/notes/{id}/review", summary="Review a note", responses=gives(results.NoteReviewed, examples.REVIEWED))
async def review_note(ref: Ref, context: Writing) -> Response:
    """Note that somebody has looked through a note."""
    return answer(await context.write("review_note", context.memory.review_note(ref)))


@routes.get(
    "/notes/{id}/backlinks", summary="Who links to a note", responses=gives(results.Backlinks, examples.BACKLINKS)
)
async def backlinks(ref: Ref, context: Watching) -> Response:
    """The notes that link to one, and with what words."""
    return answer(await context.read("backlinks", context.memory.backlinks(ref)))


@routes.post("/notes/{id}/links", summary="Link two notes", responses=gives(results.NoteLinked, examples.LINKED))
async def link_notes(ref: Ref, asked: NoteLinkAsked, context: Writing) -> Response:
    """Link a note with another; both show it."""
    work = context.memory.link_notes(ref, asked.target, link_text=asked.text)
    return answer(await context.write("link_notes", work))


@routes.delete("/notes/{id}/links", summary="Unlink two notes", responses=gives(results.NoteLinked, examples.UNLINKED))
async def unlink_notes(
    ref: Ref, context: Writing, target: Annotated[Label, Query(min_length=1, examples=["sarah"])]
) -> Response:
    """Take the link between two notes away, from both."""
    return answer(await context.write("unlink_notes", context.memory.unlink_notes(ref, target)))


def _place(note_id: str, context: RequestContext) -> str:
    """Where a note is read, also by whoever has another space of its own."""
    home = context.grant.caller(default=context.dependencies.space).space
    there = context.who.space
    return f"/api/v1/notes/{note_id}" + ("" if there == home else f"?space={quote(there, safe='')}")
