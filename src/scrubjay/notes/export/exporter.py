"""Export one note or many, page by page, so that at most one page of notes is in memory."""

import asyncio
import io
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, NotFound, ScrubjayError
from scrubjay.model.draft import Caller
from scrubjay.notes.attachments.results import LARGEST_ATTACHMENT, Attachment
from scrubjay.notes.attachments.storage import AttachmentStorage
from scrubjay.notes.export.pages import ExportedNote, NoteReader, NoteIndex
from scrubjay.notes.export.results import MEDIA, NotesExported, NoteDownload, require_format
from scrubjay.notes.export.rows import csv_head, csv_rows, json_line
from scrubjay.notes.export.sinks import FileSink, open_file_sink, open_target
from scrubjay.notes.files.folder import Folder
from scrubjay.notes.markdown.format import render
from scrubjay.notes.markdown.naming import link_target
from scrubjay.notes.requests import NotesSelection
from scrubjay.ports import Progress

if TYPE_CHECKING:
    from scrubjay.notes.export.pdf import PdfDocument
    from scrubjay.notes.vault import Vault

__all__ = ["Exporter"]

T = TypeVar("T")
RenderText = Callable[[ExportedNote], str]
RenderBytes = Callable[[ExportedNote], bytes]
End = Callable[[], str]
_LINES = ".jsonl"
_WEB = (".html", ".htm")
# The size limit of a file inlined into a standalone page.
_MOST_INLINED = 8_000_000
_MOST_NAMED = 10
_NO_PDF = "PDF export needs reportlab, which is not installed"


@dataclass(slots=True, kw_only=True)
class _Done:
    """The progress of an export."""

    notes: int = 0
    files: set[str] = field(default_factory=set[str])
    warnings: list[str] = field(default_factory=list[str])


