"""From the files to the store: what somebody has written or changed in an editor."""

from dataclasses import replace
from pathlib import PurePosixPath

from scrubjay.errors import FileChanged, InvalidInput, KeyReused, StaleVersion
from scrubjay.lookup.branches import branch_id, branches_of
from scrubjay.model.draft import Caller, Draft
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import MAIN, Memory, Method, Source
from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.markdown.aliases import with_aliases
from scrubjay.notes.markdown.naming import link_target
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.sync.conflicts import saved_at, set_apart
from scrubjay.notes.sync.context import AGENT, Opened, SyncContext, has_file
from scrubjay.notes.sync.links import Links
from scrubjay.notes.sync.mapping import EXTRA, completed, edit_of, joined, sheet_of
from scrubjay.notes.sync.state import NoteState, note_states
from scrubjay.notes.sync.to_files import Mirror

__all__ = ["Intake"]

# So many versions are looked through for the one that a file shows whose ledger is lost.
_LOOKED_THROUGH = 100
_LONGEST_REMARK = 1_000


class Intake:
    """Takes in the files of one vault."""

    def __init__(self, context: SyncContext, *, links: Links, mirror: Mirror) -> None:
        self._context = context
        self._links = links
        self._mirror = mirror

    async def join(self, state: NoteState, opened: Opened) -> None:
        """Bring together what file and store have each made of a note; what cannot be is kept apart, and told."""
        base = await self._base(state.known)
        who = self._context.who()
        if base is None:
            await self._part(state, completed(opened.page, state.sheet), opened, who=who)
            return
        common = sheet_of(base, now=self._context.now)
        said = completed(opened.page, common)
        note, clashes = joined(common, state.sheet, said)
        if clashes:
            await self._part(state, said, opened, base=base.content, who=who)
            return
        edit = edit_of(state.shown, state.sheet, note, message=_edited(opened))
        if edit is not None:
            if state.branch != MAIN:
                # Which of two that differ is the newer, their times tell.
                edit = replace(edit, at=saved_at(opened.seen, after=base.updated_at, now=self._context.now))
            await self._context.engine.revise(state.id, edit, who=who)
            self._context.tally["taken"] += 1
        await self._settle(state, note, opened, base=base.content, who=who)

    async def show(self, state: NoteState, opened: Opened | None) -> None:
        """Have the file tell what the store has made of a note; one that is there is as it was agreed on."""
        note = state.sheet
        base = await self._base(state.agreed) if state.agreed is not None else None
        before = base.content if base else ""
        if opened is not None:
            if base is None:
                # The store has lost what the file says, as one from a backup has.
                await self.join(state, opened)
                return
            common = sheet_of(base, now=self._context.now)
            # What the store was never told, such as a secret, stays in the file.
            note, _ = joined(common, note, completed(opened.page, common))
        if before != state.shown.content:
            was_linked, who = base is not None and bool(state.neighbours), self._context.who()
            if await self._links.mention(state.shown, before=before, was_linked=was_linked, who=who):
                state = await self._again(state)
        await self._context.embed(state.shown, before=before)
        await self._mirror.put(state, note, opened, is_news=True)

    async def create(self, opened: Opened, *, known_as: str = "") -> str:
        """Make a memory of a new file; tells its id, or nothing where the file says nothing yet."""
        if opened.is_blank:
            return ""
        draft = _draft(opened, known_as=known_as)
        try:
            done = await self._context.engine.remember(draft, who=self._context.who())
        except KeyReused:
            # It was renamed after somebody was cut off here.
            done = None
        if done is None or await self._context.do(self._is_elsewhere, done.id, opened.path):
            draft = replace(draft, idempotency_key="")
            done = await self._context.engine.remember(draft, who=self._context.who())
        if not done.id:
            raise InvalidInput(f"it was not taken: {'; '.join(done.warnings)}")
        self._context.tally["created"] += 1
        return done.id

    def _is_elsewhere(self, memory_id: str, path: str) -> bool:
        """Whether the memory that a file once became has another file by now. To be called by `do`."""
        row = self._context.ledger.get(memory_id)
        return row is not None and has_file(row) and row.path != path

    async def complete(self, memory_id: str, opened: Opened) -> None:
        """Give a new file what only the store knows, after its memory was made."""
        state = (await note_states([memory_id], context=self._context))[memory_id]
        agreed = replace(replace(state, agreed=None).agreement(opened.seen, opened.digest), links=())
        # Nobody has written that down yet, also where the file needs nothing more.
        state = replace(state, agreed=replace(agreed, digest=b""))
        note = completed(opened.page, state.sheet)
        try:
            await self._settle(state, note, opened, base="", who=self._context.who(), is_fresh=True)
        except FileChanged:
            # It is being written just now: from here on it is known whose file it is, and it is looked at again.
            await self._context.do(self._context.ledger.put, agreed)
            raise

    async def adopt(self, state: NoteState, opened: Opened) -> None:
        """Take up a file of a memory that nobody knows to have one: the ledger was lost, or it was cut off."""
        shown = await self._version_shown(state.own, opened)
        line, version = shown if shown is not None else (state.own, 0)
        state = replace(state, record=line)
        agreed = state.agreement(opened.seen, b"")
        if state.agreed is not None:
            # It may be back under another name than the one it had.
            agreed = replace(agreed, named_by_us=state.agreed.named_by_us and opened.path == state.path)
        # Nobody knows what was taken out of it: no link was.
        await self.join(replace(state, agreed=replace(agreed, version=version, links=())), opened)

    async def rescue(self, state: NoteState, opened: Opened) -> None:
        """Keep what a file says of a memory that is not alive, as a version of it; then the file goes."""
        told = sheet_of(state.own, now=self._context.now)
        edit = edit_of(state.own, told, completed(opened.page, told), message=_edited(opened))
        if edit is not None:
            await self._context.engine.revise(state.id, edit, who=self._context.who())
            self._context.tally["taken"] += 1
        again = (await note_states([state.id], context=self._context))[state.id]
        await self._mirror.take_away(again, opened)

    async def _part(self, state: NoteState, said: Note, opened: Opened, *, base: str = "", who: Caller) -> None:
        """Keep what a file says beside what the store says."""
        at = await self._fork(state)
        line = await set_apart(state.own, said, at=at, seen=opened.seen, context=self._context, who=who)
        await self._settle(replace(state, record=line), said, opened, base=base, who=who, is_news=False)

    async def _fork(self, state: NoteState) -> int:
        """The version of main that the file came of."""
        if state.known.branch == MAIN:
            return min(max(state.known.version, 1), state.own.version)
        place = branch_id(state.id, state.known.branch)
        line = (await self._context.store.get(self._context.space, [place])).get(place)
        return line.forked if line is not None else state.own.version

    async def _settle(
        self,
        state: NoteState,
        note: Note,
        opened: Opened,
        *,
        base: str,
        who: Caller,
        is_news: bool | None = None,
        is_fresh: bool = False,
    ) -> None:
        """Take the links of a file whose words were taken, and give it what is new in the store.

        `is_fresh`: nothing was written to the store since it was looked at.
        """
        told, is_news = "links" in opened.page.told, _is_news(state) if is_news is None else is_news
        # What was in a file of which nobody has kept a note was there before.
        is_anew = is_fresh or bool(state.known.digest)
        is_linked = await self._links.take(
            state.id, opened.note, base=base, agreed=state.known, told=told, is_anew=is_anew, who=who
        )
        again = state if is_fresh and not is_linked else await self._again(state)
        await self._context.embed(again.shown, before=base)
        await self._mirror.put(again, note, opened, is_news=is_news)

    async def _again(self, state: NoteState) -> NoteState:
        """Where a note stands now, of which the file shows the same line of versions as before."""
        place = state.shown.id
        line = (await self._context.store.get(self._context.space, [place])).get(place)
        if line is None:
            raise StaleVersion("the memory was purged meanwhile", hint="Try again")
        again = (await note_states([state.id], context=self._context))[state.id]
        return replace(again, record=line, agreed=state.agreed)

    async def _base(self, agreed: LedgerEntry) -> Memory | None:
        """What the memory said when both agreed."""
        place = agreed.memory_id if agreed.branch == MAIN else branch_id(agreed.memory_id, agreed.branch)
        found = await self._context.store.version(self._context.space, place, agreed.version)
        return None if found is None else found.memory

    async def _version_shown(self, memory: Memory, opened: Opened) -> tuple[Memory, int] | None:
        """The line of versions and the version that a file tells, or was begun at by what it says of itself."""
        lines = [memory, *await branches_of(self._context.store, [memory])]
        by_time: tuple[Memory, int] | None = None
        for line in lines:
            for version in await self._context.store.versions(self._context.space, line.id, limit=_LOOKED_THROUGH):
                told = sheet_of(version.memory, now=self._context.now)
                if edit_of(version.memory, told, completed(opened.page, told), message="") is None:
                    return line, version.number
                if by_time is None and told.updated_at == opened.note.updated_at:
                    by_time = line, version.number
        return by_time


def _is_news(state: NoteState) -> bool:
    """Whether the store has something to tell that the file did not."""
    return (state.known.branch, state.known.version) != (state.branch, state.shown.version)


def _edited(opened: Opened) -> str:
    return f"edited in {opened.path}"[:_LONGEST_REMARK]


def _draft(opened: Opened, *, known_as: str) -> Draft:
    """A new file as it is handed in. Should this be cut off, the same file makes no second memory."""
    note, seen = opened.note, opened.seen
    place = PurePosixPath(link_target(opened.path))
    folder = str(place.parent) if str(place.parent) != "." else ""
    return Draft(
        text=note.content,
        id=known_as,
        title=note.title or place.name,
        # What is called so has no file of its own.
        kind="" if note.kind == ATTACHMENT else note.kind,
        observations=tuple(observation for observation in note.observations if observation.strip()),
        tags=note.tags,
        category=note.category or folder,
        intent="new",
        fixed=True,
        pinned=note.pinned,
        source=Source(method=Method.FILE, agent=AGENT, at=note.created_at),
        metadata=with_aliases({EXTRA: note.extra}, before="", after=note.extra) if note.extra else {},
        idempotency_key=f"file {opened.digest.hex()} {seen.inode} {seen.mtime_ns}",
    )
