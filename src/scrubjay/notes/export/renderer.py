"""Renders a note as a file of one of the formats, in this process or in a child process."""

import io
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.model.attachments import LARGEST_ATTACHMENT, Attachment
from scrubjay.model.snapshot import as_json, from_body
from scrubjay.notes.attachments.storage import AttachmentStorage, FileNames
from scrubjay.notes.export.exported import ExportedNote, NoteIndex
from scrubjay.notes.export.rows import csv_head, csv_rows, json_line
from scrubjay.notes.files.folder import Folder
from scrubjay.notes.markdown.format import render
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.notes.markdown.wiki import mentions
from scrubjay.workers import run_in_child

if TYPE_CHECKING:
    from scrubjay.notes.export.pdf import PdfDocument

__all__ = ["NoteRenderer", "render_in_child", "render_note"]

# The size limit of a file inlined into a standalone page.
_MAX_INLINED = 8_000_000
_TIMES = ("created_at", "updated_at", "last_reviewed")


class NoteRenderer:
    """Makes files of notes. With the folder of a vault, it uses the files of the notes and their attachments."""

    def __init__(self, root: Path | None) -> None:
        self._folder = Folder(root) if root is not None else None
        self.storage = AttachmentStorage(root, largest=LARGEST_ATTACHMENT) if root is not None else None
        self.names = FileNames(self.storage) if self.storage is not None else None

    def note_file(self, exported: ExportedNote) -> bytes:
        """Return the file of a note in the vault, or render it."""
        if self._folder is not None:
            try:
                return self._folder.read(exported.path)[1]
            except ScrubjayError:
                pass
        return render(exported.note)

    def with_equal_files(self, page: Sequence[ExportedNote]) -> list[ExportedNote]:
        """Return notes with an attachment for each name under which they embed the same bytes."""
        return [self._with_equal_files(exported) for exported in page]

    def _with_equal_files(self, exported: ExportedNote) -> ExportedNote:
        if self.names is None or self.storage is None:
            return exported
        by_hash = {attachment.sha256: attachment for attachment in exported.attachments}
        files = {attachment.file for attachment in exported.attachments}
        more: list[Attachment] = []
        for mention in mentions(exported.note.content) if by_hash else ():
            file = self.names.find(mention.target) if mention.embeds else None
            if file is None or file in files:
                continue
            files.add(file)
            with suppress(ScrubjayError):
                stored = self.storage.find(file)
                if stored is not None and stored.sha256 in by_hash:
                    more.append(replace(by_hash[stored.sha256], file=file))
        return replace(exported, attachments=(*exported.attachments, *more)) if more else exported

    def standalone_page(self, exported: ExportedNote, index: NoteIndex) -> bytes:
        """Return a note as an HTML page that needs no other file."""
        # Few exports need it, and the Markdown parser loads slowly.
        from scrubjay.notes.export.html import HtmlPages  # noqa: PLC0415

        return HtmlPages(index=index, inline=self._read_attachment).page(exported)

    def new_pdf(self, stream: BinaryIO, *, title: str, index: NoteIndex) -> "PdfDocument":
        """Begin a PDF; raises InvalidInput without reportlab."""
        try:
            from scrubjay.notes.export.pdf import PdfDocument  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise InvalidInput(
                "PDF export needs reportlab, which is not installed", hint="Run: pip install 'scrubjay[pdf]'",
                field="format",
            ) from error  # fmt: skip
        return PdfDocument(stream, title=title, index=index, read_attachment=self._read_attachment)

    def _read_attachment(self, attachment: Attachment) -> bytes | None:
        """Return the bytes of an attachment that is small enough to be part of a page."""
        if self.storage is None or attachment.bytes > _MAX_INLINED:
            return None
        try:
            with self.storage.open_file(attachment.file) as stream:
                data = stream.read(_MAX_INLINED + 1)
        except ScrubjayError:
            return None
        return data if len(data) <= _MAX_INLINED else None


def render_note(exported: ExportedNote, format: str, *, root: Path | None) -> tuple[bytes, tuple[str, ...]]:
    """Return a note as a file of a format, and warnings."""
    renderer = NoteRenderer(root)
    if format == "md":
        return renderer.note_file(exported), ()
    if format == "json":
        return f"{json_line(exported, indent=2)}\n".encode("utf-8", "replace"), ()
    if format == "csv":
        return f"{csv_head()}{csv_rows(exported)}".encode("utf-8", "replace"), ()
    index = NoteIndex()
    index.add(exported.memory, exported.path)
    if format == "html":
        return renderer.standalone_page(exported, index), ()
    stream = io.BytesIO()
    document = renderer.new_pdf(stream, title=exported.note.title, index=index)
    document.add(exported)
    document.close()
    return stream.getvalue(), document.warnings


async def render_in_child(exported: ExportedNote, format: str, *, root: Path | None) -> tuple[bytes, tuple[str, ...]]:
    """Do the same in a child process, which ends if the call is cancelled."""
    request = {
        "memory": as_json(exported.memory), "note": asdict(exported.note), "path": exported.path,
        "attachments": [asdict(attachment) for attachment in exported.attachments], "format": format, "root": root,
    }  # fmt: skip
    answer = await run_in_child(_render, json.dumps(request, default=_plain).encode())
    warnings, _, data = answer.partition(b"\n")
    return data, tuple(json.loads(warnings))


def _render(request: bytes) -> bytes:
    fields = cast("dict[str, Any]", json.loads(request))
    memory, note = fields["memory"], cast("dict[str, Any]", fields["note"])
    note |= {name: datetime.fromisoformat(note[name]) for name in _TIMES if note[name]}
    note |= {name: tuple(note[name]) for name in ("tags", "links", "observations")}
    note["linked"] = tuple(Link(**link) for link in note["linked"])
    exported = ExportedNote(
        memory=from_body(memory, memory_id=memory["id"], space=memory["space"], version=memory["version"]),
        note=Note(**note),
        path=fields["path"],
        attachments=tuple(Attachment(**attachment) for attachment in fields["attachments"]),
    )
    root = Path(fields["root"]) if fields["root"] is not None else None
    data, warnings = render_note(exported, fields["format"], root=root)
    return json.dumps(warnings).encode() + b"\n" + data


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
