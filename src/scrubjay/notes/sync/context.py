"""The objects that every part of the sync shares: engine, folder, ledger, and one thread for blocking work."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from datetime import datetime
from typing import ParamSpec, TypeVar

from scrubjay.engine import Engine
from scrubjay.errors import NoteUnreadable, NotFound
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Caller
from scrubjay.model.identity import is_id, new_id
from scrubjay.model.memory import Memory
from scrubjay.notes.attachments.service import Attachments
from scrubjay.notes.files.folder import Folder
from scrubjay.notes.files.ledger import Ledger, LedgerEntry
from scrubjay.notes.files.tree import FileInfo, digest
from scrubjay.notes.markdown.format import Page, parse
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.sync import FileChange
from scrubjay.ports import MemoryReader

__all__ = ["AGENT", "FileCheck", "NoteFile", "SyncContext", "has_file", "last_path", "path_without_file"]

AGENT = "file"
# No file has such a path: it is the ledger path of notes without a file.
_NO_FILE = "/no-file/"

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteFile:
    """A file that was read and parsed."""

    info: FileInfo
    data: bytes
    page: Page

    @property
    def path(self) -> str:
        """The path in the folder."""
        return self.info.path

    @property
    def note(self) -> Note:
        """The parsed note."""
        return self.page.note

    @property
    def note_id(self) -> str:
        """The id in the frontmatter, or an empty text if it is not a valid id."""
        return self.note.id.lower() if is_id(self.note.id) else ""

    @property
    def is_blank(self) -> bool:
        """Whether it has no content yet: an editor creates a file before the user writes."""
        return not self.note.content.strip() and not any(observation.strip() for observation in self.note.observations)

    @property
    def digest(self) -> bytes:
        """The digest of the bytes, which a write over this file expects."""
        return digest(self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """A file compared with the ledger; `file` is None if it was not read."""

    change: FileChange
    file: NoteFile | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class SyncContext:
    """The shared objects of one vault. Folder and ledger block: use them only through `run_blocking`."""

    engine: Engine
    folder: Folder
    ledger: Ledger
    space: str
    attachments: Attachments | None = None
    naming: str = "auto"
    # The author of changes from files, and their run, for an adoption; else each has a run of its own.
    author: Caller | None = None
    # Warnings for its author about files that became memories.
    warnings: list[str] = field(default_factory=list[str])
    # Memories were stored without a comparison with others, which a job does later.
    needs_scan: bool = False
    counts: Counter[str] = field(default_factory=Counter[str])
    executor: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="notes"))

    @property
    def reader(self) -> MemoryReader:
        """The memories, for reading."""
        return self.engine.reader

    @property
    def now(self) -> datetime:
        """The present time."""
        return self.engine.clock.now()

    @property
    def by_title(self) -> bool:
        """Whether new files are named after the titles of their notes."""
        return self.naming == "title" or (self.naming == "auto" and self.folder.adopted)

    def new_caller(self) -> Caller:
        """Return a caller for edits in files, with a run of its own."""
        return self.author or Caller(space=self.space, agent=AGENT, run=new_id())

    async def run_blocking(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking function in the one thread for it."""
        return await asyncio.get_running_loop().run_in_executor(self.executor, lambda: work(*args, **kwargs))

    async def update_embeds(self, memory: Memory, *, before: str = "") -> None:
        """Record the files that a note embeds, if its text has, or had `before`, any."""
        if self.attachments is not None and "![[" in before + memory.content:
            await self.attachments.take_embeds(memory, memory.content, who=self.author)

    async def record_problem(self, path: str, message: str) -> None:
        """Record why a file was not synchronized."""
        self.counts["problems"] += 1
        await self.run_blocking(self.ledger.record_problem, path, message, at=self.now)

    def check_file(self, entry: LedgerEntry | None, *, read: bool = False) -> FileCheck:
        """Compare the file of a ledger entry with it; `read`: even if its times are unchanged. Blocks.

        Raise NoteUnreadable, TooLarge or PathRefused if it is not a note.
        """
        if entry is None or not has_file(entry):
            return FileCheck(change=FileChange.MISSING)
        info = self.folder.stat(entry.path)
        if info is None:
            return FileCheck(change=FileChange.MISSING)
        if not read and info == entry.file_info:
            return FileCheck(change=FileChange.SAME)
        file = self.read_file(entry.path)
        if file is None:
            return FileCheck(change=FileChange.MISSING)
        return FileCheck(change=FileChange.SAME if file.digest == entry.digest else FileChange.CHANGED, file=file)

    def read_file(self, path: str) -> NoteFile | None:
        """Read and parse a file; return None if it does not exist. Blocks."""
        try:
            info, data = self.folder.read(path)
        except NotFound:
            return None
        return NoteFile(info=info, data=data, page=parse(data, lenient=self.folder.adopted))

    def is_plain(self, file: NoteFile) -> bool:
        """Whether a file is a user's own, without our id, in a folder that we have adopted."""
        return self.folder.adopted and not file.note_id

    def read_note_id(self, path: str) -> str | None:
        """Return the id in the frontmatter of a file, or None if it is missing or not a note. Blocks."""
        try:
            file = self.read_file(path)
        except NoteUnreadable:
            return None
        return None if file is None else file.note_id

    def get_entries(self, ids: Sequence[str]) -> dict[str, LedgerEntry]:
        """Return the ledger entries of memories. Blocks."""
        return self.ledger.get_many(ids)


def has_file(entry: LedgerEntry) -> bool:
    """Whether the note had a file at the last sync."""
    return not entry.path.startswith(_NO_FILE)


def path_without_file(memory_id: str, path: str) -> str:
    """Return the ledger path of a note that has no file now, which includes its last path."""
    return f"{_NO_FILE}{memory_id}/{path.removeprefix(f'{_NO_FILE}{memory_id}/')}"


def last_path(entry: LedgerEntry) -> str:
    """Return the present or last path of a note's file."""
    return entry.path if has_file(entry) else entry.path.removeprefix(f"{_NO_FILE}{entry.memory_id}/")
