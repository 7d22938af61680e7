"""`scrubjay extract`: the facts of a chat log become memories."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.extraction.reading import FORMATS, LONGEST
from scrubjay.model.fact import Extracted
from scrubjay.surfaces.cli.command import verb
from scrubjay.surfaces.cli.verbs import DryRun

app = typer.Typer()
_MARKS = (b"\xff\xfe", b"\xfe\xff")


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
    dry_run: DryRun = False,
) -> Extracted:
    """Find what a conversation says that is worth keeping, and store it.

    Logs may be plain text (`Name: text`), Markdown, JSON, JSONL, or what ChatGPT, Claude, Slack, WhatsApp and Telegram
    export. `undo` takes all of it back.
    """
    text = _read(file)
    with _waiting("reading what was said"):
        return await client.extract(
            text, session=session, project=project, format=format, method=method, store=not dry_run
        )


def _read(file: Path) -> str:
    if str(file) == "-":
        raw = sys.stdin.buffer.read(LONGEST * 4 + 1)
    elif not file.is_file():
        raise InvalidInput(f"there is no file {file}", hint="Check the path", path=str(file))
    else:
        try:
            if file.stat().st_size > LONGEST * 4:
                raise TooLarge(f"{file} is larger than {LONGEST * 4:,} bytes", hint="Split it", path=str(file))
            raw = file.read_bytes()
        except OSError as error:
            raise InvalidInput(
                f"{file} cannot be read: {error.strerror}", hint="Check its permissions", path=str(file)
            ) from error
    try:
        return raw.decode("utf-16" if raw.startswith(_MARKS) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{file} is not UTF-8 text at byte {error.start}", hint="Give a chat log as text or JSON", path=str(file)
        ) from None


@contextmanager
def _waiting(label: str) -> Generator[None]:
    # On standard error, so that what is printed can be piped.
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(label):
        yield
