"""Marks in the ledger at notes that link one whose file was moved, renamed, taken away or brought back.

They are written together with that, and stand until the note that links it was brought in step: so whoever is cut off
in between finds them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.sync.context import SyncContext, away, has_file

__all__ = ["Mark", "is_marked", "mark", "marks_of", "put", "put_away", "shown_links"]

# No note has such an id.
_MARK = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A note that is called otherwise now, and what it was called before."""

    id: str
    path: str
    title: str


def is_marked(agreed: LedgerEntry) -> bool:
    """Whether something that a note links is not what its file says."""
    return any(one == _MARK for one, _ in agreed.links)


def marks_of(agreed: LedgerEntry) -> tuple[Mark, ...]:
    """What has changed of what a note links."""
    return tuple(Mark(**json.loads(told)) for one, told in agreed.links if one == _MARK)


def shown_links(agreed: LedgerEntry) -> dict[str, Link]:
    """The ids of what a file links, with the links that it shows."""
    told = ((one, text.partition("\n")) for one, text in agreed.links if one != _MARK)
    return {one: Link(target=target, text=text) for one, (target, _, text) in told}


def put(agreed: LedgerEntry, *, before: LedgerEntry | None, neighbours: Sequence[str], context: SyncContext) -> None:
    """Write down what is agreed on about a note, and mark those that link it if it is called otherwise now.

    Another note that was at its path has no file then, until that is found elsewhere. To be called by `do`.
    """
    with context.ledger.batch():
        other = context.ledger.at(agreed.path)
        if other is not None and other.memory_id != agreed.memory_id:
            context.ledger.put(replace(other, path=away(other.memory_id, other.path)))
        context.ledger.put(agreed)
        if before is None or _called(before) != _called(agreed) or not has_file(agreed):
            mark(before or agreed, neighbours, context=context)
            # Also those that have no file yet.
            context.ledger.touched.update(neighbours)


def put_away(agreed: LedgerEntry, *, context: SyncContext) -> LedgerEntry:
    """Write down that a note's file is not where it was. To be called by `do`."""
    gone = replace(agreed, path=away(agreed.memory_id, agreed.path))
    context.ledger.put(gone)
    return gone


def mark(before: LedgerEntry, neighbours: Sequence[str], *, context: SyncContext) -> None:
    """Mark notes that link one that is called otherwise from now on. To be called by `do`."""
    if not neighbours:
        return
    told = json.dumps({"id": before.memory_id, "path": before.path, "title": before.title}, ensure_ascii=False)
    rows = context.ledger.get_many(neighbours)
    marked = [replace(row, links=(*row.links, (_MARK, told))) for row in rows.values() if has_file(row)]
    if marked:
        context.ledger.put(*marked)


def _called(agreed: LedgerEntry | None) -> tuple[str, str] | None:
    """What others know a note by: nothing, where it has no file."""
    return (agreed.path, agreed.title) if agreed is not None and has_file(agreed) else None
