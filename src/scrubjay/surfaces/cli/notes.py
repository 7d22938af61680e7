"""`scrubjay notes`: memories as Markdown notes, each in its own file, with attachments, export and import."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model import notes as results
from scrubjay.model.attachments import Attached, NoteAttachments, Orphans
from scrubjay.model.memory import Trust
from scrubjay.model.notes import EXPORT_FORMATS, NotesExported, NotesImported, require_export_format
from scrubjay.model.requests import CurrentDateRequest, ExportNotesRequest, ReadNoteRequest
from scrubjay.surfaces.cli.command import verb
from scrubjay.surfaces.cli.console import progress
from scrubjay.surfaces.cli.verbs import DryRun

app = typer.Typer()
notes_app = typer.Typer(
    help="Memories as Markdown files, synchronized both ways.",
    no_args_is_help=True,
)
app.add_typer(notes_app, name="notes")

_SUFFIXES = {"json": ".jsonl"}
_FORMAT_OF_SUFFIX = {f".{format_}": format_ for format_ in EXPORT_FORMATS} | {".jsonl": "json", ".htm": "html"}

Ref = Annotated[str, typer.Argument(help="Id, title, name or file name.", show_default=False)]
Tags = Annotated[list[str] | None, typer.Option("--tag", "-t", help="Tag; repeatable.")]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Maximum number of results.")]
Within = Annotated[str, typer.Option(metavar="NAME", help="Only this category and its subcategories.")]


@verb(notes_app)
async def write(
    client: MemoryClient,
    title: Annotated[str, typer.Argument(help="Title of the note.", show_default=False)],
    content: Annotated[str, typer.Argument(help="Markdown text; `-` reads standard input.")] = "",
    *,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Read the content from a file.")
    ] = None,
    tag: Tags = None,
    category: Annotated[str, typer.Option(metavar="NAME", help="Category, such as work or work/meetings.")] = "",
    template: Annotated[
        str, typer.Option(metavar="NAME", help="Start from a template; `scrubjay notes templates` lists them.")
    ] = "",
    project: Annotated[str, typer.Option(help="Project.")] = "",
    idempotency_key: Annotated[str, typer.Option(help="Key that makes a repeated call safe.")] = "",
) -> results.NoteWritten:
    """Write a new note.

    Similar notes are listed, but never merged with it.
    """
    return await client.write_note(
        title, _read_content(content, file) or "", tags=tag or (), category=category, template=template,
        project=project, source={"trust": Trust.USER.value}, idempotency_key=idempotency_key,
    )  # fmt: skip


@verb(notes_app)
async def read(
    client: MemoryClient,
    identifier: Ref,
    *,
    format: Annotated[
        str, typer.Option(metavar="FORMAT", help="markdown (as written), plain (without markup) or json.")
    ] = "markdown",
) -> results.NoteRead:
    """Print a note."""
    return await client.call(ReadNoteRequest.of(identifier=identifier, format=format))


@verb(notes_app)
async def edit(
    client: MemoryClient,
    id: Ref,
    *,
    title: Annotated[
        str | None, typer.Option(help="New title; the file is renamed, and links to it are updated.")
    ] = None,
    content: Annotated[str | None, typer.Option(metavar="TEXT", help="New content; `-` reads standard input.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Read the content from a file.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="New tags, which replace the old ones; repeatable.")
    ] = None,
    category: Annotated[str | None, typer.Option(metavar="NAME", help="New category.")] = None,
    expected_version: Annotated[
        int | None, typer.Option(metavar="N", help="Fail unless the note is at this version.")
    ] = None,
    message: Annotated[str, typer.Option("--message", "-m", help="Reason, recorded in the history.")] = "",
) -> results.NoteChanged:
    """Change a note; the previous state stays as a version.

    Options that you leave out keep their values.
    """
    if title is None and content is None and file is None and tag is None and category is None:
        raise InvalidInput(
            "say what to change",
            hint="Give --title, --content, --file, --tag or --category, or edit the file of the note",
        )
    return await client.edit_note(
        id, title=title, content=_read_content(content, file), tags=tag, category=category,
        expected_version=expected_version, message=message,
    )  # fmt: skip


@verb(notes_app)
async def search(
    client: MemoryClient,
    query: Annotated[str, typer.Argument(help='Words, "a phrase", prefix*.', show_default=False)],
    *,
    limit: Limit = 10,
    category: Within = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="Only notes with this tag; repeatable, all must match.")
    ] = None,
    semantic: Annotated[bool, typer.Option("--semantic", help="Search by meaning too.")] = False,
) -> results.NotesFound:
    """Find notes by words in title, content, tags and category."""
    return await client.search_notes(query, limit=limit, category=category, tags=tag or (), semantic=semantic)


@verb(notes_app)
async def link(
    client: MemoryClient,
    source: Ref,
    target: Ref,
    *,
    text: Annotated[str, typer.Option(help="Text of the link. Default: the title of the target.")] = "",
) -> results.NoteLinked:
    """Link two notes with each other; both show the link."""
    return await client.link_notes(source, target, link_text=text)


@verb(notes_app)
async def unlink(client: MemoryClient, source: Ref, target: Ref) -> results.NoteLinked:
    """Remove the link between two notes, from both."""
    return await client.unlink_notes(source, target)


@verb(notes_app)
async def date(
    client: MemoryClient,
    *,
    format: Annotated[str, typer.Option(metavar="FORMAT", help="iso, locale, timestamp or date_only.")] = "iso",
    timezone: Annotated[
        str, typer.Option(metavar="ZONE", help="For example Europe/Berlin. Default: that of the server.")
    ] = "",
) -> results.CurrentDate:
    """Print the current date and time.

    Agents get the same from the tool get_current_date.
    """
    return await client.call(CurrentDateRequest.of(format=format, timezone=timezone))


@verb(notes_app)
async def due(
    client: MemoryClient,
    *,
    days: Annotated[int, typer.Option(metavar="N", help="Only notes not reviewed for N days.")] = 90,
    limit: Limit = 20,
    category: Within = "",
) -> results.DueNotes:
    """List the notes that are due for a review, the oldest first."""
    return await client.due_notes(days=days, limit=limit, category=category)


@verb(notes_app)
async def review(client: MemoryClient, id: Ref) -> results.NoteReviewed:
    """Mark a note as reviewed today."""
    return await client.review_note(id)


@verb(notes_app)
async def backlinks(client: MemoryClient, id: Ref) -> results.Backlinks:
    """List the notes that link to a note."""
    return await client.backlinks(id)


@verb(notes_app)
async def broken(client: MemoryClient, *, limit: Limit = 100) -> results.BrokenLinks:
    """List links to notes that do not exist, with suggestions."""
    return await client.broken_links(limit=limit)


@verb(notes_app)
async def categories(client: MemoryClient) -> results.Categories:
    """Show the tree of categories with their numbers of notes."""
    return await client.note_categories()


@verb(notes_app)
async def templates(client: MemoryClient) -> results.Templates:
    """List the templates for new notes."""
    return await client.note_templates()


@verb(notes_app)
async def sync(
    client: MemoryClient,
    *,
    deletions: Annotated[
        bool, typer.Option("--deletions", help="Confirm that most files were deleted on purpose: trash their notes.")
    ] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Take over the folder of another store; its files are kept.")
    ] = False,
) -> results.NotesSynced:
    """Synchronize the store with the folder of notes.

    A running daemon does this automatically.
    """
    with progress("checking the notes") as report:
        return await client.sync_notes(deletions=deletions, adopt=adopt, progress=report)


@verb(notes_app)
async def attach(
    client: MemoryClient,
    note: Ref,
    file: Annotated[Path, typer.Argument(help="Picture, recording or document.", show_default=False)],
    *,
    caption: Annotated[str, typer.Option(help="Description of the file, which search finds too.")] = "",
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the attachment. Default: the file name.")] = "",
) -> Attached:
    """Store a file with the notes and embed it in a note.

    A file with the same bytes is stored once.
    """
    return await client.attach_path(note, file, caption=caption, name=name)


@verb(notes_app)
async def attachments(client: MemoryClient, note: Ref) -> NoteAttachments:
    """List the files that a note embeds."""
    return await client.note_attachments(note)


@verb(notes_app)
async def orphans(client: MemoryClient) -> Orphans:
    """List attachments without a note or without a file.

    Nothing is removed.
    """
    return await client.orphaned_files()


@verb(notes_app, name="export")
async def export_(
    client: MemoryClient,
    note: Annotated[
        list[str] | None,
        typer.Argument(help="Ids, titles, names or file names. Default: all notes.", show_default=False),
    ] = None,
    *,
    to: Annotated[
        Path,
        typer.Option("--to", metavar="PATH", help="A file, a folder, or a .zip; `-` is standard output."),
    ] = Path("-"),
    format: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help=f"{', '.join(EXPORT_FORMATS)}. Default: by the suffix of PATH, else md.",
        ),
    ] = "",
    category: Within = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="Only notes with this tag; repeatable, all must match.")
    ] = None,
) -> NotesExported | None:
    """Export notes as Markdown, JSON, CSV, HTML or PDF.

    JSON is one document for a single note or a .json file, else JSON Lines. PDF needs `pip install 'scrubjay[pdf]'`.
    """
    chosen = require_export_format(format or _FORMAT_OF_SUFFIX.get(to.suffix.lower(), "md"))
    with progress("exporting") as report:
        if str(to) != "-":
            return await client.call(
                ExportNotesRequest.of(target=to, refs=note or (), format=chosen, category=category, tags=tag or ()),
                progress=report,
            )
        with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
            file = Path(folder) / _output_name(chosen, is_single=len(note or ()) == 1)
            await client.call(
                ExportNotesRequest.of(target=file, refs=note or (), format=chosen, category=category, tags=tag or ()),
                progress=report,
            )
            with file.open("rb") as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
    sys.stdout.buffer.flush()
    return None


@verb(notes_app, name="import")
async def import_(
    client: MemoryClient,
    folder: Annotated[Path, typer.Argument(help="An Obsidian vault, or any folder of Markdown files.")],
    *,
    dry_run: DryRun = False,
    category: Annotated[
        str, typer.Option(metavar="PREFIX", help="Prefix of the categories that the folders become.")
    ] = "",
) -> NotesImported:
    """Import a folder of Markdown files.

    The folder is only read. If you run it again, only changed files are imported.
    """
    with progress("importing") as report:
        return await client.import_notes(folder, category=category, dry_run=dry_run, progress=report)


def _read_content(content: str | None, file: Path | None) -> str | None:
    """Return the content of a note: the given text, or that of a file or standard input, byte for byte."""
    if content and file is not None:
        raise InvalidInput("the content is given twice", hint="Give a text or --file", field="content")
    if file is None and content != "-":
        return content
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


def _output_name(format: str, *, is_single: bool) -> str:
    """Return a name for a file that can be copied to standard output."""
    if format in ("md", "html") and not is_single:
        raise InvalidInput(
            "several notes are several files", hint="Name a folder or a .zip with --to, or use json", field="to"
        )
    if format == "pdf" and sys.stdout.isatty():
        raise InvalidInput("a PDF cannot be shown on a terminal", hint="Name a file with --to", field="to")
    return f"notes{_SUFFIXES.get(format, f'.{format}') if not is_single else f'.{format}'}"
