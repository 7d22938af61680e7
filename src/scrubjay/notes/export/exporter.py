"""Export one or many notes, page by page, so that at most one page of notes is in memory."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, NotFound, ScrubjayError
from scrubjay.model.caller import Caller
from scrubjay.model.notes import EXPORT_MEDIA_TYPES, NoteDownload, NotesExported, require_export_format
from scrubjay.model.requests import ExportNotesRequest
from scrubjay.notes.export.exported import ExportedNote
from scrubjay.notes.export.pages import NoteReader
from scrubjay.notes.export.renderer import NoteRenderer, render_in_child, render_note
from scrubjay.notes.export.rows import csv_head, csv_rows, json_line
from scrubjay.notes.export.sinks import FileSink, open_file_sink, open_target
from scrubjay.notes.markdown.naming import link_target
from scrubjay.ports import Progress
from scrubjay.workers import run_in_thread

if TYPE_CHECKING:
    from scrubjay.notes.vault import Vault

__all__ = ["Exporter"]

T = TypeVar("T")
_LINES = ".jsonl"
_HTML = (".html", ".htm")
# A long note takes minutes in these formats.
_HEAVY_FORMATS = ("html", "pdf")
_MAX_LISTED = 10


@dataclass(slots=True, kw_only=True)
class _Job:
    """An export: the notes and the target, with the number of exported notes, the exported files and warnings."""

    ids: Sequence[str]
    target: Path
    is_single: bool
    progress: Progress | None = None
    notes: int = 0
    files: set[str] = field(default_factory=set[str])
    warnings: list[str] = field(default_factory=list[str])

    @property
    def suffix(self) -> str:
        """The extension of the target, in lower case."""
        return self.target.suffix.lower()

    def add(self, count: int) -> None:
        """Count exported notes and report the progress."""
        self.notes += count
        if self.progress is not None:
            self.progress(self.notes, len(self.ids))


class Exporter:
    """Exports notes of one space. With a vault, it uses the files of the notes and includes their attachments."""

    def __init__(self, engine: Engine, *, who: Caller, vault: "Vault | None" = None) -> None:
        self._vault = vault
        self._reader = NoteReader(engine, who=replace(who, also=()), paths=self._paths)
        self._renderer = NoteRenderer(vault.root if vault is not None else None)

    async def export(
        self, request: ExportNotesRequest, *, progress: Progress | None = None
    ) -> NotesExported:  # fmt: skip
        """Write notes to a file, a folder or a .zip, depending on the name of the target."""
        target = request.target
        await asyncio.to_thread(self._require_valid, target)
        ids = await self._reader.ids(request.refs, category=request.category, tags=request.tags)
        job = _Job(ids=ids, target=target, is_single=len(request.refs) == 1, progress=progress)
        writers = {"md": self._markdown, "json": self._json, "csv": self._csv, "html": self._html, "pdf": self._pdf}
        await writers[request.format](job)
        size = await asyncio.to_thread(_size, target)
        return NotesExported(
            format=request.format, target=str(target), notes=job.notes, files=len(job.files), bytes=size,
            warnings=tuple(dict.fromkeys(job.warnings)),
        )  # fmt: skip

    async def download(self, ref: str, *, format: str) -> NoteDownload:
        """Return one note as a file for download."""
        chosen = require_export_format(format)
        ids = await self._reader.ids((ref,))
        async for page in self._reader.pages(ids):
            for exported in page:
                root = self._vault.root if self._vault is not None else None
                if chosen in _HEAVY_FORMATS:
                    # Only a child process can be stopped with its request.
                    data, warnings = await render_in_child(exported, chosen, root=root)
                else:
                    data, warnings = await run_in_thread(render_note, exported, chosen, root=root)
                name = f"{link_target(exported.path).rpartition('/')[2]}.{chosen}"
                return NoteDownload(name=name, media_type=EXPORT_MEDIA_TYPES[chosen], data=data, warnings=warnings)
        raise NotFound(f"{ref[:100]!r} is not a note", hint="Download an attachment as it is")

    def _require_valid(self, target: Path) -> None:
        if not target.parent.is_dir():
            raise InvalidInput(
                f"there is no folder {target.parent}", hint="Create it first", path=str(target), field="target"
            )
        if self._vault is not None and target.parent.resolve().is_relative_to(self._vault.root):
            raise InvalidInput(
                f"{target} is in the folder of notes: the export would become new notes", hint="Choose another folder",
                field="target",
            )  # fmt: skip

    async def _markdown(self, job: _Job) -> None:
        if job.is_single and job.suffix == ".md":
            await self._write_stream(job, self._renderer.note_file)
            return
        async with _in_thread(open_file_sink(job.target)) as sink:

            def write(page: Sequence[ExportedNote]) -> None:
                for exported in page:
                    sink.write(exported.path, self._renderer.note_file(exported), at=exported.note.updated_at)
                self._copy_attachments(sink, page, job)

            async for page in self._pages(job):
                await asyncio.to_thread(write, page)

    async def _json(self, job: _Job) -> None:
        if job.suffix == _LINES or (not job.is_single and job.suffix != ".json"):
            await self._write_text(job, lambda exported: f"{json_line(exported)}\n")
        elif job.is_single:
            await self._write_text(job, lambda exported: f"{json_line(exported, indent=2)}\n")
        else:
            is_first = True

            def item(exported: ExportedNote) -> str:
                nonlocal is_first
                lead, is_first = "[\n" if is_first else ",\n", False
                return lead + json_line(exported)

            await self._write_text(job, item, end=lambda: "[]\n" if is_first else "\n]\n")

    async def _csv(self, job: _Job) -> None:
        await self._write_text(job, csv_rows, head=csv_head())

    async def _html(self, job: _Job) -> None:
        # Few exports need it, and the Markdown parser loads slowly.
        from scrubjay.notes.export.html import FILES, STYLE, STYLE_FILE, HtmlPages, page_of  # noqa: PLC0415

        if job.suffix in _HTML and not job.is_single:
            raise InvalidInput(
                f"a single HTML file cannot hold {len(job.ids):,} notes", hint="Name a folder or a .zip",
                field="target",
            )  # fmt: skip
        index = await self._reader.index(job.ids)
        if job.suffix in _HTML:
            await self._write_stream(job, lambda exported: self._renderer.standalone_page(exported, index))
            return
        pages = HtmlPages(index=index, files=job.files)
        async with _in_thread(open_file_sink(job.target)) as sink:

            def write(page: Sequence[ExportedNote]) -> None:
                # Files come first: a page links only those that were exported.
                self._copy_attachments(sink, page, job, prefix=f"{FILES}/")
                for exported in page:
                    sink.write(page_of(exported.path), pages.page(exported), at=exported.note.updated_at)

            async for page in self._pages(job):
                await asyncio.to_thread(write, page)
            sink.write(STYLE_FILE, STYLE.encode())
            sink.write("index.html", pages.table_of_contents(title="Notes"))
        if pages.missing:
            names = ", ".join(sorted(pages.missing)[:_MAX_LISTED])
            job.warnings.append(f"the targets of {len(pages.missing)} links were not exported: {names}")

    async def _pdf(self, job: _Job) -> None:
        index = await self._reader.index(job.ids)
        titles = [entry.title for entry in index.entries.values()]
        async with _in_thread(open_target(job.target)) as stream:
            title = titles[0] if job.is_single and titles else "Notes"
            document = await asyncio.to_thread(self._renderer.new_pdf, stream, title=title, index=index)

            def add(page: Sequence[ExportedNote]) -> None:
                for exported in page:
                    document.add(exported)

            async for page in self._pages(job):
                await asyncio.to_thread(add, page)
            await asyncio.to_thread(document.close)
        job.warnings += document.warnings

    async def _write_text(
        self, job: _Job, render_text: Callable[[ExportedNote], str], *, head: str = "", end: Callable[[], str] = str
    ) -> None:
        """Write all notes into one text file."""
        await self._write_stream(
            job,
            lambda exported: render_text(exported).encode("utf-8", "replace"),
            head=head.encode(),
            end=lambda: end().encode(),
        )

    async def _write_stream(
        self,
        job: _Job,
        render_bytes: Callable[[ExportedNote], bytes],
        *,
        head: bytes = b"",
        end: Callable[[], bytes] = bytes,
    ) -> None:
        """Write all notes into one file."""
        async with _in_thread(open_target(job.target)) as stream:

            def write(page: Sequence[ExportedNote]) -> None:
                stream.writelines(render_bytes(exported) for exported in page)

            stream.write(head)
            async for page in self._pages(job):
                await asyncio.to_thread(write, page)
            stream.write(end())

    async def _pages(self, job: _Job) -> AsyncGenerator[list[ExportedNote]]:
        job.add(0)
        async for page in self._reader.pages(job.ids):
            yield await asyncio.to_thread(self._renderer.with_equal_files, page)
            job.add(len(page))

    async def _paths(self, ids: Sequence[str]) -> Mapping[str, str]:
        if self._vault is None or not ids:
            return {}
        root = self._vault.root
        return {id_: path.relative_to(root).as_posix() for id_, path in (await self._vault.paths_of(ids)).items()}

    def _copy_attachments(self, sink: FileSink, page: Sequence[ExportedNote], job: _Job, *, prefix: str = "") -> None:
        """Add the attachments of a page of notes, each file once."""
        for attachment in (attachment for exported in page for attachment in exported.attachments):
            if attachment.file in job.files or self._renderer.storage is None:
                continue
            try:
                with self._renderer.storage.open_file(attachment.file) as stream:
                    sink.copy(f"{prefix}{attachment.file}", stream)
            except ScrubjayError as error:
                job.warnings.append(f"{attachment.file} was not exported: {error.message}")
                continue
            job.files.add(attachment.file)


@asynccontextmanager
async def _in_thread(manager: AbstractContextManager[T]) -> AsyncGenerator[T]:
    """Enter and exit a context manager in a thread, without blocking the event loop."""
    with ExitStack() as stack:
        resource = await asyncio.to_thread(stack.enter_context, manager)
        closing = stack.pop_all()
    try:
        yield resource
    except BaseException as error:
        await asyncio.to_thread(closing.__exit__, type(error), error, error.__traceback__)
        raise
    await asyncio.to_thread(closing.close)


def _size(target: Path) -> int:
    files = target.rglob("*") if target.is_dir() else iter((target,))
    return sum(file.stat().st_size for file in files if file.is_file())
