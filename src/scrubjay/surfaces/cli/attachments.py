"""`scrubjay notes attach`: files that notes embed."""

from pathlib import Path
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.notes.attachments.results import Attached, NoteAttachments, Orphans
from scrubjay.surfaces.cli.command import verb

__all__ = ["add_attachments"]

Note = Annotated[str, typer.Argument(help="Id, title, name or file name of a note.", show_default=False)]


def add_attachments(notes_app: typer.Typer) -> None:
    """Add the commands of attachments to those of notes."""
    verb(notes_app)(attach)
    verb(notes_app)(attachments)
    verb(notes_app)(orphans)


async def attach(
    client: MemoryClient,
    note: Note,
    file: Annotated[Path, typer.Argument(help="Picture, recording or document.", show_default=False)],
    *,
    caption: Annotated[str, typer.Option(help="What it shows; it is found by that, too.")] = "",
    name: Annotated[str, typer.Option(metavar="NAME", help="What it is called. Default: the name of the file.")] = "",
) -> Attached:
    """Keep a file beside the notes and embed it in one; the same bytes are kept once."""
    return await client.attach_path(note, file, caption=caption, name=name)


async def attachments(client: MemoryClient, note: Note) -> NoteAttachments:
    """List the files that a note embeds."""
    return await client.note_attachments(note)


async def orphans(client: MemoryClient) -> Orphans:
    """List attachments that no note embeds or whose file is gone; nothing is removed."""
    return await client.orphaned_files()
