"""Export formats and results."""

from dataclasses import dataclass

from scrubjay.errors import InvalidInput

__all__ = ["FORMATS", "MEDIA", "NotesExported", "NoteDownload", "require_format"]

FORMATS = ("md", "json", "csv", "html", "pdf")
MEDIA = {
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "pdf": "application/pdf",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesExported:
    """The result of an export: the target, and the numbers of notes and attachments."""

    format: str
    target: str
    notes: int
    files: int = 0
    bytes: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteDownload:
    """One note as a file for download."""

    name: str
    media_type: str
    data: bytes
    warnings: tuple[str, ...] = ()


def require_format(format: str) -> str:
    """Return a valid format name; `markdown` becomes `md`."""
    chosen = "md" if format == "markdown" else format
    if chosen not in FORMATS:
        raise InvalidInput(f"format must be one of {', '.join(FORMATS)}, not {str(format)[:60]!r}", field="format")
    return chosen
