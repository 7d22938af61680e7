"""Commands over files: export, import, backup."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.graph.jsonl import FORMATS, require_format
from scrubjay.model.results import Restored
from scrubjay.model.transfer import Imported
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import bare, verb
from scrubjay.surfaces.cli.progress import progress

app = typer.Typer()
backup_app = typer.Typer(help="Copies of the whole store, made while it is in use and verified.", no_args_is_help=True)
app.add_typer(backup_app, name="backup")

# How a line begins that holds a memory: the kind that each format has first.
_MEMORY_LINES = ('{"memory"', '{"type":"entity"')

File = Annotated[Path, typer.Argument(help="The file.", show_default=False)]


@verb(app, name="export")
async def export_(
    client: MemoryClient,
    file: Annotated[Path, typer.Argument(help="Where to write; `-` is standard output.")] = Path("-"),
    *,
    format: Annotated[
        str,
        typer.Option(
            help="`scrubjay`: everything, with its history. `kg`: entities and relations as they are now, in the "
            "`memory.jsonl` of the reference knowledge-graph server."
        ),
    ] = FORMATS[0],
) -> str | None:
    """Write every memory of the space as JSON Lines, with its whole history or as a knowledge graph."""
    require_format(format)
    if str(file) == "-":
        async for line in client.export(format=format):
            typer.echo(line)
        return None
    partial = file.with_name(file.name + ".partial")
    count = 0
    with progress("exporting") as report, _writable(partial):
        with partial.open("w", encoding="utf-8") as target:
            async for line in client.export(format=format, progress=report):
                target.write(line + "\n")
                count += line.startswith(_MEMORY_LINES)
        partial.replace(file)
    return f"exported {count} memories to {file}"


@verb(app, name="import")
async def import_(
    client: MemoryClient,
    file: File,
    *,
    embed: Annotated[
        bool, typer.Option("--embed/--no-embed", help="Make vectors now, or leave it to `doctor --repair`.")
    ] = True,
) -> Imported:
    """Take in an export, or a `memory.jsonl` of the reference knowledge-graph server.

    Everything is checked before anything is stored.
    """
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}", hint="Check the path", path=str(file))
    with progress("importing") as report:
        try:
            return await client.import_lines(file, progress=report, embed=embed)
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{file} is not UTF-8 text at byte {error.start}", hint="Is it an export of Scrubjay?", path=str(file)
            ) from None


@verb(backup_app, name="create")
async def backup_create(client: MemoryClient, file: File) -> str:
    """Copy the store to a file while others go on using it."""
    if file.exists():
        raise InvalidInput(f"{file} is there already", hint="Choose another name", path=str(file))
    with progress("copying") as report, _writable(file):
        path = await client.backup(file, progress=report)
    return f"backed up to {path} ({path.stat().st_size:,} bytes), verified"


@bare(backup_app, name="restore")
def backup_restore(
    settings: Settings,
    file: File,
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace the store that is there; it is kept beside.")] = False,
) -> Restored:
    """Put a backup in place of the store. The store that was there is kept beside it."""
    # It knows the stores themselves, which the other commands leave to a daemon.
    from scrubjay.app.restore import restore_backup  # noqa: PLC0415

    return restore_backup(settings, file.expanduser().absolute(), force=force)


@contextmanager
def _writable(file: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written: {error.strerror}", hint="Check the folder and its permissions", path=str(file)
        ) from error
