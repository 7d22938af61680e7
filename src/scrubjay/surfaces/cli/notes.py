"""`scrubjay notes`: memories as Markdown notes, each in a file of its own."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Trust
from scrubjay.notes import results
from scrubjay.surfaces.cli.attachments import add_attachments
from scrubjay.surfaces.cli.command import verb
from scrubjay.surfaces.cli.notes_files import add_files
from scrubjay.surfaces.cli.progress import progress

app = typer.Typer()
notes_app = typer.Typer(
    help="Memories as Markdown notes: a folder that any editor can open, kept in step both ways.",
    no_args_is_help=True,
)
app.add_typer(notes_app, name="notes")
add_attachments(notes_app)
add_files(notes_app)

Ref = Annotated[str, typer.Argument(help="Id, title, name or file name.", show_default=False)]
Tags = Annotated[list[str] | None, typer.Option("--tag", "-t", help="Tag; may be given several times.")]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.")]
Within = Annotated[str, typer.Option(metavar="NAME", help="Only this category and those below it.")]


@verb(notes_app)
async def write(
    client: MemoryClient,
    title: Annotated[str, typer.Argument(help="Title of the note.", show_default=False)],
    content: Annotated[str, typer.Argument(help="What it says, as Markdown; `-` reads it from standard input.")] = "",
    *,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Take what it says from a file.")
    ] = None,
    tag: Tags = None,
    category: Annotated[str, typer.Option(metavar="NAME", help="Category, such as work or work/meetings.")] = "",
    template: Annotated[
        str, typer.Option(metavar="NAME", help="Begin with a template; `scrubjay notes templates` lists them.")
    ] = "",
    project: Annotated[str, typer.Option(help="Project.")] = "",
    idempotency_key: Annotated[str, typer.Option(help="Makes a repeated call safe.")] = "",
) -> results.NoteWritten:
    """Write a new note; what is like it is told, and never merged with it."""
    return await client.write_note(
        title, _content(content, file) or "", tags=tag or (), category=category, template=template, project=project,
        source={"trust": Trust.USER.value}, idempotency_key=idempotency_key,
    )  # fmt: skip


@verb(notes_app)
async def read(
    client: MemoryClient,
    identifier: Ref,
    *,
    format: Annotated[
        str, typer.Option(metavar="FORMAT", help="markdown (as it was written), plain (without marks) or json.")
    ] = "markdown",
) -> results.NoteRead:
    """Print a note."""
    return await client.read_note(identifier, format=format)


@verb(notes_app)
async def edit(
    client: MemoryClient,
    id: Ref,
    *,
    title: Annotated[
        str | None, typer.Option(help="New title; its file is renamed, and the links to it go along.")
    ] = None,
    content: Annotated[
        str | None, typer.Option(metavar="TEXT", help="New content; `-` reads it from standard input.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Take the content from a file.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="New tags, in place of the old; may be given several times.")
    ] = None,
    category: Annotated[str | None, typer.Option(metavar="NAME", help="New category.")] = None,
    expected_version: Annotated[
        int | None, typer.Option(metavar="N", help="Refuse unless the note is at this version.")
    ] = None,
    message: Annotated[str, typer.Option("--message", "-m", help="Why, for the history.")] = "",
) -> results.NoteChanged:
    """Change a note; what is not given stays as it is, and the state before stays a version."""
    if title is None and content is None and file is None and tag is None and category is None:
        raise InvalidInput(
            "say what to change",
            hint="Give --title, --content, --file, --tag or --category; its file can be changed in any editor",
        )
    return await client.edit_note(
        id, title=title, content=_content(content, file), tags=tag, category=category,
        expected_version=expected_version, message=message,
    )  # fmt: skip


@verb(notes_app)
async def search(
    client: MemoryClient,
    query: Annotated[str, typer.Argument(help='Words, "a phrase", begin*.', show_default=False)],
    *,
    limit: Limit = 10,
    category: Within = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="Only notes with this tag; all must match.")
    ] = None,
    semantic: Annotated[bool, typer.Option("--semantic", help="Look for what means the same, too.")] = False,
) -> results.NotesFound:
    """Find notes by words in title, content, tags and category."""
    return await client.search_notes(query, limit=limit, category=category, tags=tag or (), semantic=semantic)


@verb(notes_app)
async def link(
    client: MemoryClient,
    source: Ref,
    target: Ref,
    *,
    text: Annotated[str, typer.Option(help="What the link shows. Default: the target's title.")] = "",
) -> results.NoteLinked:
    """Link two notes with each other; both show it."""
    return await client.link_notes(source, target, link_text=text)


@verb(notes_app)
async def unlink(client: MemoryClient, source: Ref, target: Ref) -> results.NoteLinked:
    """Take the link between two notes away, from both."""
    return await client.unlink_notes(source, target)


@verb(notes_app)
async def date(
    client: MemoryClient,
    *,
    format: Annotated[str, typer.Option(metavar="FORMAT", help="iso, locale, timestamp or date_only.")] = "iso",
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="Such as Europe/Berlin. Default: the server's.")] = "",
) -> results.CurrentDate:
    """Print the date and time of now, as get_current_date tells it to agents."""
    return await client.current_date(format=format, timezone=timezone)


@verb(notes_app)
async def due(
    client: MemoryClient,
    *,
    days: Annotated[int, typer.Option(metavar="N", help="Not looked through for so many days.")] = 90,
    limit: Limit = 20,
    category: Within = "",
) -> results.DueNotes:
    """List the notes that nobody has looked through for a while, the longest first."""
    return await client.due_notes(days=days, limit=limit, category=category)


@verb(notes_app)
async def review(client: MemoryClient, id: Ref) -> results.NoteReviewed:
    """Say that you have looked through a note: it is not due again for a while."""
    return await client.review_note(id)


@verb(notes_app)
async def backlinks(client: MemoryClient, id: Ref) -> results.Backlinks:
    """List the notes that link to one."""
    return await client.backlinks(id)


@verb(notes_app)
async def broken(client: MemoryClient, *, limit: Limit = 100) -> results.BrokenLinks:
    """List the links that lead to no note, and which may be meant."""
    return await client.broken_links(limit=limit)


@verb(notes_app)
async def categories(client: MemoryClient) -> results.Categories:
    """Show the tree of categories, and how many notes are in each."""
    return await client.note_categories()


@verb(notes_app)
async def templates(client: MemoryClient) -> results.Templates:
    """List the templates that a new note can begin with."""
    return await client.note_templates()


@verb(notes_app)
async def sync(
    client: MemoryClient,
    *,
    deletions: Annotated[
        bool, typer.Option("--deletions", help="Most files are gone on purpose: their notes go into the trash.")
    ] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Take over a folder that belongs to another store; nothing in it is lost.")
    ] = False,
) -> results.NotesSynced:
    """Compare the store with the whole folder, and bring both in step. A daemon does so by itself."""
    with progress("looking through the notes") as report:
        return await client.sync_notes(deletions=deletions, adopt=adopt, progress=report)


def _content(given: str | None, file: Path | None) -> str | None:
    """What a note is to say: as it is given, or byte for byte from a file or standard input."""
    if given and file is not None:
        raise InvalidInput("the content is given twice", hint="Give a text or --file", field="content")
    if file is None and given != "-":
        return given
    try:
        raw = sys.stdin.buffer.read() if file is None or str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}", hint="Check the path", path=str(file)) from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"the content is not UTF-8 text at byte {error.start}", hint="Save it as UTF-8", field="content"
        ) from None
