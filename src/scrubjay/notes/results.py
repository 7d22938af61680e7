"""What the verbs of notes answer."""

from dataclasses import dataclass
from datetime import datetime

from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.results import Similar

__all__ = [
    "Backlink",
    "Backlinks",
    "BrokenLink",
    "BrokenLinks",
    "Categories",
    "Category",
    "CurrentDate",
    "DueNote",
    "DueNotes",
    "NoteChanged",
    "NoteHit",
    "NoteLinked",
    "NoteRead",
    "NoteReviewed",
    "NoteWritten",
    "NotesFound",
    "NotesSynced",
    "Template",
    "Templates",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteWritten:
    """What became of a note: `created` or `rejected`. What is like it is told, and never merged with it.

    `file_path` is empty where there is no folder of notes for the space.
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
    """A note, with its content in the format that was asked for; `links` are the ids of those it is linked with."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteChanged:
    """What `edit_note` did: `updated`, or `unchanged` where it said so already."""

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
    """That somebody has looked through a note, and when."""

    success: bool
    id: str
    title: str
    last_reviewed: datetime
    file_path: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteLinked:
    """The ids that both ends are linked with after `link_notes` or `unlink_notes`, and the link as Markdown has it."""

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
    """A note that was found; in the snippet what was looked for stands between `**`.

    `matched` tells where: `title`, `content`, `tags`, `category`, `observations`, `attachment` or `meaning`.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesFound:
    """The notes that were found, the best first; `more` where there are others. `degraded` says what was not used."""

    results: tuple[NoteHit, ...]
    more: bool = False
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentDate:
    """Now, in the format that was asked for, and in which time zone that is."""

    date: str
    format: str
    iso: str
    timestamp: int
    timezone: str
    utc_offset: str
    weekday: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNote:
    """A note that nobody has looked through for a while."""

    id: str
    title: str
    last_reviewed: datetime
    days: int
    category: str = ""
    file_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNotes:
    """The notes that are due for review, those first that were reviewed longest ago."""

    notes: tuple[DueNote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlink:
    """A note that links to another, with what words, and where in its text."""

    id: str
    title: str
    text: str = ""
    file_path: str = ""
    snippet: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlinks:
    """Who links to a note."""

    id: str
    title: str
    backlinks: tuple[Backlink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLink:
    """A link to a note that does not exist, where it stands, and which note may be meant."""

    id: str
    title: str
    target: str
    text: str = ""
    file_path: str = ""
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLinks:
    """The links that lead nowhere."""

    links: tuple[BrokenLink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A category, the notes that are in it itself, and all with those of the categories below it."""

    path: str
    name: str
    notes: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories:
    """The categories of notes, each before those below it."""

    categories: tuple[Category, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A form that a new note can begin with; `built_in` where no file is it."""

    name: str
    built_in: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """The forms that a new note can begin with."""

    templates: tuple[Template, ...]
    folder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesSynced:
    """What was found and done when store and folder were compared; `problems` say what was left as it is, and why."""

    folder: str
    checked: int = 0
    taken: int = 0
    created: int = 0
    written: int = 0
    trashed: int = 0
    moved: int = 0
    conflicts: int = 0
    problems: tuple[str, ...] = ()
