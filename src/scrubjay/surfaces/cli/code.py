"""`scrubjay code`: run programs beside the memory."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.code import CodeResult
from scrubjay.model.requests import RunCodeRequest
from scrubjay.model.requests.code import MAX_SOURCE
from scrubjay.surfaces.cli.command import Make, verb

app = typer.Typer()
code_app = typer.Typer(help="Programs that compute over the memory.", no_args_is_help=True)
app.add_typer(code_app, name="code")


@verb(code_app, omits=("code",))
async def run(
    client: MemoryClient,
    make: Make[RunCodeRequest],
    *,
    file: Annotated[Path | None, typer.Argument(help="The program; `-` is standard input.", show_default=False)] = None,
) -> CodeResult:
    """Run a Python program beside the memory.

    It calls the verbs as functions, such as `recall("…")`, and prints the variable `result` or the value of its last
    line. The exit code is 1 if it fails. `undo --run` takes back what it has changed.
    """
    request = make(code=_read_program(file) if file else "")
    if file is None and not request.handle:
        raise InvalidInput("there is no program to run", hint="Give a file, - for standard input, or --handle")
    return await client.call(request)


def _read_program(file: Path) -> str:
    try:
        # A character takes at most four bytes.
        with sys.stdin.buffer if str(file) == "-" else file.open("rb") as source:
            raw = source.read(4 * MAX_SOURCE + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"cannot read {file}: {error.strerror}", path=str(file)) from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not UTF-8 text at byte {error.start}", path=str(file)) from None
    if len(text) > MAX_SOURCE:
        raise TooLarge(f"{file} has more than {MAX_SOURCE:,} characters", path=str(file))
    return text
