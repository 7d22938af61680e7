"""Commands that read and write files: export, import and backup."""

import asyncio
import json
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, cast

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import Ambiguous, BodyDamaged, Conflict, InvalidInput, NotFound, ScrubjayError, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json, Method, Trust
from scrubjay.model.requests import BackupRequest, ExportRequest, ImportRequest, RememberManyRequest
from scrubjay.model.results import Restored
from scrubjay.model.transfer import Imported
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import DryRun, Make, bare, verb
from scrubjay.surfaces.cli.console import progress

app = typer.Typer()
backup_app = typer.Typer(help="Verified copies of the whole store.", no_args_is_help=True)
app.add_typer(backup_app, name="backup")

# What one request has: it must fit into a message, and its results are waited for.
_BATCH_LINES = 500
_BATCH_BYTES = 4_000_000
_MAX_FAILED_LINES = 20
_IMPORTED: Json = {"method": Method.IMPORT.value, "trust": Trust.USER.value}
# The start of a line with a memory, in each format.
_HEADER = '{"scrubjay"'
_MEMORY_LINES = ('{"memory"', '{"type":"entity"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """An export, and the memories of which it lacks damaged versions, with the reason."""

    memories: int
    file: str
    damaged: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """Whether nothing is missing."""
        return not self.damaged

    def __str__(self) -> str:
        lines = [f"  damaged: {memory_id} {why}" for memory_id, why in self.damaged.items()]
        return "\n".join([f"exported {self.memories} memories to {self.file}", *lines])


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
) -> Exported | None:
    """Export all memories of the space as JSON Lines.

    An export has the whole history, or with `--format kg` the current knowledge graph. It has no tokens and no keys.
    Versions whose stored bytes are damaged are left out and named, and the exit code is 1.
    """
    request = make(include=[name.strip() for name in include.split(",") if name.strip()])
    damaged: dict[str, str] = {}
    if str(file) == "-":
        async for line in client.export(format=request.format, include=request.include):
            typer.echo(line)
            damaged |= _damage_in(line)
        if damaged:
            raise BodyDamaged(f"the export is not complete: {_first(damaged)}", damaged=len(damaged))
        return None
    partial = file.with_name(file.name + ".partial")
    count = 0
    with progress("exporting") as report, _report_write_errors(partial), _removed_if_interrupted(partial):
        with partial.open("w", encoding="utf-8") as target:
            async for line in client.export(format=request.format, include=request.include, progress=report):
                target.write(line + "\n")
                count += line.startswith(_MEMORY_LINES)
                damaged |= _damage_in(line)
        partial.replace(file)
    return Exported(memories=count, file=str(file), damaged=damaged)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedLine:
    """A line that was not stored, and why."""

    line: int
    message: str
    field: str = ""

    def __str__(self) -> str:
        return f"line {self.line:,}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsImported:
    """The texts of a file: how many were created, merged and so on, and the lines that were not stored."""

    lines: int
    counts: Mapping[str, int]
    failed: tuple[FailedLine, ...] = ()
    dry_run: bool = False

    @property
    def ok(self) -> bool:
        """Whether every line was stored."""
        return not self.failed

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {action}" for action, count in sorted(self.counts.items()))
        total = f"{sum(self.counts.values()):,} of {self.lines:,} lines" if self.failed else f"{self.lines:,} lines"
        shown = [f"  {line}" for line in self.failed[:_MAX_FAILED_LINES]]
        if len(self.failed) > _MAX_FAILED_LINES:
            shown.append(f"  and {len(self.failed) - _MAX_FAILED_LINES:,} more; --json shows all")
        head = f"{'would import' if self.dry_run else 'imported'} {total}" + (f": {counts}" if counts else "")
        return "\n".join([head, *([f"not stored: {len(self.failed):,}", *shown] if self.failed else [])])


@verb(app, begins=True)
async def import_(
    client: MemoryClient,
    make: Make[ImportRequest],
    *,
    file: File,
    embed: Annotated[
        bool, typer.Option("--embed/--no-embed", help="Embed now, or leave it to `doctor --repair`.")
    ] = True,
    atomic: Annotated[bool, typer.Option("--atomic", help="Store all texts, or none if one is invalid.")] = False,
    dry_run: DryRun = False,
) -> Imported | TextsImported:
    """Import memories from an export, or texts from JSON Lines.

    A `memory.jsonl` of the reference knowledge-graph server is accepted too. Everything is checked before anything is
    stored. A file of texts has the arguments of `remember` in each line, such as {"text": "…", "tags": ["…"]}; its
    valid lines are stored, the others are listed, and the exit code is 1. --atomic and --dry-run are for texts.
    """
    make()
    if not file.is_file():
        # It is read more than once, so that everything is checked before anything is stored.
        hint = "Check the path; a folder, a pipe and standard input are no files"
        raise InvalidInput(f"there is no file {file}", hint=hint, path=str(file))
    if _has_texts(file):
        return await _import_texts(client, file, atomic=atomic, dry_run=dry_run)
    if atomic or dry_run:
        raise InvalidInput(
            f"{file} is no file of texts, for which --atomic and --dry-run are",
            hint="An import of other files checks everything before it stores anything",
            path=str(file),
        )
    with progress("importing") as report:
        try:
            return await client.import_lines(file, progress=report, embed=embed)
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{file} is not UTF-8 text at byte {error.start}",
                hint="Save it as UTF-8, and check that it is an export of Scrubjay or JSON Lines",
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


