"""From the store to the files: a note is written, moved to its name, or taken away."""

from dataclasses import replace

from scrubjay.model.memory import MAIN
from scrubjay.notes.files.entries import Seen, digest
from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.markdown.format import render
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.notes.sync import dirty
from scrubjay.notes.sync.context import Opened, SyncContext, away, has_file
from scrubjay.notes.sync.links import unresolved
from scrubjay.notes.sync.mapping import dressed
from scrubjay.notes.sync.state import NoteState

__all__ = ["Mirror"]


class Mirror:
    """Writes the files of one vault."""

    def __init__(self, context: SyncContext) -> None:
        self._context = context
        self._written: dict[str, LedgerEntry] = {}

    def written(self, state: NoteState) -> LedgerEntry | None:
        """What is agreed on about a note, after something was done about it."""
        return self._written.pop(state.id, state.agreed)

    async def put(self, state: NoteState, note: Note, opened: Opened | None, *, is_news: bool) -> None:
        """Have the file tell a note, and write down that both agree.

        `is_news`: the store has something to tell. Else the file is left as its author wrote it, if nothing but the
        time at which it was changed would differ.
        """
        await self._context.do(self._put, state, note, opened, is_news=is_news)

    async def note(self, state: NoteState, opened: Opened) -> None:
        """Write down the times of a file that says what it did."""
        await self._context.do(self._agree, state, opened.seen, opened.digest)

    async def take_away(self, state: NoteState, opened: Opened | None) -> None:
        """Remove the file of a memory that is not alive any more, if it is as it was read, or else agreed on."""
        await self._context.do(self._take_away, state, opened.digest if opened else state.known.digest)

    async def let_go(self, state: NoteState) -> None:
        """Write down that a note has no file, or that there is none of it at all."""
        await self._context.do(self._let_go, state)

    def _put(self, state: NoteState, note: Note, opened: Opened | None, *, is_news: bool) -> None:
        context = self._context
        # Only a file can have links that lead nowhere.
        may_want = state.agreed is not None and (opened is None or bool(opened.note.linked))
        wanted = context.ledger.wants_of(state.id) if may_want else []
        final = _final(state, note, opened, wanted)
        if opened is None:
            data = render(final)
            seen = context.folder.write(state.path, data, over=None)
        elif opened.path == state.path and _is_told(final, opened, is_news=is_news):
            self._agree(state, opened.seen, opened.digest)
            return
        else:
            data = render(final, like=opened.page)
            seen = self._over(state, opened, data)
        self._agree(state, seen, digest(data))
        context.tally["written"] += 1

    def _over(self, state: NoteState, opened: Opened, data: bytes) -> Seen:
        """Write over a file that was read, after moving it to the name it is to have.

        It is moved first: so there are never two files of one note, wherever this is cut off.
        """
        path = opened.path
        if path != state.path:
            moved = self._context.folder.move(path, state.path, over=opened.digest)
            self._write_down(state, _moved(state.known, moved))
            path = moved.path
        return self._context.folder.write(path, data, over=opened.digest)

    def _agree(self, state: NoteState, seen: Seen, digest: bytes) -> None:
        agreed = state.agreement(seen, digest)
        if agreed != state.agreed:
            with self._context.ledger.batch():
                self._write_down(state, agreed)
                self._context.ledger.no_problem(seen.path)

    def _write_down(self, state: NoteState, agreed: LedgerEntry) -> None:
        dirty.put(agreed, before=state.agreed, neighbours=state.neighbours, context=self._context)
        self._written[state.id] = agreed

    def _take_away(self, state: NoteState, over: bytes) -> None:
        self._context.folder.remove(state.known.path, over=over)
        self._context.tally["removed"] += 1
        self._let_go(state)

    def _let_go(self, state: NoteState) -> None:
        agreed = state.agreed
        if agreed is None:
            return
        ledger = self._context.ledger
        with ledger.batch():
            if has_file(agreed):
                ledger.no_problem(agreed.path)
            version = state.memory.version if state.memory is not None else agreed.version
            left = replace(agreed, version=version, branch=MAIN, reviewed_at=None, created_at=None)
            left = replace(left, path=away(state.id, agreed.path))
            if left != agreed:
                self._write_down(state, left)
            if state.memory is None:
                ledger.drop(state.id)


def _is_told(final: Note, opened: Opened, *, is_news: bool) -> bool:
    """Whether a file says all of it, or where there is no news all but the time at which it was changed."""
    told = final if is_news else replace(final, updated_at=opened.note.updated_at)
    return render(told, like=opened.page) == opened.data


def _final(state: NoteState, note: Note, opened: Opened | None, wanted: list[Link]) -> Note:
    """What the file is to say: the note, with what only the store knows of it."""
    told = state.sheet
    final = dressed(note, told)
    listed = {link.target for link in told.linked}
    if opened is not None:
        rest = [one for one in unresolved(opened.note, wanted) if one.target not in listed]
        return replace(final, linked=(*told.linked, *rest))
    return replace(final, linked=(*told.linked, *(one for one in wanted if one.text and one.target not in listed)))


def _moved(agreed: LedgerEntry, seen: Seen) -> LedgerEntry:
    return replace(agreed, path=seen.path, size=seen.size, mtime_ns=seen.mtime_ns, inode=seen.inode)
