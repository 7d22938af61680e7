"""What changed while nobody looked: the folder and the ledger, file by file, by size and time."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from scrubjay.errors import ScrubjayError, VaultUnavailable
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.notes.files.folder import Odd
from scrubjay.notes.sync.context import SyncContext, has_file, last_path
from scrubjay.notes.sync.dirty import is_marked
from scrubjay.notes.sync.state import is_note

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


async def look_through(context: SyncContext) -> Found:
    """Compare the whole folder with the ledger; no file is read."""
    return await context.do(_look_through, context)


async def unsettled(context: SyncContext) -> list[str]:
    """The memories that link a note which is called otherwise now, and those whose files something was wrong with."""
    return await context.do(_unsettled, context)


async def newcomers(context: SyncContext) -> list[str]:
    """Files that nobody has looked at yet: what is missing elsewhere may have been moved there."""
    found = await look_through(context)
    return await context.do(_newcomers, found.paths, context)


def missing_too_many(missing: int, *, of: int) -> bool:
    """Whether so many files have vanished that it was rather a mistake than meant."""
    return missing > _FEW and missing * 2 > of


async def unwritten(context: SyncContext) -> AsyncIterator[list[str]]:
    """The memories that should have a file and are not in the ledger, in pages."""
    last: str | None = None
    while ids := await context.store.list_ids(context.space, Filter(state=State.LIVE), limit=_PAGE, after=last):
        last = ids[-1]
        known = await context.do(context.rows, ids)
        fresh = [id_ for id_ in ids if id_ not in known or not has_file(known[id_])]
        if fresh:
            yield fresh


async def drift_of(context: SyncContext) -> tuple[str, ...]:
    """In what store and folder differ, in words."""
    found = await look_through(context)
    untaken = await context.do(_untaken, found.paths, context)
    told = [f"{path}: changed or new, and not taken in yet" for path in untaken]
    rows = await context.do(lambda: [one for one in context.ledger.all() if has_file(one)])
    gone = set(found.missing)
    told += [f"{row.path}: the file is missing" for row in rows if row.memory_id in gone]
    told += [f"{row.path}: a note that it links was renamed" for row in rows if is_marked(row)]
    for start in range(0, len(rows), _PAGE):
        page = rows[start : start + _PAGE]
        memories = await context.store.get(context.space, [one.memory_id for one in page])
        for one in page:
            memory = memories.get(one.memory_id)
            if memory is None or not (is_note(memory) or memory.state is State.WAITING):
                told.append(f"{one.path}: its memory is gone")
            elif one.branch == memory.branch and one.version != memory.version:
                told.append(f"{one.path}: the memory is at version {memory.version}, the file at {one.version}")
    async for ids in unwritten(context):
        memories = await context.store.get(context.space, ids)
        told += [f"{memory.name} has no file" for memory in memories.values() if is_note(memory)]
    return tuple(told)


def _newcomers(paths: Sequence[str], context: SyncContext) -> list[str]:
    known = {*context.ledger.at_many(paths), *(problem.path for problem in context.ledger.problems())}
    return [path for path in paths if path not in known]


def _untaken(paths: Sequence[str], context: SyncContext) -> list[str]:
    """Those of some files that are to be taken in: not what is known to be wrong, and not what says nothing yet."""
    wrong, fresh = {problem.path for problem in context.ledger.problems()}, set(_newcomers(paths, context))
    return [path for path in paths if path not in wrong and not (path in fresh and _is_blank(path, context))]


def _is_blank(path: str, context: SyncContext) -> bool:
    try:
        opened = context.read(path)
    except VaultUnavailable:
        raise
    except ScrubjayError:
        return False
    return opened is None or opened.is_blank


def _unsettled(context: SyncContext) -> list[str]:
    wrong = {problem.path for problem in context.ledger.problems()}
    return [one.memory_id for one in context.ledger.all() if is_marked(one) or last_path(one) in wrong]


def _look_through(context: SyncContext) -> Found:
    rows = {one.path: one for one in context.ledger.all() if has_file(one)}
    seen = {one.path: one for one in context.folder.listing()}
    paths = [path for path, one in seen.items() if path not in rows or rows[path].seen != one]
    missing = [row.memory_id for path, row in rows.items() if path not in seen]
    odd = tuple(context.folder.odd())
    there = {*seen, *(one.path for one in odd), VANISHED}
    over = tuple(problem.path for problem in context.ledger.problems() if problem.path not in there)
    return Found(checked=len(seen), paths=tuple(paths), missing=tuple(missing), odd=odd, over=over)
