"""Marks in the ledger at notes that link one whose file was moved, renamed, taken away or brought back.

They are written together with that, and stand until the note that links it was brought in step: so whoever is cut off
in between finds them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scrubjay.notes.disk.ledger import Agreed
from scrubjay.notes.page.note import Link
from scrubjay.notes.syncing.hands import Hands, away, has_file

__all__ = ["Mark", "is_marked", "mark", "marks_of", "put", "put_away", "shown_links"]

# No note has such an id.
_MARK = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A note that is called otherwise now, and what it was called before."""

    id: str
    path: str
    title: str


def is_marked(agreed: Agreed) -> bool:
    """Whether something that a note links is not what its file says."""
    return any(one == _MARK for one, _ in agreed.links)


def marks_of(agreed: Agreed) -> tuple[Mark, ...]:
    """What has changed of what a note links."""
    return tuple(Mark(**json.loads(told)) for one, told in agreed.links if one == _MARK)


def shown_links(agreed: Agreed) -> dict[str, Link]:
    """The ids of what a file links, with the links that it shows."""
    told = ((one, text.partition("\n")) for one, text in agreed.links if one != _MARK)
    return {one: Link(target=target, text=text) for one, (target, _, text) in told}


def put(agreed: Agreed, *, before: Agreed | None, neighbours: Sequence[str], hands: Hands) -> None:
    """Write down what is agreed on about a note, and mark those that link it if it is called otherwise now.

    Another note that was at its path has no file then, until that is found elsewhere. To be called by `do`.
    """
    with hands.ledger.batch():
        other = hands.ledger.at(agreed.path)
        if other is not None and other.memory_id != agreed.memory_id:
            hands.ledger.put(replace(other, path=away(other.memory_id, other.path)))
        hands.ledger.put(agreed)
        if before is None or _called(before) != _called(agreed) or not has_file(agreed):
            mark(before or agreed, neighbours, hands=hands)
            # Also those that have no file yet.
            hands.ledger.touched.update(neighbours)


def put_away(agreed: Agreed, *, hands: Hands) -> Agreed:
    """Write down that a note's file is not where it was. To be called by `do`."""
    gone = replace(agreed, path=away(agreed.memory_id, agreed.path))
    hands.ledger.put(gone)
    return gone


def mark(before: Agreed, neighbours: Sequence[str], *, hands: Hands) -> None:
    """Mark notes that link one that is called otherwise from now on. To be called by `do`."""
    if not neighbours:
        return
    told = json.dumps({"id": before.memory_id, "path": before.path, "title": before.title}, ensure_ascii=False)
    rows = hands.ledger.get_many(neighbours)
    marked = [replace(row, links=(*row.links, (_MARK, told))) for row in rows.values() if has_file(row)]
    if marked:
        hands.ledger.put(*marked)


def _called(agreed: Agreed | None) -> tuple[str, str] | None:
    """What others know a note by: nothing, where it has no file."""
    return (agreed.path, agreed.title) if agreed is not None and has_file(agreed) else None
