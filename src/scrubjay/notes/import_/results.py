"""Results of an import."""

from dataclasses import dataclass

__all__ = ["ImportedLink", "NotesImported", "SkippedFile"]


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
