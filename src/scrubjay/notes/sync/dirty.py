"""Dirty marks: how a rename reaches the notes that link to the renamed one, even after a crash.

When a note's file is moved, renamed, removed or brought back, the files and texts that link to it must follow. We might
crash before they do. So the transaction that writes the note's new ledger entry also marks the entries of its
neighbours as dirty.

A mark is an extra item in the neighbour's `links` column: an item with an empty id, which no note has, and with JSON as
its text: the id, the old path and the old title of the renamed note. Because of the extra item, the column differs from
the links that the note should have, so that `decide` sees the note as RELINKED. The reconciler then renames the links
in its text (`renamed_notes` gives the old names) and writes its file. The new ledger entry has no marks.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from scrubjay.lazy import dataclass
from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.markdown.naming import link_target
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.sync.context import SyncContext, has_file, path_without_file

__all__ = [
    "RenamedNote",
    "is_dirty",
    "mark_neighbours",
    "put_entry",
    "put_without_file",
    "renamed_notes",
    "shown_links",
]

_MARK_ID = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamedNote:
    """A linked note that has another path or title now, with the old ones."""

    id: str
    old_path: str
    old_title: str


def is_dirty(entry: LedgerEntry) -> bool:
    """Whether a linked note has been renamed since the note was written."""
    return any(linked_id == _MARK_ID for linked_id, _ in entry.links)


def renamed_notes(entry: LedgerEntry) -> tuple[RenamedNote, ...]:
    """Return the linked notes that have been renamed since the note was written."""
    return tuple(RenamedNote(**json.loads(text)) for linked_id, text in entry.links if linked_id == _MARK_ID)


def shown_links(entry: LedgerEntry) -> dict[str, Link]:
    """Return the links that a file shows, by the ids of the linked notes."""
    rows = ((linked_id, row.partition("\n")) for linked_id, row in entry.links if linked_id != _MARK_ID)
    return {linked_id: Link(target=target, text=text) for linked_id, (target, _, text) in rows}


def put_entry(
    entry: LedgerEntry,
    *,
    before: LedgerEntry | None,
    neighbours: Sequence[str],
    context: SyncContext,
    is_foreseen: bool = False,
) -> None:
    """Write a note's ledger entry, and mark its neighbours as dirty if its path or title has changed. Blocks.

    Another note with the same path has no file from then on, until the file turns up at another path. `is_foreseen`: a
    new file has the path that links to it had before; only neighbours whose files do not show it yet are marked.
    """
    with context.ledger.transaction():
        other = context.ledger.at_path(entry.path)
        if other is not None and other.memory_id != entry.memory_id:
            context.ledger.put(replace(other, path=path_without_file(other.memory_id, other.path)))
        context.ledger.put(entry)
        if before is None or _names(before) != _names(entry) or not has_file(entry):
            if before is None and is_foreseen:
                neighbours = _without_link(entry, neighbours, context=context)
            mark_neighbours(before or entry, neighbours, context=context)
            # Include those that have no file yet.
            context.ledger.changed_ids.update(neighbours)


def put_without_file(entry: LedgerEntry, *, context: SyncContext) -> LedgerEntry:
    """Record that a note has no file at its path any more, and return the new entry. Blocks."""
    updated = replace(entry, path=path_without_file(entry.memory_id, entry.path))
    context.ledger.put(updated)
    return updated


def mark_neighbours(before: LedgerEntry, neighbours: Sequence[str], *, context: SyncContext) -> None:
    """Mark the notes that link to a note, given its old entry. Blocks."""
    if not neighbours:
        return
    renamed = {"id": before.memory_id, "old_path": before.path, "old_title": before.title}
    mark = (_MARK_ID, json.dumps(renamed, ensure_ascii=False))
    entries = context.ledger.get_many(neighbours)
    marked = [replace(entry, links=(*entry.links, mark)) for entry in entries.values() if has_file(entry)]
    if marked:
        context.ledger.put(*marked)


def _without_link(entry: LedgerEntry, neighbours: Sequence[str], *, context: SyncContext) -> list[str]:
    """Return the neighbours whose files do not have a link to the path of a note. Blocks."""
    target = link_target(entry.path)
    links = {id_: shown_links(other) for id_, other in context.ledger.get_many(neighbours).items() if has_file(other)}
    return [
        id_ for id_, shown in links.items() if entry.memory_id not in shown or shown[entry.memory_id].target != target
    ]


def _names(entry: LedgerEntry) -> tuple[str, str] | None:
    """Return the names by which other notes link to a note: none if it has no file."""
    return (entry.path, entry.title) if has_file(entry) else None
