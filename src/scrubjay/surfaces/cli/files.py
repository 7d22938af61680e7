"""Commands that read and write files: export, import and backup."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.graph.jsonl import require_format
from scrubjay.model.requests import BackupRequest, ExportRequest
from scrubjay.model.results import Restored
from scrubjay.model.transfer import Imported
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import Make, bare, verb
from scrubjay.surfaces.cli.console import progress

app = typer.Typer()
backup_app = typer.Typer(help="Verified copies of the whole store.", no_args_is_help=True)
app.add_typer(backup_app, name="backup")

# The start of a line with a memory, in each format.
_MEMORY_LINES = ('{"memory"', '{"type":"entity"')

File = Annotated[Path, typer.Argument(help="The file.", show_default=False)]


@verb(app)
async def export_(
    client: MemoryClient,
    make: Make[ExportRequest],
    *,
    file: Annotated[Path, typer.Argument(help="Target file; `-` is standard output.")] = Path("-"),
    include: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="SECTIONS",
            help="Add sections, separated by commas: `documents` (rules, jobs and conflicts), `answers` (earlier "
            "results, by idempotency key) and `vectors` (the import embeds nothing again). Only the owner may import "
            "them.",
        ),
    ] = "",
) -> str | None:
    """Export all memories of the space as JSON Lines.

    An export has the whole history, or with `--format kg` the current knowledge graph. It has no tokens and no keys.
    """
    request = make(include=[name.strip() for name in include.split(",") if name.strip()])
    require_format(request.format)
    if str(file) == "-":
        async for line in client.export(format=request.format, include=request.include):
            typer.echo(line)
        return None
    partial = file.with_name(file.name + ".partial")
    count = 0
    with progress("exporting") as report, _report_write_errors(partial):
        with partial.open("w", encoding="utf-8") as target:
            async for line in client.export(format=request.format, include=request.include, progress=report):
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
        bool, typer.Option("--embed/--no-embed", help="Embed now, or leave it to `doctor --repair`.")
    ] = True,
) -> Imported:
    """Import memories from an export.

    A `memory.jsonl` of the reference knowledge-graph server is accepted too. Everything is checked before anything is
    stored.
    """
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}", hint="Check the path", path=str(file))
    with progress("importing") as report:
        try:
            return await client.import_lines(file, progress=report, embed=embed)
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{file} is not UTF-8 text at byte {error.start}",
                hint="Check that it is an export of Scrubjay",
                path=str(file),
            ) from None


@verb(backup_app)
async def backup_create(client: MemoryClient, make: Make[BackupRequest]) -> str:
    """Copy the store to a file while it is in use."""
    request = make()
    file = request.target
    if file.exists():
        raise InvalidInput(f"{file} exists already", hint="Choose another name", path=str(file))
    with progress("copying") as report, _report_write_errors(file):
        path = await client.call(request, progress=report)
    return f"backed up to {path} ({path.stat().st_size:,} bytes), verified"


@bare(backup_app, name="restore")
def backup_restore(
    settings: Settings,
    file: File,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing store; it is renamed, not deleted.")
    ] = False,
) -> Restored:
    """Replace the store with a backup.

    The previous store is renamed, not deleted.
    """
    # It opens stores directly; the other commands leave that to a daemon and need no such import.
    from scrubjay.app.restore import restore_backup  # noqa: PLC0415

    return restore_backup(settings, file.expanduser().absolute(), force=force)


@contextmanager
def _report_write_errors(file: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written: {error.strerror}", hint="Check the folder and its permissions", path=str(file)
        ) from error
