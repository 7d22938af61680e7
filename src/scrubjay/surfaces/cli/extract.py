"""`scrubjay extract`: the facts of a chat log become memories."""

import os
import sys
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.extraction.formats import FORMATS, MAX_LENGTH
from scrubjay.model.fact import Extracted
from scrubjay.surfaces.cli.command import verb
from scrubjay.surfaces.cli.progress import progress
from scrubjay.surfaces.cli.verbs import DryRun

app = typer.Typer()
_MARKS = (b"\xff\xfe", b"\xfe\xff")
_ZIP = b"PK\x03\x04"
# No sign takes more than four bytes.
_MOST_BYTES = MAX_LENGTH * 4
_AT_ONCE = 1_048_576


@verb(app)
async def extract(
    client: MemoryClient,
    file: Annotated[Path, typer.Argument(help="The chat log; `-` is standard input.", show_default=False)],
    *,
    session: Annotated[str, typer.Option(help="The session that it is filed under. Default: the log's own name.")] = "",
    project: Annotated[str, typer.Option(help="The project that the facts belong to.")] = "",
    format: Annotated[str, typer.Option(help=f"How the log is written: {', '.join(FORMATS)}.")] = "auto",
    method: Annotated[
        str, typer.Option(help="`patterns`, `llm`, or `auto`: a language model if there is one.")
    ] = "auto",
    me: Annotated[
        str, typer.Option(metavar="NAME", help="Which speaker you are, where people talk to each other.")
    ] = "",
    dry_run: DryRun = False,
) -> Extracted:
    """Find what a conversation says that is worth keeping, and store it.

    Logs may be plain text (`Name: text`), Markdown, JSON, JSONL, or what ChatGPT, Claude, Slack, WhatsApp and Telegram
    export. What others say is trusted less than what you say. `undo` takes all of it back.
    """
    text = _read(file)
    with progress("reading what was said") as report:
        return await client.extract(
            text, session=session, project=project, format=format, method=method, me=me, store=not dry_run,
            progress=report,
        )  # fmt: skip


def _read(file: Path) -> str:
    raw = _bytes_of(file)
    if len(raw) > _MOST_BYTES:
        raise _too_large(file)
    if raw.startswith(_ZIP):
        raise InvalidInput(
            f"{file} is a ZIP archive", hint="Unpack it, and give the file with the conversations", path=str(file)
        )
    try:
        return raw.decode("utf-16" if raw.startswith(_MARKS) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{file} is not UTF-8 text at byte {error.start}",
            hint="Give a chat log as text or JSON, saved as UTF-8",
            path=str(file),
        ) from None


def _bytes_of(file: Path) -> bytes:
    """All that a file holds, or comes through a pipe until its end; of what is too large a little more than may be."""
    if str(file) == "-":
        return b"" if sys.stdin is None else _until_end(sys.stdin.buffer)
    try:
        # What a shell makes of `<(…)` is no ordinary file, and is read as one.
        with file.open("rb") as stream:
            # Of a file it is known at once, and of a pipe at its end.
            if os.fstat(stream.fileno()).st_size > _MOST_BYTES:
                raise _too_large(file)
            return _until_end(stream)
    except FileNotFoundError as error:
        raise InvalidInput(
            f"there is no file {file}", hint="Check the path; - reads standard input", path=str(file)
        ) from error
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be read: {error.strerror}", hint="Check what it is, and its permissions", path=str(file)
        ) from error


def _too_large(file: Path) -> TooLarge:
    return TooLarge(f"{file} is larger than {_MOST_BYTES:,} bytes", hint="Split it", path=str(file))


def _until_end(stream: BinaryIO) -> bytes:
    read = bytearray()
    while len(read) <= _MOST_BYTES and (part := stream.read(_AT_ONCE)):
        read += part
    return bytes(read)
