"""`scrubjay extract`: store the facts of a chat log as memories."""

import os
import sys
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.extraction.formats import MAX_LENGTH
from scrubjay.model.fact import Extracted
from scrubjay.model.requests import ExtractRequest
from scrubjay.surfaces.cli.command import DryRun, Make, verb
from scrubjay.surfaces.cli.console import progress

app = typer.Typer()
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")
_ZIP = b"PK\x03\x04"
# A character takes at most four bytes.
_MAX_BYTES = MAX_LENGTH * 4
_CHUNK_BYTES = 1_048_576


@verb(app, begins=True, omits=("text", "store"), helps={"project": "Project of the facts."})
async def extract(
    client: MemoryClient,
    make: Make[ExtractRequest],
    *,
    file: Annotated[Path, typer.Argument(help="The chat log; `-` is standard input.", show_default=False)],
    dry_run: DryRun = False,
) -> Extracted:
    """Extract facts from a conversation and store them.

    A log is plain text (`Name: text`), Markdown, JSON, JSONL, or an export of ChatGPT, Claude, Slack, WhatsApp or
    Telegram. Statements of others get less trust than yours. `undo` reverts the whole extraction.
    """
    text = _read_log(file)
    with progress("extracting facts") as report:
        return await client.call(make(text=text, store=not dry_run), progress=report)


def _read_log(file: Path) -> str:
    raw = _read_bytes(file)
    if len(raw) > _MAX_BYTES:
        raise _too_large(file)
    if raw.startswith(_ZIP):
        raise InvalidInput(
            f"{file} is a ZIP archive", hint="Unpack it, and give the file with the conversations", path=str(file)
        )
    try:
        return raw.decode("utf-16" if raw.startswith(_BYTE_ORDER_MARKS) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{file} is not UTF-8 text at byte {error.start}",
            hint="Give a chat log as text or JSON, saved as UTF-8",
            path=str(file),
        ) from None


def _read_bytes(file: Path) -> bytes:
    """Return the bytes of a file or of standard input, up to a little more than the limit."""
    if str(file) == "-":
        return b"" if sys.stdin is None else _read_to_end(sys.stdin.buffer)
    try:
        # Not only regular files: the shell's `<(…)` is a pipe.
        with file.open("rb") as stream:
            # The size of a regular file is known before it is read, that of a pipe is not.
            if os.fstat(stream.fileno()).st_size > _MAX_BYTES:
                raise _too_large(file)
            return _read_to_end(stream)
    except FileNotFoundError as error:
        raise InvalidInput(
            f"there is no file {file}", hint="Check the path; - reads standard input", path=str(file)
        ) from error
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be read: {error.strerror}", hint="Check the file and its permissions", path=str(file)
        ) from error


def _too_large(file: Path) -> TooLarge:
    return TooLarge(f"{file} is larger than {_MAX_BYTES:,} bytes", hint="Split it", path=str(file))


def _read_to_end(stream: BinaryIO) -> bytes:
    content = bytearray()
    while len(content) <= _MAX_BYTES and (chunk := stream.read(_CHUNK_BYTES)):
        content += chunk
    return bytes(content)
