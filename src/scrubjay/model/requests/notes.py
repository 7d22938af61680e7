"""The verbs of notes."""

from pathlib import Path
from typing import Annotated, Literal

from scrubjay.lazy import dataclass
from scrubjay.model.arguments import Arg, Request
from scrubjay.model.attachments import Attached, NoteAttachments, Orphans
from scrubjay.model.memory import Source
from scrubjay.model.notes import (
    Backlinks,
    BrokenLinks,
    Categories,
    CurrentDate,
    DueNotes,
    NoteChanged,
    NoteLinked,
    NoteRead,
    NoteReviewed,
    NotesAdopted,
    NotesExported,
    NotesFound,
    NotesImported,
    NotesSynced,
    NoteWritten,
    Templates,
)
from scrubjay.model.query import LABEL
from scrubjay.model.requests.memories import MAX_TAGS, DryRun, IdempotencyKey, Message, Project

__all__ = [
    "AdoptNotesRequest",
    "AttachFileRequest",
    "AttachPathRequest",
    "BacklinksRequest",
    "BrokenLinksRequest",
    "CurrentDateRequest",
    "DueNotesRequest",
    "EditNoteRequest",
    "ExportNotesRequest",
    "ImportNotesRequest",
    "LinkNotesRequest",
    "NoteAttachmentsRequest",
    "NoteCategoriesRequest",
    "NoteTemplatesRequest",
    "OrphanedFilesRequest",
    "ReadNoteRequest",
    "ReviewNoteRequest",
    "SearchNotesRequest",
    "SyncNotesRequest",
    "UnlinkNotesRequest",
    "WriteNoteRequest",
]

