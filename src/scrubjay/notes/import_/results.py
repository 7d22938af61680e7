"""What an import answers."""

from dataclasses import dataclass

__all__ = ["ImportedLink", "NotesImported", "Skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file that was left out, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLink:
    """A link in a file that leads to no note of the folder, nor to one that was there before."""

    path: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesImported:
    """What became of the notes of a folder; in a dry run, what would."""

    folder: str
    found: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    linked: int = 0
    attachments: int = 0
    skipped: tuple[Skipped, ...] = ()
    broken_links: tuple[ImportedLink, ...] = ()
    warnings: tuple[str, ...] = ()
    dry_run: bool = False
