"""Notes as JSON objects and CSV rows."""

import csv
import io
import json
from collections.abc import Iterable

from scrubjay.model.memory import Json
from scrubjay.model.timestamps import to_iso
from scrubjay.notes.export.exported import ExportedNote

__all__ = ["COLUMNS", "csv_head", "csv_rows", "escape_formula", "json_line", "json_of"]

COLUMNS = (
    "id", "title", "category", "tags", "created_at", "updated_at", "last_reviewed", "links", "content"
)  # fmt: skip
# Characters that begin a spreadsheet formula, in normal and full width.
_ACTIVE = tuple("=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - these, too, begin a formula


def json_of(exported: ExportedNote) -> dict[str, Json]:
    """Return a note as a JSON object."""
    note = exported.note
    return {
        "id": note.id,
        "title": note.title,
        "category": note.category,
        "kind": exported.memory.kind,
        "tags": list(note.tags),
        "pinned": note.pinned,
        "created_at": to_iso(note.created_at) if note.created_at else None,
        "updated_at": to_iso(note.updated_at) if note.updated_at else None,
        "last_reviewed": to_iso(note.last_reviewed) if note.last_reviewed else None,
        "links": list(note.links),
        "content": note.content,
        "observations": list(note.observations),
        "frontmatter": note.extra,
        "file": exported.path,
        "version": exported.memory.version,
        "attachments": [
            {"file": item.file, "media_type": item.media_type, "bytes": item.bytes, "sha256": item.sha256,
             "caption": item.caption}
            for item in exported.attachments
        ],
    }  # fmt: skip


def json_line(exported: ExportedNote, *, indent: int | None = None) -> str:
    """Return a note as JSON text."""
    return json.dumps(json_of(exported), ensure_ascii=False, indent=indent)


def csv_head() -> str:
    """Return the header row."""
    return _row(COLUMNS)


def csv_rows(exported: ExportedNote) -> str:
    """Return a note as a row, with cells escaped against formula injection."""
    fields = json_of(exported)
    cells = {name: fields[name] for name in COLUMNS}
    cells |= {
        name: ", ".join(map(str, values)) for name in ("tags", "links") if isinstance(values := fields[name], list)
    }
    return _row(escape_formula("" if value is None else str(value)) for value in cells.values())


def escape_formula(cell: str) -> str:
    """Prefix a cell that looks like a formula with an apostrophe, so that no spreadsheet computes it."""
    return f"'{cell}" if cell.startswith(_ACTIVE) else cell


def _row(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