NoteRef = Annotated[
    str, Arg("Id, title, name or file name.", example="how-to-reach-sarah", length=LABEL, positional=True)
]
OtherNote = Annotated[
    str, Arg("Id, title, name or file name of the other note.", example="sarah", length=LABEL, positional=True)
]  # fmt: skip
InCategory = Annotated[
    str, Arg("Only this category and its subcategories.", length=LABEL, metavar="NAME")
]  # fmt: skip
WithTags = Annotated[
    tuple[str, ...],
    Arg("Only notes with this tag; repeatable, all must match.", length=LABEL, items=MAX_TAGS, flags="--tag -t"),
]
Limit = Annotated[int, Arg("Maximum number of results.", maximum=1_000, flags="--limit -n", metavar="N")]
Caption = Annotated[str, Arg("Description of the file, which search finds too.", length=1_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteNoteRequest(Request[NoteWritten]):
    """Write a new note; similar ones are reported, and never merged with it."""

    title: Annotated[str, Arg("Title of the note.", example="How to reach Sarah", length=LABEL, positional=True)]
    content: Annotated[
        str, Arg("Markdown text; with a template, it follows that.", example="Call her.", positional=True)
    ] = ""
    tags: Annotated[
        tuple[str, ...], Arg("Tag; repeatable.", example=["contact"], length=LABEL, items=MAX_TAGS, flags="--tag -t")
    ] = ()
    category: Annotated[
        str, Arg("Category, such as work or work/meetings.", example="people", length=LABEL, metavar="NAME")
    ] = ""
    template: Annotated[str, Arg("Start from a template.", length=LABEL, metavar="NAME")] = ""
    project: Project = ""
    source: Annotated[Source | None, Arg("Where the note comes from. Default: the caller.")] = None
    idempotency_key: IdempotencyKey = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadNoteRequest(Request[NoteRead]):
    """Return a note by id, title, name, file name or half of a title."""

    identifier: NoteRef
    format: Annotated[
        Literal["markdown", "plain", "json"], Arg("As written, without markup, or as JSON.")
    ] = "markdown"  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class EditNoteRequest(Request[NoteChanged]):
    """Change a note; omitted fields keep their values, and the previous state remains as a version."""

    id: NoteRef
    title: Annotated[
        str | None, Arg("New title; the file is renamed, and links to it are updated.", length=LABEL)
    ] = None  # fmt: skip
    content: Annotated[str | None, Arg("New content.")] = None
    tags: Annotated[
        tuple[str, ...] | None,
        Arg("New tags, which replace the old ones; repeatable.", length=LABEL, items=MAX_TAGS, flags="--tag -t"),
    ] = None
    category: Annotated[str | None, Arg("New category.", length=LABEL, metavar="NAME")] = None
    expected_version: Annotated[int | None, Arg("Fail unless the note is at this version.", metavar="N")] = None
    message: Message = ""
    idempotency_key: IdempotencyKey = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchNotesRequest(Request[NotesFound]):
    """Find notes by words, `"phrases"` and `prefixes*`; with `semantic` also by meaning."""

    query: Annotated[str, Arg('Words, "a phrase", prefix*.', example="voice calls", positional=True)]
    limit: Limit = 10
    category: InCategory = ""
    tags: WithTags = ()
    semantic: Annotated[bool, Arg("Search by meaning too.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkNotesRequest(Request[NoteLinked]):
    """Link two notes with each other."""

    source_id: NoteRef
    target_id: OtherNote
    link_text: Annotated[
        str, Arg("Text of the link. Default: the title of the target.", length=LABEL, flags="--text")
    ] = ""  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlinkNotesRequest(Request[NoteLinked]):
    """Remove the link between two notes, at both ends."""

    source_id: NoteRef
    target_id: OtherNote


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentDateRequest(Request[CurrentDate]):
    """Return the current date and time."""

    format: Annotated[
        Literal["iso", "locale", "timestamp", "date_only"], Arg("Form of the answer.")
    ] = "iso"  # fmt: skip
    timezone: Annotated[
        str, Arg("For example Europe/Berlin. Default: that of the server.", length=LABEL, metavar="ZONE")
    ] = ""  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewNoteRequest(Request[NoteReviewed]):
    """Mark a note as reviewed."""

    id: NoteRef


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNotesRequest(Request[DueNotes]):
    """Return the notes that were not reviewed for a number of days."""

    days: Annotated[
        int, Arg("Only notes not reviewed for so many days.", minimum=0, maximum=36_500, metavar="N")
    ] = 90  # fmt: skip
    limit: Limit = 20
    category: InCategory = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklinksRequest(Request[Backlinks]):
    """Return the notes that link to a note."""

    id: NoteRef


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLinksRequest(Request[BrokenLinks]):
    """Return the links without a target note, with suggestions."""

    limit: Limit = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteCategoriesRequest(Request[Categories]):
    """Return the categories of notes with their counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteTemplatesRequest(Request[Templates]):
    """Return the templates for new notes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncNotesRequest(Request[NotesSynced]):
    """Synchronize the store with the whole folder of notes."""

    deletions: Annotated[
        bool, Arg("Confirm that most files were deleted on purpose: trash their notes.")
    ] = False  # fmt: skip
    adopt: Annotated[bool, Arg("Take over the folder of another store; its files are kept.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachFileRequest(Request[Attached]):
    """Attach bytes, or text in base64, to a note: stored next to it and embedded in it."""

    note: NoteRef
    name: Annotated[str, Arg("Name of the attachment.", example="picture.png", length=LABEL, positional=True)]
    data: Annotated[bytes, Arg("The bytes of the file, in base64.", example="aGVsbG8=", positional=True)]
    caption: Caption = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachPathRequest(Request[Attached]):
    """Attach a file of this machine to a note; a remote server receives its bytes."""

    note: NoteRef
    path: Annotated[
        Path, Arg("Picture, recording or document.", example="picture.png", positional=True, metavar="FILE")
    ]
    caption: Caption = ""
    name: Annotated[
        str, Arg("Name of the attachment. Default: the file name.", length=LABEL, metavar="NAME")
    ] = ""  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteAttachmentsRequest(Request[NoteAttachments]):
    """Return the attachments of a note."""

    note: NoteRef


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanedFilesRequest(Request[Orphans]):
    """Return attachments that no note embeds or without a file, and unknown files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportNotesRequest(Request[NotesExported]):
    """Export notes: the named ones, else all of a category and with tags.

    The target is a file, a folder or a .zip, which is complete when this returns.
    """

    target: Annotated[Path, Arg("A file, a folder, or a .zip.", example="notes.zip", positional=True)]
    refs: Annotated[tuple[str, ...], Arg("Ids, titles, names or file names. Default: all notes.", length=LABEL)] = ()
    format: Annotated[Literal["md", "json", "csv", "html", "pdf"], Arg("Format of the files.")] = "md"
    category: InCategory = ""
    tags: WithTags = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportNotesRequest(Request[NotesImported]):
    """Import a folder of Markdown files, such as an Obsidian vault, without writing to it.

    A repeated import writes only new and changed notes.
    """

    folder: Annotated[
        Path, Arg("An Obsidian vault, or any folder of Markdown files.", example="vault", positional=True)
    ]
    category: Annotated[
        str, Arg("Prefix of the categories that the folders become.", length=LABEL, metavar="PREFIX")
    ] = ""  # fmt: skip
    dry_run: DryRun = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptNotesRequest(Request[NotesAdopted]):
    """Make an existing folder of Markdown files, such as an Obsidian vault, the folder of notes.

    Its files stay as they are until a note changes; an archive of them is made first.
    """

    folder: Annotated[
        Path, Arg("An Obsidian vault, or any folder of Markdown files.", example="vault", positional=True)
    ]
    dry_run: DryRun = False