class Exporter:
    """Exports notes of one space. With a vault, it uses the files of the notes and includes their attachments."""

    def __init__(self, engine: Engine, *, who: Caller, vault: "Vault | None" = None) -> None:
        self._vault = vault
        self._leaves = NoteReader(engine, who=replace(who, also=()), paths=self._paths)
        self._folder = Folder(vault.root) if vault is not None else None
        self._storage = AttachmentStorage(vault.root, largest=LARGEST_ATTACHMENT) if vault is not None else None

    async def export(
        self, wanted: NotesSelection, *, format: str, target: Path, progress: Progress | None = None
    ) -> NotesExported:
        """Write notes to a file, a folder or a .zip, depending on the name of the target."""
        chosen = require_format(format)
        await asyncio.to_thread(_require_place, target)
        self._require_outside(target)
        ids = await self._leaves.ids(wanted)
        is_one = len(wanted.refs) == 1
        done = _Done()
        writers = {"md": self._markdown, "json": self._json, "csv": self._csv, "html": self._html, "pdf": self._pdf}
        await writers[chosen](ids, target, done, is_one=is_one, tell=progress or _silent)
        size = await asyncio.to_thread(_size, target)
        return NotesExported(
            format=chosen, target=str(target), notes=done.notes, files=len(done.files), bytes=size,
            warnings=tuple(dict.fromkeys(done.warnings)),
        )  # fmt: skip

    async def sheaf(self, ref: str, *, format: str) -> NoteDownload:
        """Return one note as a file for download."""
        chosen = require_format(format)
        ids = await self._leaves.ids(NotesSelection(refs=(ref,)))
        async for leaf in self._each(ids, _Done(), _silent):
            data, warnings = await asyncio.to_thread(self._alone, leaf, chosen)
            name = f"{link_target(leaf.path).rpartition('/')[2]}.{chosen}"
            return NoteDownload(name=name, media_type=MEDIA[chosen], data=data, warnings=warnings)
        raise NotFound(f"{ref[:100]!r} is not a note", hint="Download an attachment as it is")

    def _require_outside(self, target: Path) -> None:
        if self._vault is not None and target.parent.resolve().is_relative_to(self._vault.root):
            raise InvalidInput(
                f"{target} is in the folder of notes: the export would become new notes", hint="Choose another folder",
                field="target",
            )  # fmt: skip

    def _alone(self, leaf: ExportedNote, format: str) -> tuple[bytes, tuple[str, ...]]:
        if format == "md":
            return self._file_of(leaf), ()
        if format == "json":
            return f"{json_line(leaf, indent=2)}\n".encode("utf-8", "replace"), ()
        if format == "csv":
            return f"{csv_head()}{csv_rows(leaf)}".encode("utf-8", "replace"), ()
        register = NoteIndex()
        register.add(leaf.memory, leaf.path)
        if format == "html":
            return self._lone_page(leaf, register), ()
        stream = io.BytesIO()
        book = self._book(stream, title=leaf.note.title, register=register)
        book.add(leaf)
        book.close()
        return stream.getvalue(), book.warnings

    async def _markdown(
        self, ids: Sequence[str], target: Path, done: _Done, *, is_one: bool, tell: Progress
    ) -> None:  # fmt: skip
        if is_one and target.suffix.lower() == ".md":
            await self._write_single(ids, target, done, tell, self._file_of)
            return
        async with _in_thread(open_file_sink(target)) as box:
            async for page in self._pages(ids, done, tell):
                await asyncio.to_thread(self._put_files, box, page, done, "")

    async def _json(self, ids: Sequence[str], target: Path, done: _Done, *, is_one: bool, tell: Progress) -> None:
        if target.suffix.lower() == _LINES or (not is_one and target.suffix.lower() != ".json"):
            await self._write_text(ids, target, done, tell, lambda leaf: f"{json_line(leaf)}\n")
        elif is_one:
            await self._write_text(ids, target, done, tell, lambda leaf: f"{json_line(leaf, indent=2)}\n")
        else:
            first = True

            def item(leaf: ExportedNote) -> str:
                nonlocal first
                lead, first = "[\n" if first else ",\n", False
                return lead + json_line(leaf)

            await self._write_text(ids, target, done, tell, item, end=lambda: "[]\n" if first else "\n]\n")

    async def _csv(self, ids: Sequence[str], target: Path, done: _Done, *, is_one: bool, tell: Progress) -> None:
        del is_one
        await self._write_text(ids, target, done, tell, csv_rows, head=csv_head())

    async def _html(self, ids: Sequence[str], target: Path, done: _Done, *, is_one: bool, tell: Progress) -> None:
        # Few exports need it, and the Markdown parser loads slowly.
        from scrubjay.notes.export.html import FILES, STYLE, STYLE_FILE, HtmlPages, page_of  # noqa: PLC0415

        if target.suffix.lower() in _WEB:
            if not is_one:
                raise InvalidInput(
                    f"a single HTML file cannot hold {len(ids):,} notes", hint="Name a folder or a .zip", field="target"
                )
            register = await self._leaves.register(ids)
            await self._write_single(ids, target, done, tell, lambda leaf: self._lone_page(leaf, register))
            return
        pages = HtmlPages(register=await self._leaves.register(ids), files=done.files)
        async with _in_thread(open_file_sink(target)) as box:

            def put(page: Sequence[ExportedNote]) -> None:
                # Files come first: a page links only those that were exported.
                self._put_attachments(box, page, done, FILES)
                for leaf in page:
                    box.put(page_of(leaf.path), pages.page(leaf), at=leaf.note.updated_at)

            async for page in self._pages(ids, done, tell):
                await asyncio.to_thread(put, page)
            box.put(STYLE_FILE, STYLE.encode())
            box.put("index.html", pages.index(title="Notes"))
        if pages.missing:
            names = ", ".join(sorted(pages.missing)[:_MOST_NAMED])
            done.warnings.append(f"the targets of {len(pages.missing)} links were not exported: {names}")

    async def _pdf(self, ids: Sequence[str], target: Path, done: _Done, *, is_one: bool, tell: Progress) -> None:
        register = await self._leaves.register(ids)
        titles = [entry.title for entry in register.entries.values()]
        async with _in_thread(open_target(target)) as stream:
            title = titles[0] if is_one and titles else "Notes"
            book = await asyncio.to_thread(self._book, stream, title=title, register=register)

            def add(page: Sequence[ExportedNote]) -> None:
                for leaf in page:
                    book.add(leaf)

            async for page in self._pages(ids, done, tell):
                await asyncio.to_thread(add, page)
            await asyncio.to_thread(book.close)
        done.warnings += book.warnings

    async def _write_text(
        self,
        ids: Sequence[str],
        target: Path,
        done: _Done,
        tell: Progress,
        render_text: RenderText,
        *,
        head: str = "",
        end: End = lambda: "",
    ) -> None:
        """Write the notes one after the other into one text file."""
        async with _in_thread(open_target(target)) as stream:

            def write(page: Sequence[ExportedNote]) -> None:
                stream.writelines(render_text(leaf).encode("utf-8", "replace") for leaf in page)

            stream.write(head.encode())
            async for page in self._pages(ids, done, tell):
                await asyncio.to_thread(write, page)
            stream.write(end().encode())

    async def _write_single(
        self, ids: Sequence[str], target: Path, done: _Done, tell: Progress, render_bytes: RenderBytes
    ) -> None:  # fmt: skip
        async with _in_thread(open_target(target)) as stream:
            async for leaf in self._each(ids, done, tell):
                stream.write(await asyncio.to_thread(render_bytes, leaf))

    async def _pages(self, ids: Sequence[str], done: _Done, tell: Progress) -> AsyncGenerator[list[ExportedNote]]:
        tell(0, len(ids))
        async for page in self._leaves.pages(ids):
            yield page
            done.notes += len(page)
            tell(done.notes, len(ids))

    async def _each(self, ids: Sequence[str], done: _Done, tell: Progress) -> AsyncGenerator[ExportedNote]:
        async for page in self._pages(ids, done, tell):
            for leaf in page:
                yield leaf

    async def _paths(self, ids: Sequence[str]) -> Mapping[str, str]:
        if self._vault is None or not ids:
            return {}
        root = self._vault.root
        return {item: path.relative_to(root).as_posix() for item, path in (await self._vault.paths_of(ids)).items()}

    def _put_files(self, box: FileSink, page: Sequence[ExportedNote], done: _Done, prefix: str) -> None:
        for leaf in page:
            box.put(leaf.path, self._file_of(leaf), at=leaf.note.updated_at)
        self._put_attachments(box, page, done, prefix)

    def _file_of(self, leaf: ExportedNote) -> bytes:
        """Return the file of a note in the vault, or render it."""
        if self._folder is not None:
            try:
                return self._folder.read(leaf.path)[1]
            except ScrubjayError:
                pass
        return render(leaf.note)

    def _put_attachments(self, box: FileSink, page: Sequence[ExportedNote], done: _Done, prefix: str) -> None:
        """Add the attachments of some notes, each file once."""
        for attachment in (embedded for leaf in page for embedded in leaf.embedded):
            if attachment.file in done.files or self._storage is None:
                continue
            try:
                with self._storage.opened(attachment.file) as stream:
                    box.pour(f"{prefix}/{attachment.file}" if prefix else attachment.file, stream)
            except ScrubjayError as error:
                done.warnings.append(f"{attachment.file} was not exported: {error.message}")
                continue
            done.files.add(attachment.file)

    def _lone_page(self, leaf: ExportedNote, register: NoteIndex) -> bytes:
        from scrubjay.notes.export.html import HtmlPages  # noqa: PLC0415 - as above

        return HtmlPages(register=register, inlined=self._bytes).page(leaf)

    def _bytes(self, attachment: Attachment) -> bytes | None:
        if self._storage is None or attachment.bytes > _MOST_INLINED:
            return None
        try:
            with self._storage.opened(attachment.file) as stream:
                data = stream.read(_MOST_INLINED + 1)
        except ScrubjayError:
            return None
        return data if len(data) <= _MOST_INLINED else None

    def _book(self, stream: BinaryIO, *, title: str, register: NoteIndex) -> "PdfDocument":
        try:
            from scrubjay.notes.export.pdf import PdfDocument  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise InvalidInput(_NO_PDF, hint="Run: pip install 'scrubjay[pdf]'", field="format") from error
        return PdfDocument(stream, title=title, register=register, bytes_of=self._bytes)


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


def _require_place(target: Path) -> None:
    if not target.parent.is_dir():
        raise InvalidInput(
            f"there is no folder {target.parent}", hint="Create it first", path=str(target), field="target"
        )


def _size(target: Path) -> int:
    files = target.rglob("*") if target.is_dir() else iter((target,))
    return sum(file.stat().st_size for file in files if file.is_file())


def _silent(done: int, total: int) -> None:
    del done, total
