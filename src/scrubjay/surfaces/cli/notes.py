"""`scrubjay notes`: memories as Markdown notes, each in its own file, with attachments, export and import."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model import notes as results
from scrubjay.model import requests
from scrubjay.model.memory import Trust
from scrubjay.model.notes import EXPORT_FORMATS, NotesAdopted, NotesExported, require_export_format
from scrubjay.surfaces.cli.command import DryRun, Make, Yes, plain, verb
from scrubjay.surfaces.cli.console import progress
from scrubjay.surfaces.cli.render import show

app = typer.Typer()
notes_app = typer.Typer(
    help="Memories as Markdown files, synchronized both ways.",
    no_args_is_help=True,
)
app.add_typer(notes_app, name="notes")

_SUFFIXES = {"json": ".jsonl"}
_FORMAT_OF_SUFFIX = {f".{format_}": format_ for format_ in EXPORT_FORMATS} | {".jsonl": "json", ".htm": "html"}

FromFile = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="FILE", help="Read the content from a file.")
]  # fmt: skip
_READS = "; `-` reads standard input."


@verb(
    notes_app,
    begins=True,
    omits=("source",),
    helps={
        "content": f"Markdown text{_READS}",
        "template": "Start from a template; `scrubjay notes templates` lists them.",
    },
)
async def write(
    client: MemoryClient, make: Make[requests.WriteNoteRequest], *, file: FromFile = None
) -> results.NoteWritten:
    """Write a new note.

    Similar notes are listed, but never merged with it.
    """
    request = make(source={"trust": Trust.USER.value})
    return await client.call(replace(request, content=_read_content(request.content, file) or ""))


plain(notes_app, requests.ReadNoteRequest, "Print a note.")


@verb(notes_app, helps={"content": f"New content{_READS}"})
async def edit(
    client: MemoryClient, make: Make[requests.EditNoteRequest], *, file: FromFile = None
) -> results.NoteChanged:
    """Change a note; the previous state stays as a version.

    Options that you leave out keep their values.
    """
    request = make()
    if file is None and (request.title, request.content, request.tags, request.category) == (None,) * 4:
        raise InvalidInput(
            "say what to change",
            hint="Give --title, --content, --file, --tag or --category, or edit the file of the note",
        )
    return await client.call(replace(request, content=_read_content(request.content, file)))


plain(notes_app, requests.SearchNotesRequest, "Find notes by words in title, content, tags and category.")
plain(notes_app, requests.LinkNotesRequest, "Link two notes with each other; both show the link.")
plain(notes_app, requests.UnlinkNotesRequest, "Remove the link between two notes, from both.")
plain(
    notes_app,
    requests.CurrentDateRequest,
    """Print the current date and time.

    Agents get the same from the tool get_current_date.
    """,
)
plain(notes_app, requests.DueNotesRequest, "List the notes that are due for a review, the oldest first.")
plain(notes_app, requests.ReviewNoteRequest, "Mark a note as reviewed today.")
plain(notes_app, requests.BacklinksRequest, "List the notes that link to a note.")
plain(notes_app, requests.BrokenLinksRequest, "List links to notes that do not exist, with suggestions.")
plain(notes_app, requests.NoteCategoriesRequest, "Show the tree of categories with their numbers of notes.")
plain(notes_app, requests.NoteTemplatesRequest, "List the templates for new notes.")
plain(
    notes_app,
    requests.SyncNotesRequest,
    """Synchronize the store with the folder of notes.

    A running daemon does this automatically.
    """,
    label="checking the notes",
)
plain(
    notes_app,
    requests.AttachPathRequest,
    """Store a file with the notes and embed it in a note.

    A file with the same bytes is stored once.
    """,
)
plain(notes_app, requests.NoteAttachmentsRequest, "List the files that a note embeds.")
plain(
    notes_app,
    requests.OrphanedFilesRequest,
    """List attachments without a note or without a file.

    Nothing is removed.
    """,
)


@verb(notes_app, omits=("target", "refs"))
async def export_(
    client: MemoryClient,
    make: Make[requests.ExportNotesRequest],
    *,
    note: Annotated[
        list[str] | None,
        typer.Argument(help="Ids, titles, names or file names. Default: all notes.", show_default=False),
    ] = None,
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
) -> NotesExported | None:
    """Export notes as Markdown, JSON, CSV, HTML or PDF.

    JSON is one document for a single note or a .json file, else JSON Lines. PDF needs `pip install 'scrubjay[pdf]'`.
    """
    chosen = require_export_format(format or _FORMAT_OF_SUFFIX.get(to.suffix.lower(), "md"))
    make_chosen = partial(make, refs=note or (), format=chosen)
    with progress("exporting") as report:
        if str(to) != "-":
            return await client.call(make_chosen(target=to), progress=report)
        async with _copied_to_stdout(_output_name(chosen, is_single=len(note or ()) == 1)) as pipe:
            await client.call(make_chosen(target=pipe), progress=report)
    sys.stdout.buffer.flush()
    return None


plain(
    notes_app,
    requests.ImportNotesRequest,
    """Import a folder of Markdown files.

    The folder is only read. If you run it again, only changed files are imported.
    """,
    label="importing",
    begins=True,
)


@verb(notes_app, begins=True)
async def adopt(
    client: MemoryClient,
    make: Make[requests.AdoptNotesRequest],
    *,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> NotesAdopted:
    """Make an existing vault the folder of notes.

    First shows what would happen, and asks. The files stay as they are until a note changes, and a copy of them is made
    first. To continue after an interruption, run `scrubjay notes sync`.
    """
    if not dry_run and not yes and not sys.stdin.isatty():
        raise InvalidInput("nothing was adopted", hint="See what would happen with --dry-run, then use --yes")
    if dry_run or not yes:
        with progress("reading") as report:
            planned = await client.call(make(dry_run=True), progress=report)
        if dry_run:
            return planned
        show(planned)
        if not typer.confirm(f"Adopt {planned.folder} as the folder of notes?", err=True):
            raise InvalidInput("nothing was adopted", hint="Answer y, or use --yes")
    with progress("adopting") as report:
        return await client.call(make(), progress=report)


@asynccontextmanager
async def _copied_to_stdout(name: str) -> AsyncGenerator[Path]:
    """Yield a pipe that is copied to standard output: a file would hold the notes in clear, and outlive a kill."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
        pipe = Path(folder) / name
        os.mkfifo(pipe, 0o600)
        source = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        # While this end is open, the copy waits for the writer, which may not come.
        held = os.open(pipe, os.O_WRONLY)
        os.set_blocking(source, True)
        copying = asyncio.create_task(asyncio.to_thread(_copy, source))
        try:
            yield pipe
        finally:
            os.close(held)
            await copying


def _copy(source: int) -> None:
    with os.fdopen(source, "rb") as stream:
        shutil.copyfileobj(stream, sys.stdout.buffer)


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
