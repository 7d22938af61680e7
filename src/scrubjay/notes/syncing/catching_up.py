"""What changed while nobody looked: the folder and the ledger, file by file, by size and time."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from scrubjay.errors import ScrubjayError, VaultUnavailable
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.notes.disk.folder import Odd
from scrubjay.notes.syncing.hands import Hands, has_file, last_path
from scrubjay.notes.syncing.marking import is_marked
from scrubjay.notes.syncing.standing import is_note

__all__ = [
    "VANISHED",
    "Found",
    "drift_of",
    "look_through",
    "missing_too_many",
    "newcomers",
    "unsettled",
    "unwritten",
]

_PAGE = 200
VANISHED = "."
"""The place of the problem that too many files are gone: the folder itself."""
# Below this many, files are deleted one by one by somebody who means it.
_FEW = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Files that came or changed, and memories whose files are not where they were."""

    checked: int
    paths: tuple[str, ...]
    missing: tuple[str, ...]
    odd: tuple[Odd, ...] = ()
    # What was wrong with files that are not there any more.
    over: tuple[str, ...] = ()


async def look_through(hands: Hands) -> Found:
    """Compare the whole folder with the ledger; no file is read."""
    return await hands.do(_look_through, hands)


async def unsettled(hands: Hands) -> list[str]:
    """The memories that link a note which is called otherwise now, and those whose files something was wrong with."""
    return await hands.do(_unsettled, hands)


async def newcomers(hands: Hands) -> list[str]:
    """Files that nobody has looked at yet: what is missing elsewhere may have been moved there."""
    found = await look_through(hands)
    return await hands.do(_newcomers, found.paths, hands)


def missing_too_many(missing: int, *, of: int) -> bool:
    """Whether so many files have vanished that it was rather a mistake than meant."""
    return missing > _FEW and missing * 2 > of


async def unwritten(hands: Hands) -> AsyncIterator[list[str]]:
    """The memories that should have a file and are not in the ledger, in pages."""
    last: str | None = None
    while ids := await hands.store.list_ids(hands.space, Filter(state=State.LIVE), limit=_PAGE, after=last):
        last = ids[-1]
        known = await hands.do(hands.rows, ids)
        fresh = [one for one in ids if one not in known or not has_file(known[one])]
        if fresh:
            yield fresh


async def drift_of(hands: Hands) -> tuple[str, ...]:
    """In what store and folder differ, in words."""
    found = await look_through(hands)
    untaken = await hands.do(_untaken, found.paths, hands)
    told = [f"{path}: changed or new, and not taken in yet" for path in untaken]
    rows = await hands.do(lambda: [one for one in hands.ledger.all() if has_file(one)])
    gone = set(found.missing)
    told += [f"{one.path}: the file is missing" for one in rows if one.memory_id in gone]
    told += [f"{one.path}: a note that it links was renamed" for one in rows if is_marked(one)]
    for start in range(0, len(rows), _PAGE):
        page = rows[start : start + _PAGE]
        memories = await hands.store.get(hands.space, [one.memory_id for one in page])
        for one in page:
            memory = memories.get(one.memory_id)
            if memory is None or not (is_note(memory) or memory.state is State.WAITING):
                told.append(f"{one.path}: its memory is gone")
            elif one.branch == memory.branch and one.version != memory.version:
                told.append(f"{one.path}: the memory is at version {memory.version}, the file at {one.version}")
    async for ids in unwritten(hands):
        memories = await hands.store.get(hands.space, ids)
        told += [f"{one.name} has no file" for one in memories.values() if is_note(one)]
    return tuple(told)


def _newcomers(paths: Sequence[str], hands: Hands) -> list[str]:
    known = {*hands.ledger.at_many(paths), *(one.path for one in hands.ledger.problems())}
    return [path for path in paths if path not in known]


def _untaken(paths: Sequence[str], hands: Hands) -> list[str]:
    """Those of some files that are to be taken in: not what is known to be wrong, and not what says nothing yet."""
    wrong, fresh = {one.path for one in hands.ledger.problems()}, set(_newcomers(paths, hands))
    return [path for path in paths if path not in wrong and not (path in fresh and _is_blank(path, hands))]


def _is_blank(path: str, hands: Hands) -> bool:
    try:
        opened = hands.read(path)
    except VaultUnavailable:
        raise
    except ScrubjayError:
        return False
    return opened is None or opened.is_blank


def _unsettled(hands: Hands) -> list[str]:
    wrong = {one.path for one in hands.ledger.problems()}
    return [one.memory_id for one in hands.ledger.all() if is_marked(one) or last_path(one) in wrong]


def _look_through(hands: Hands) -> Found:
    rows = {one.path: one for one in hands.ledger.all() if has_file(one)}
    seen = {one.path: one for one in hands.folder.listing()}
    paths = [path for path, one in seen.items() if path not in rows or rows[path].seen != one]
    missing = [row.memory_id for path, row in rows.items() if path not in seen]
    odd = tuple(hands.folder.odd())
    there = {*seen, *(one.path for one in odd), VANISHED}
    over = tuple(one.path for one in hands.ledger.problems() if one.path not in there)
    return Found(checked=len(seen), paths=tuple(paths), missing=tuple(missing), odd=odd, over=over)