def _damage_in(line: str) -> dict[str, str]:
    """Return the memories that a line of an export names as damaged."""
    if not line.startswith(_HEADER) or '"damaged"' not in line:
        return {}
    damaged: dict[str, str] = json.loads(line)["damaged"]
    return damaged


def _first(damaged: Mapping[str, str]) -> str:
    memory_id, why = next(iter(damaged.items()))
    return f"{memory_id} {why}" + (f" and {len(damaged) - 1} more" if len(damaged) > 1 else "")


@contextmanager
def _removed_if_interrupted(file: Path) -> Generator[None]:
    try:
        yield
    except (asyncio.CancelledError, KeyboardInterrupt):
        file.unlink(missing_ok=True)
        raise


@contextmanager
def _report_write_errors(file: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written: {error.strerror}", hint="Check the folder and its permissions", path=str(file)
        ) from error


class _TextImport:
    """Stores the texts of a file, and collects what became of its lines."""

    def __init__(self, client: MemoryClient, file: Path) -> None:
        self._client = client
        self._file = file
        self.lines = 0
        self.counts: Counter[str] = Counter()
        self.failed: list[FailedLine] = []

    async def store(self, *, dry_run: bool) -> None:
        """Store every line that is valid."""
        with self._file.open("rb") as stream:
            total = sum(1 for _ in stream)
        with progress("importing") as report:
            for items in self._batches(most=_BATCH_LINES):
                try:
                    await self._remember(items, dry_run=dry_run)
                except ScrubjayError as error:
                    where = f"from line {items[0][0]:,} on nothing was stored"
                    raise type(error)(f"{error.message}; {where}", hint=error.hint, **error.fields) from None
                report(self.lines, total)

    async def store_all_or_none(self, *, dry_run: bool) -> None:
        """Store all lines, or only say why not."""
        items = [item for batch in self._batches(most=_BATCH_LINES) for item in batch]
        if not self.failed:
            try:
                await self._remember(items, dry_run=dry_run, atomic=True)
            except TooLarge:
                raise
            except (InvalidInput, NotFound, Ambiguous, Conflict):
                # It names only the first of them.
                await self._remember(items, dry_run=True)
            else:
                return
        else:
            await self._remember(items, dry_run=True)
        self.counts.clear()

    def _batches(self, *, most: int) -> Iterator[list[tuple[int, Mapping[str, Json]]]]:
        batch: list[tuple[int, Mapping[str, Json]]] = []
        size = 0
        with self._file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.strip():
                    continue
                self.lines += 1
                try:
                    batch.append((number, _parse_text(line)))
                except InvalidInput as error:
                    self.failed.append(FailedLine(line=number, message=str(error)))
                size += len(line)
                if len(batch) >= most or size > _BATCH_BYTES:
                    yield batch
                    batch, size = [], 0
        if batch:
            yield batch

    async def _remember(
        self, items: Sequence[tuple[int, Mapping[str, Json]]], *, dry_run: bool, atomic: bool = False
    ) -> None:
        request = RememberManyRequest(items=tuple(item for _, item in items), atomic=atomic, dry_run=dry_run)
        result = await self._client.call(request)
        for (line, _), item in zip(items, result.items, strict=True):
            if item.error is not None:
                message = f"{item.error.message}. {item.error.hint}" if item.error.hint else item.error.message
                self.failed.append(FailedLine(line=line, message=message, field=item.error.field))
            elif item.result is not None and item.result.action == "rejected":
                reasons = item.result.warnings or tuple(step.why for step in item.result.trace[-1:])
                self.failed.append(FailedLine(line=line, message=f"rejected: {'; '.join(reasons)}"))
            elif item.result is not None:
                self.counts[item.result.action] += 1


async def _import_texts(client: MemoryClient, file: Path, *, atomic: bool, dry_run: bool) -> TextsImported:
    texts = _TextImport(client, file)
    await (texts.store_all_or_none(dry_run=dry_run) if atomic else texts.store(dry_run=dry_run))
    failed = tuple(sorted(texts.failed, key=lambda failed: failed.line))
    return TextsImported(lines=texts.lines, counts=dict(texts.counts), failed=failed, dry_run=dry_run)


def _has_texts(file: Path) -> bool:
    """Return whether the first line has the arguments of `remember`."""
    with file.open("rb") as stream:
        first = next((line for line in stream if line.strip()), b"")
    try:
        fields = _parse_text(first)
    except InvalidInput:
        return False
    is_entity = {"name", "entityType"} <= fields.keys()
    return not is_entity and not {"scrubjay", "memory"} & fields.keys() and bool({"text", "content"} & fields.keys())


def _parse_text(line: bytes) -> dict[str, Json]:
    try:
        value: object = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8 text at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInput("not an object with the arguments of remember")
    return {"source": _IMPORTED, **cast("dict[str, Json]", value)}
