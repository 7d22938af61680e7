"""From the store to the files: a note is written, moved to its name, or taken away."""

from dataclasses import replace

from scrubjay.model.memory import MAIN
from scrubjay.notes.disk.ledger import Agreed
from scrubjay.notes.disk.seen import Seen, digest
from scrubjay.notes.page.format import render
from scrubjay.notes.page.note import Link, Note
from scrubjay.notes.syncing import marking
from scrubjay.notes.syncing.hands import Hands, Opened, away, has_file
from scrubjay.notes.syncing.linking import unresolved
from scrubjay.notes.syncing.sheet import dressed
from scrubjay.notes.syncing.standing import Stance

__all__ = ["Mirror"]


class Mirror:
    """Writes the files of one vault."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._written: dict[str, Agreed] = {}

    def written(self, stance: Stance) -> Agreed | None:
        """What is agreed on about a note, after something was done about it."""
        return self._written.pop(stance.id, stance.agreed)

    async def put(self, stance: Stance, note: Note, opened: Opened | None, *, is_news: bool) -> None:
        """Have the file tell a note, and write down that both agree.

        `is_news`: the store has something to tell. Else the file is left as its author wrote it, if nothing but the
        time at which it was changed would differ.
        """
        await self._hands.do(self._put, stance, note, opened, is_news=is_news)

    async def note(self, stance: Stance, opened: Opened) -> None:
        """Write down the times of a file that says what it did."""
        await self._hands.do(self._agree, stance, opened.seen, opened.digest)

    async def take_away(self, stance: Stance, opened: Opened | None) -> None:
        """Remove the file of a memory that is not alive any more, if it is as it was read, or else agreed on."""
        await self._hands.do(self._take_away, stance, opened.digest if opened else stance.known.digest)

    async def let_go(self, stance: Stance) -> None:
        """Write down that a note has no file, or that there is none of it at all."""
        await self._hands.do(self._let_go, stance)

    def _put(self, stance: Stance, note: Note, opened: Opened | None, *, is_news: bool) -> None:
        hands = self._hands
        # Only a file can have links that lead nowhere.
        may_want = stance.agreed is not None and (opened is None or bool(opened.note.linked))
        wanted = hands.ledger.wants_of(stance.id) if may_want else []
        final = _final(stance, note, opened, wanted)
        if opened is None:
            data = render(final)
            seen = hands.folder.write(stance.path, data, over=None)
        elif opened.path == stance.path and _is_told(final, opened, is_news=is_news):
            self._agree(stance, opened.seen, opened.digest)
            return
        else:
            data = render(final, like=opened.page)
            seen = self._over(stance, opened, data)
        self._agree(stance, seen, digest(data))
        hands.tally["written"] += 1

    def _over(self, stance: Stance, opened: Opened, data: bytes) -> Seen:
        """Write over a file that was read, after moving it to the name it is to have.

        It is moved first: so there are never two files of one note, wherever this is cut off.
        """
        path = opened.path
        if path != stance.path:
            moved = self._hands.folder.move(path, stance.path, over=opened.digest)
            self._write_down(stance, _moved(stance.known, moved))
            path = moved.path
        return self._hands.folder.write(path, data, over=opened.digest)

    def _agree(self, stance: Stance, seen: Seen, digest: bytes) -> None:
        agreed = stance.agreement(seen, digest)
        if agreed != stance.agreed:
            with self._hands.ledger.batch():
                self._write_down(stance, agreed)
                self._hands.ledger.no_problem(seen.path)

    def _write_down(self, stance: Stance, agreed: Agreed) -> None:
        marking.put(agreed, before=stance.agreed, neighbours=stance.neighbours, hands=self._hands)
        self._written[stance.id] = agreed

    def _take_away(self, stance: Stance, over: bytes) -> None:
        self._hands.folder.remove(stance.known.path, over=over)
        self._hands.tally["removed"] += 1
        self._let_go(stance)

    def _let_go(self, stance: Stance) -> None:
        agreed = stance.agreed
        if agreed is None:
            return
        ledger = self._hands.ledger
        with ledger.batch():
            if has_file(agreed):
                ledger.no_problem(agreed.path)
            version = stance.memory.version if stance.memory is not None else agreed.version
            left = replace(agreed, version=version, branch=MAIN, reviewed_at=None, created_at=None)
            left = replace(left, path=away(stance.id, agreed.path))
            if left != agreed:
                self._write_down(stance, left)
            if stance.memory is None:
                ledger.drop(stance.id)


def _is_told(final: Note, opened: Opened, *, is_news: bool) -> bool:
    """Whether a file says all of it, or where there is no news all but the time at which it was changed."""
    told = final if is_news else replace(final, updated_at=opened.note.updated_at)
    return render(told, like=opened.page) == opened.data


def _final(stance: Stance, note: Note, opened: Opened | None, wanted: list[Link]) -> Note:
    """What the file is to say: the note, with what only the store knows of it."""
    told = stance.sheet
    final = dressed(note, told)
    listed = {link.target for link in told.linked}
    if opened is not None:
        rest = [one for one in unresolved(opened.note, wanted) if one.target not in listed]
        return replace(final, linked=(*told.linked, *rest))
    return replace(final, linked=(*told.linked, *(one for one in wanted if one.text and one.target not in listed)))


def _moved(agreed: Agreed, seen: Seen) -> Agreed:
    return replace(agreed, path=seen.path, size=seen.size, mtime_ns=seen.mtime_ns, inode=seen.inode)
