"""What the sync works with: a store, a folder, the ledger of what both agreed on, and one thread for the disk."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import ParamSpec, TypeVar

from scrubjay.engine import Engine
from scrubjay.errors import NoteUnreadable, NotFound
from scrubjay.model.draft import Caller
from scrubjay.model.identity import is_id, new_id
from scrubjay.model.memory import Memory
from scrubjay.notes.attachments.service import Attachments
from scrubjay.notes.files.entries import Seen, digest
from scrubjay.notes.files.folder import Folder
from scrubjay.notes.files.ledger import Ledger, LedgerEntry
from scrubjay.notes.markdown.format import Page, parse
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.sync.reconcile import File
from scrubjay.ports import RecordStore

__all__ = ["AGENT", "Glance", "Opened", "SyncContext", "away", "has_file", "last_path"]

AGENT = "file"
# No file can be at such a path: there stands what has no file now.
_AWAY = "/away/"

Given = ParamSpec("Given")
Told = TypeVar("Told")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A file that was read, and what it says."""

    seen: Seen
    data: bytes
    page: Page

    @property
    def path(self) -> str:
        """Where it is."""
        return self.seen.path

    @property
    def note(self) -> Note:
        """What it says."""
        return self.page.note

    @property
    def own(self) -> str:
        """The id of the note that it says it is; what can be nobody's id says nothing."""
        return self.note.id.lower() if is_id(self.note.id) else ""

    @property
    def is_blank(self) -> bool:
        """Whether it says nothing yet: an editor makes a file before anything is written."""
        return not self.note.content.strip() and not any(observation.strip() for observation in self.note.observations)

    @property
    def digest(self) -> bytes:
        """By which it is known when it is written over."""
        return digest(self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What became of a file; one that is as it was agreed on need not have been read."""

    file: File
    opened: Opened | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class SyncContext:
    """Everything that one vault works with. Folder and ledger block: whatever is done with them, `do` does."""

    engine: Engine
    folder: Folder
    ledger: Ledger
    space: str
    attachments: Attachments | None = None
    tally: Counter[str] = field(default_factory=Counter[str])
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="notes"))

    @property
    def store(self) -> RecordStore:
        """The truth."""
        return self.engine.store

    @property
    def now(self) -> datetime:
        """The time."""
        return self.engine.clock.now()

    def who(self) -> Caller:
        """Whoever edits files, in a run of its own."""
        return Caller(space=self.space, agent=AGENT, run=new_id())

    async def do(self, work: Callable[Given, Told], /, *args: Given.args, **kwargs: Given.kwargs) -> Told:
        """Do what blocks in the one thread for it."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, lambda: work(*args, **kwargs))

    async def embed(self, memory: Memory, *, before: str = "") -> None:
        """Have a note's embedded files be known as such, if its text has or had any."""
        if self.attachments is not None and "![[" in before + memory.content:
            await self.attachments.take_embeds(memory, memory.content)

    async def problem(self, path: str, what: str) -> None:
        """Note why a file was left alone."""
        self.tally["problems"] += 1
        await self.do(self.ledger.problem, path, what, at=self.now)

    def glance(self, agreed: LedgerEntry | None, *, deep: bool = False) -> Glance:
        """Look at the file that was agreed on; `deep` reads it whatever its times say. To be called by `do`.

        Raises NoteUnreadable, TooLarge and PathRefused for what is no note.
        """
        if agreed is None or not has_file(agreed):
            return Glance(file=File.MISSING)
        seen = self.folder.look(agreed.path)
        if seen is None:
            return Glance(file=File.MISSING)
        if not deep and seen == agreed.seen:
            return Glance(file=File.SAME)
        found = self.read(agreed.path)
        if found is None:
            return Glance(file=File.MISSING)
        return Glance(file=File.SAME if found.digest == agreed.digest else File.CHANGED, opened=found)

    def read(self, path: str) -> Opened | None:
        """A file with all that it says, None when there is none. To be called by `do`."""
        try:
            seen, data = self.folder.read(path)
        except NotFound:
            return None
        return Opened(seen=seen, data=data, page=parse(data))

    def owner(self, path: str) -> str | None:
        """The id that the file at a path tells; None where there is no note. To be called by `do`."""
        try:
            found = self.read(path)
        except NoteUnreadable:
            return None
        return None if found is None else found.own

    def rows(self, ids: Sequence[str]) -> dict[str, LedgerEntry]:
        """What was agreed on about some memories. To be called by `do`."""
        return self.ledger.get_many(ids)


def has_file(agreed: LedgerEntry) -> bool:
    """Whether there was a file when both agreed."""
    return not agreed.path.startswith(_AWAY)


def away(memory_id: str, path: str) -> str:
    """The place of a note that has no file now, with where it was last."""
    return f"{_AWAY}{memory_id}/{path.removeprefix(f'{_AWAY}{memory_id}/')}"


def last_path(agreed: LedgerEntry) -> str:
    """Where a note's file is, or was last."""
    return agreed.path if has_file(agreed) else agreed.path.removeprefix(f"{_AWAY}{agreed.memory_id}/")
