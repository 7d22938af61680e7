"""The results of the note verbs, and the formats of exports."""

from datetime import datetime

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.results import Similar

__all__ = [
    "EXPORT_FORMATS",
    "EXPORT_MEDIA_TYPES",
    "Backlink",
    "Backlinks",
    "BrokenLink",
    "BrokenLinks",
    "Categories",
    "Category",
    "CurrentDate",
    "DueNote",
    "DueNotes",
    "ImportedLink",
    "NoteChanged",
    "NoteDownload",
    "NoteHit",
    "NoteLinked",
    "NoteRead",
    "NoteReviewed",
    "NoteWritten",
    "NotesAdopted",
    "NotesExported",
    "NotesFound",
    "NotesImported",
    "NotesSynced",
    "SkippedFile",
    "Template",
    "Templates",
    "require_export_format",
]

EXPORT_FORMATS = ("md", "json", "csv", "html", "pdf")
EXPORT_MEDIA_TYPES = {
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "pdf": "application/pdf",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteWritten:
    """The result of `write_note`: `created` or `rejected`. Similar notes are listed, and never merged with it.

    `file_path` is empty if the space has no folder of notes.
    """

    action: str
    id: str
    name: str
    title: str
    file_path: str
    created_at: datetime | None
    version: int
    category: str = ""
    tags: tuple[str, ...] = ()
    similar: tuple[Similar, ...] = ()
    conflicts: tuple[ConflictDetails, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRead:
    """A note, with its content in the requested format; `links` are the ids of the linked notes."""

    id: str
    name: str
    title: str
    content: str
    format: str
    tags: tuple[str, ...]
    category: str
    kind: str
    created_at: datetime
    updated_at: datetime
    last_reviewed: datetime
    file_path: str
    links: tuple[str, ...]
    version: int
    observations: tuple[str, ...] = ()
    state: str = "live"
    # Whose word it is; empty for the user's. See `labels`.
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteChanged:
    """The result of `edit_note`: `updated`, or `unchanged` if nothing differs."""

    success: bool
    action: str
    id: str
    name: str
    title: str
    updated_at: datetime
    file_path: str
    version: int
    conflicts: tuple[ConflictDetails, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteReviewed:
    """The review of a note, and its time."""

    success: bool
    id: str
    title: str
    last_reviewed: datetime
    file_path: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteLinked:
    """The links of both notes after `link_notes` or `unlink_notes`, and the link in Markdown."""

    success: bool
    action: str
    source_id: str
    source_title: str
    source_links: tuple[str, ...]
    target_id: str
    target_title: str
    target_links: tuple[str, ...]
    markdown_link: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteHit:
    """A note that matches; in the snippet, `**` encloses the matches.

    `matched` lists where: `title`, `content`, `tags`, `category`, `observations`, `attachment` or `meaning`.
    """

    id: str
    title: str
    score: float
    snippet: str
    category: str = ""
    tags: tuple[str, ...] = ()
    updated_at: datetime | None = None
    file_path: str = ""
    matched: tuple[str, ...] = ()
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesFound:
    """The matching notes, the best first; `more`: there are others. `degraded` lists the parts that were not used."""

    results: tuple[NoteHit, ...]
    more: bool = False
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentDate:
    """The current date and time in the requested format, and its time zone."""

    date: str
    format: str
    iso: str
    timestamp: int
    timezone: str
    utc_offset: str
    weekday: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNote:
    """A note that is due for review."""

    id: str
    title: str
    last_reviewed: datetime
    days: int
    category: str = ""
    file_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNotes:
    """The notes that are due for review, the one reviewed longest ago first."""

    notes: tuple[DueNote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlink:
    """A note that links to another, the text of the link, and its place in the note."""

    id: str
    title: str
    text: str = ""
    file_path: str = ""
    snippet: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlinks:
    """The notes that link to a note."""

    id: str
    title: str
    backlinks: tuple[Backlink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLink:
    """A link to a note that does not exist, the note that contains it, and suggestions."""

    id: str
    title: str
    target: str
    text: str = ""
    file_path: str = ""
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLinks:
    """The links to notes that do not exist."""

    links: tuple[BrokenLink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A category, the number of notes in it alone, and the total with its subcategories."""

    path: str
    name: str
    notes: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories:
    """The categories of notes, each before its subcategories."""

    categories: tuple[Category, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A template for new notes; `built_in`: it is not a file."""

    name: str
    built_in: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """The templates for new notes."""

    templates: tuple[Template, ...]
    folder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesSynced:
    """The result of a comparison of store and folder; `problems` lists the files that were left alone, and why."""

    folder: str
    checked: int = 0
    taken: int = 0
    created: int = 0
    written: int = 0
    trashed: int = 0
    moved: int = 0
    removed: int = 0
    conflicts: int = 0
    problems: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """A skipped file and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLink:
    """A link whose target is neither a note of the folder nor an existing note."""

    path: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesImported:
    """The result of an import; in a dry run, the expected result."""

    folder: str
    found: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    linked: int = 0
    attachments: int = 0
    skipped: tuple[SkippedFile, ...] = ()
    broken_links: tuple[ImportedLink, ...] = ()
    warnings: tuple[str, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesAdopted:
    """The result of the adoption of a folder; in a dry run, the expected result.

    `changed` are the notes of the folder that are not as they were: none, unless another program wrote them meanwhile.
    `new` is the number of memories of the space that become files of the folder, and `new_files` has the names of some.
    `copy` is the archive of the notes as they were. `run` is what `undo` takes back.
    """

    folder: str
    found: int = 0
    adopted: int = 0
    linked: int = 0
    changed: tuple[str, ...] = ()
    new: int = 0
    new_files: tuple[str, ...] = ()
    copy: str = ""
    skipped: tuple[SkippedFile, ...] = ()
    broken_links: tuple[ImportedLink, ...] = ()
    warnings: tuple[str, ...] = ()
    dry_run: bool = False
    run: str = ""


def require_export_format(format: str) -> str:
    """Return a valid format name; `markdown` becomes `md`."""
    chosen = "md" if format == "markdown" else format
    if chosen not in EXPORT_FORMATS:
        raise InvalidInput(
            f"format must be one of {', '.join(EXPORT_FORMATS)}, not {str(format)[:60]!r}", field="format"
        )
    return chosen
