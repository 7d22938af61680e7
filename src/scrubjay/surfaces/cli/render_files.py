"""Exports and imports of notes for people."""

from collections.abc import Callable

from scrubjay.notes.export.results import NotesExported
from scrubjay.notes.import_.results import NotesImported
from scrubjay.surfaces.cli.console import say, say_warnings

__all__ = ["FILE_PRINTERS"]

# The rest is in the answer as JSON.
_MOST = 50


def _exported(answer: NotesExported) -> None:
    notes = f"{answer.notes:,} {'note' if answer.notes == 1 else 'notes'}"
    files = f" with {answer.files:,} {'file' if answer.files == 1 else 'files'}" if answer.files else ""
    say(f"exported {notes}{files} to {answer.target} ({answer.bytes:,} bytes)")
    say_warnings(answer.warnings)


def _imported(answer: NotesImported) -> None:
    verb = "would be" if answer.dry_run else "were"
    say(
        f"{answer.found:,} notes found in {answer.folder}: {answer.created:,} {verb} created, "
        f"{answer.updated:,} updated, {answer.unchanged:,} are unchanged, {len(answer.skipped):,} skipped"
    )
    say(f"  {answer.linked:,} links, {answer.attachments:,} attachments, {len(answer.broken_links):,} broken links")
    _some("skipped", [f"{one.path}: {one.reason}" for one in answer.skipped])
    _some("broken link", [f"{link.path}: [[{link.target}]]" for link in answer.broken_links])
    _some("warning", list(answer.warnings))


def _some(kind: str, lines: list[str]) -> None:
    for line in lines[:_MOST]:
        say(f"  {kind}: {line}")
    if len(lines) > _MOST:
        say(f"  and {len(lines) - _MOST:,} more: --json tells all")


FILE_PRINTERS: list[tuple[type, Callable[..., None]]] = [
    (NotesExported, _exported),
    (NotesImported, _imported),
]
