"""`scrubjay notes export` and `scrubjay notes import`: notes as files for others, and the files of others as notes."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.notes.export.results import FORMATS, NotesExported, require_format
from scrubjay.notes.import_.results import NotesImported
from scrubjay.surfaces.cli.command import verb
from scrubjay.surfaces.cli.progress import progress

__all__ = ["add_files"]

_SUFFIXES = {"json": ".jsonl"}
_ENDINGS = {f".{format_}": format_ for format_ in FORMATS} | {".jsonl": "json", ".htm": "html"}


def add_files(notes_app: typer.Typer) -> None:
    """Add the commands of export and import to those of notes."""
    verb(notes_app, name="export")(export_)
    verb(notes_app, name="import")(import_)


async def export_(
    client: MemoryClient,
    note: Annotated[
        list[str] | None, typer.Argument(help="Id, title, name or file name; none: all notes.", show_default=False)
    ] = None,
    *,
    to: Annotated[
        Path,
        typer.Option("--to", metavar="PATH", help="A file, a folder, or a .zip; `-` is standard output."),
    ] = Path("-"),
    format: Annotated[
        str,
        typer.Option("--format", "-f", metavar="FORMAT", help=f"{', '.join(FORMATS)}. Default: as PATH ends, else md."),
    ] = "",
    category: Annotated[str, typer.Option(metavar="NAME", help="Only this category and those below it.")] = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="Only notes with this tag; all must match.")
    ] = None,
) -> NotesExported | None:
    """Write notes as Markdown, JSON, CSV, HTML or PDF: one, several, or all.

    JSON is a document for one note or a .json, else a line for each. PDF needs `pip install 'scrubjay[pdf]'`.
    """
    chosen = require_format(format or _ENDINGS.get(to.suffix.lower(), "md"))
    with progress("exporting") as report:
        if str(to) != "-":
            return await client.export_notes(
                to, refs=note or (), format=chosen, category=category, tags=tag or (), progress=report
            )
        with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
            file = Path(folder) / _name(chosen, is_one=len(note or ()) == 1)
            await client.export_notes(
                file, refs=note or (), format=chosen, category=category, tags=tag or (), progress=report
            )
            with file.open("rb") as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
    sys.stdout.buffer.flush()
    return None


async def import_(
    client: MemoryClient,
    folder: Annotated[Path, typer.Argument(help="A vault of Obsidian's, or any folder of Markdown.")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")] = False,
    category: Annotated[
        str, typer.Option(metavar="PREFIX", help="Put before the categories that its folders become.")
    ] = "",
) -> NotesImported:
    """Take in a folder of Markdown. It is never written to; run again, only what has changed is taken."""
    with progress("importing") as report:
        return await client.import_notes(folder, category=category, dry_run=dry_run, progress=report)


def _name(format: str, *, is_one: bool) -> str:
    """The name of a file that one output can be."""
    if format in ("md", "html") and not is_one:
        raise InvalidInput(
            "several notes are several files", hint="Name a folder or a .zip with --to, or take json", field="to"
        )
    if format == "pdf" and sys.stdout.isatty():
        raise InvalidInput("a PDF is no text for a terminal", hint="Name a file with --to", field="to")
    return f"notes{_SUFFIXES.get(format, f'.{format}') if not is_one else f'.{format}'}"
