"""A scan of the whole folder: compare it with the ledger, file by file, by size and time."""

from collections.abc import AsyncIterator, Sequence

from scrubjay.errors import ScrubjayError, VaultUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.notes.files.tree import SkippedEntry
from scrubjay.notes.sync.context import SyncContext, has_file, last_path
from scrubjay.notes.sync.dirty import is_dirty
from scrubjay.notes.sync.state import is_note

__all__ = [
    "FOLDER_PROBLEM",
    "ScanResult",
    "describe_drift",
    "find_blank_files",
    "find_new_files",
    "find_unfinished",
    "find_unwritten",
    "is_mass_deletion",
    "scan_folder",
]

_PAGE = 200
FOLDER_PROBLEM = "."
"""The path of the problem that too many files are missing: the folder itself."""
# A user may delete up to this number of files on purpose.
_MAX_DELETIONS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult:
    """The number of files, the new or changed paths, the ids of notes without their files, and other findings."""

    checked: int
    paths: tuple[str, ...]
    missing: tuple[str, ...]
    skipped: tuple[SkippedEntry, ...] = ()
    # The problems of files that do not exist any more.
    obsolete_problems: tuple[str, ...] = ()


async def scan_folder(context: SyncContext) -> ScanResult:
    """Compare the whole folder with the ledger, without reading any file."""
    return await context.run_blocking(_scan_folder, context)


async def find_unfinished(context: SyncContext) -> list[str]:
    """Return the ids of dirty notes, and of notes whose files had problems."""

    def find() -> list[str]:
        problems = {problem.path for problem in context.ledger.problems()}
        return [entry.memory_id for entry in context.ledger.all() if is_dirty(entry) or last_path(entry) in problems]

    return await context.run_blocking(find)


async def find_blank_files(context: SyncContext) -> tuple[str, ...]:
    """Return the files that have no content yet, and therefore no memory."""
    new = await find_new_files(context)
    return await context.run_blocking(lambda: tuple(path for path in new if _is_blank(path, context)))


async def find_new_files(context: SyncContext) -> list[str]:
    """Return the files that are not in the ledger: a missing file may have been moved there."""
    result = await scan_folder(context)
    return await context.run_blocking(_new_files, result.paths, context)


def is_mass_deletion(missing: int, *, total: int) -> bool:
    """Whether so many files are missing that it was probably a mistake."""
    return missing > _MAX_DELETIONS and missing * 2 > total


async def find_unwritten(context: SyncContext) -> AsyncIterator[list[str]]:
    """Yield pages of ids of live memories that have no file in the ledger."""
    last: str | None = None
    while ids := await context.reader.list_ids(context.space, Filter(state=State.LIVE), limit=_PAGE, after=last):
        last = ids[-1]
        entries = await context.run_blocking(context.get_entries, ids)
        unwritten = [id_ for id_ in ids if id_ not in entries or not has_file(entries[id_])]
        if unwritten:
            yield unwritten


async def describe_drift(context: SyncContext) -> tuple[str, ...]:
    """Describe the differences between store and folder."""
    result = await scan_folder(context)
    unread = await context.run_blocking(_unread_files, result.paths, context)
    drift = [f"{path}: the file is new or changed, and not read yet" for path in unread]
    entries = await context.run_blocking(lambda: [entry for entry in context.ledger.all() if has_file(entry)])
    missing = set(result.missing)
    drift += [f"{entry.path}: the file is missing" for entry in entries if entry.memory_id in missing]
    drift += [f"{entry.path}: a linked note was renamed" for entry in entries if is_dirty(entry)]
    for start in range(0, len(entries), _PAGE):
        page = entries[start : start + _PAGE]
        memories = await context.reader.get(context.space, [entry.memory_id for entry in page])
        for entry in page:
            memory = memories.get(entry.memory_id)
            if memory is not None and entry.plain and memory.state is not State.LIVE:
                # The file is still its author's.
                continue
            if memory is None or not (is_note(memory) or memory.state is State.WAITING):
                drift.append(f"{entry.path}: its memory is gone")
            elif entry.branch == memory.branch and entry.version != memory.version:
                drift.append(f"{entry.path}: the memory is at version {memory.version}, the file at {entry.version}")
    async for ids in find_unwritten(context):
        memories = await context.reader.get(context.space, ids)
        drift += [f"{memory.name} has no file" for memory in memories.values() if is_note(memory)]
    return tuple(drift)


def _scan_folder(context: SyncContext) -> ScanResult:
    entries = {entry.path: entry for entry in context.ledger.all() if has_file(entry)}
    files = {info.path: info for info in context.folder.list_notes()}
    skipped = tuple(context.folder.list_skipped())
    current = {*files, *(entry.path for entry in skipped), FOLDER_PROBLEM}
    return ScanResult(
        checked=len(files),
        paths=tuple(path for path, info in files.items() if path not in entries or entries[path].file_info != info),
        missing=tuple(entry.memory_id for path, entry in entries.items() if path not in files),
        skipped=skipped,
        obsolete_problems=tuple(problem.path for problem in context.ledger.problems() if problem.path not in current),
    )


def _new_files(paths: Sequence[str], context: SyncContext) -> list[str]:
    seen = {*context.ledger.at_paths(paths), *(problem.path for problem in context.ledger.problems())}
    return [path for path in paths if path not in seen]


def _unread_files(paths: Sequence[str], context: SyncContext) -> list[str]:
    """Return the files to be read, without those that have a problem, and without new files that have no content."""
    problems, new = {problem.path for problem in context.ledger.problems()}, set(_new_files(paths, context))
    return [path for path in paths if path not in problems and not (path in new and _is_blank(path, context))]


def _is_blank(path: str, context: SyncContext) -> bool:
    try:
        file = context.read_file(path)
    except VaultUnavailable:
        raise
    except ScrubjayError:
        return False
    return file is None or file.is_blank
