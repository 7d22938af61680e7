"""From the files to the store: what somebody has written or changed in an editor."""

from dataclasses import replace
from pathlib import PurePosixPath

from scrubjay.branches import branch_id, branches_of
from scrubjay.errors import FileChanged, InvalidInput, KeyReused, StaleVersion
from scrubjay.model.draft import Caller, Draft
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import MAIN, Memory, Method, Source
from scrubjay.notes.disk.ledger import Agreed
from scrubjay.notes.page.aliases import with_aliases
from scrubjay.notes.page.naming import link_target
from scrubjay.notes.page.note import Note
from scrubjay.notes.syncing.clashing import saved_at, set_apart
from scrubjay.notes.syncing.hands import AGENT, Hands, Opened, has_file
from scrubjay.notes.syncing.linking import Links
from scrubjay.notes.syncing.mirror import Mirror
from scrubjay.notes.syncing.sheet import EXTRA, completed, edit_of, joined, sheet_of
from scrubjay.notes.syncing.standing import Stance, stances

__all__ = ["Intake"]

# So many versions are looked through for the one that a file shows whose ledger is lost.
_LOOKED_THROUGH = 100
_LONGEST_REMARK = 1_000


class Intake:
    """Takes in the files of one vault."""

    def __init__(self, hands: Hands, *, links: Links, mirror: Mirror) -> None:
        self._hands = hands
        self._links = links
        self._mirror = mirror

    async def join(self, stance: Stance, opened: Opened) -> None:
        """Bring together what file and store have each made of a note; what cannot be is kept apart, and told."""
        base = await self._base(stance.known)
        who = self._hands.who()
        if base is None:
            await self._part(stance, completed(opened.page, stance.sheet), opened, who=who)
            return
        common = sheet_of(base, now=self._hands.now)
        said = completed(opened.page, common)
        note, clashes = joined(common, stance.sheet, said)
        if clashes:
            await self._part(stance, said, opened, base=base.content, who=who)
            return
        edit = edit_of(stance.shown, stance.sheet, note, message=_edited(opened))
        if edit is not None:
            if stance.branch != MAIN:
                # Which of two that differ is the newer, their times tell.
                edit = replace(edit, at=saved_at(opened.seen, after=base.updated_at, now=self._hands.now))
            await self._hands.engine.revise(stance.id, edit, who=who)
            self._hands.tally["taken"] += 1
        await self._settle(stance, note, opened, base=base.content, who=who)

    async def show(self, stance: Stance, opened: Opened | None) -> None:
        """Have the file tell what the store has made of a note; one that is there is as it was agreed on."""
        note = stance.sheet
        base = await self._base(stance.agreed) if stance.agreed is not None else None
        before = base.content if base else ""
        if opened is not None:
            if base is None:
                # The store has lost what the file says, as one from a backup has.
                await self.join(stance, opened)
                return
            common = sheet_of(base, now=self._hands.now)
            # What the store was never told, such as a secret, stays in the file.
            note, _ = joined(common, note, completed(opened.page, common))
        if before != stance.shown.content:
            was_linked, who = base is not None and bool(stance.neighbours), self._hands.who()
            if await self._links.mention(stance.shown, before=before, was_linked=was_linked, who=who):
                stance = await self._again(stance)
        await self._hands.embed(stance.shown, before=before)
        await self._mirror.put(stance, note, opened, is_news=True)

    async def create(self, opened: Opened, *, known_as: str = "") -> str:
        """Make a memory of a new file; tells its id, or nothing where the file says nothing yet."""
        if opened.is_blank:
            return ""
        draft = _draft(opened, known_as=known_as)
        try:
            done = await self._hands.engine.remember(draft, who=self._hands.who())
        except KeyReused:
            # It was renamed after somebody was cut off here.
            done = None
        if done is None or await self._hands.do(self._is_elsewhere, done.id, opened.path):
            draft = replace(draft, idempotency_key="")
            done = await self._hands.engine.remember(draft, who=self._hands.who())
        if not done.id:
            raise InvalidInput(f"it was not taken: {'; '.join(done.warnings)}")
        self._hands.tally["created"] += 1
        return done.id

    def _is_elsewhere(self, memory_id: str, path: str) -> bool:
        """Whether the memory that a file once became has another file by now. To be called by `do`."""
        row = self._hands.ledger.get(memory_id)
        return row is not None and has_file(row) and row.path != path

    async def complete(self, memory_id: str, opened: Opened) -> None:
        """Give a new file what only the store knows, after its memory was made."""
        stance = (await stances([memory_id], hands=self._hands))[memory_id]
        agreed = replace(replace(stance, agreed=None).agreement(opened.seen, opened.digest), links=())
        # Nobody has written that down yet, also where the file needs nothing more.
        stance = replace(stance, agreed=replace(agreed, digest=b""))
        note = completed(opened.page, stance.sheet)
        try:
            await self._settle(stance, note, opened, base="", who=self._hands.who(), is_fresh=True)
        except FileChanged:
            # It is being written just now: from here on it is known whose file it is, and it is looked at again.
            await self._hands.do(self._hands.ledger.put, agreed)
            raise

    async def adopt(self, stance: Stance, opened: Opened) -> None:
        """Take up a file of a memory that nobody knows to have one: the ledger was lost, or it was cut off."""
        shown = await self._version_shown(stance.own, opened)
        line, version = shown if shown is not None else (stance.own, 0)
        stance = replace(stance, record=line)
        agreed = stance.agreement(opened.seen, b"")
        if stance.agreed is not None:
            # It may be back under another name than the one it had.
            agreed = replace(agreed, named_by_us=stance.agreed.named_by_us and opened.path == stance.path)
        # Nobody knows what was taken out of it: no link was.
        await self.join(replace(stance, agreed=replace(agreed, version=version, links=())), opened)

    async def rescue(self, stance: Stance, opened: Opened) -> None:
        """Keep what a file says of a memory that is not alive, as a version of it; then the file goes."""
        told = sheet_of(stance.own, now=self._hands.now)
        edit = edit_of(stance.own, told, completed(opened.page, told), message=_edited(opened))
        if edit is not None:
            await self._hands.engine.revise(stance.id, edit, who=self._hands.who())
            self._hands.tally["taken"] += 1
        again = (await stances([stance.id], hands=self._hands))[stance.id]
        await self._mirror.take_away(again, opened)

    async def _part(self, stance: Stance, said: Note, opened: Opened, *, base: str = "", who: Caller) -> None:
        """Keep what a file says beside what the store says."""
        at = await self._fork(stance)
        line = await set_apart(stance.own, said, at=at, seen=opened.seen, hands=self._hands, who=who)
        await self._settle(replace(stance, record=line), said, opened, base=base, who=who, is_news=False)

    async def _fork(self, stance: Stance) -> int:
        """The version of main that the file came of."""
        if stance.known.branch == MAIN:
            return min(max(stance.known.version, 1), stance.own.version)
        place = branch_id(stance.id, stance.known.branch)
        line = (await self._hands.store.get(self._hands.space, [place])).get(place)
        return line.forked if line is not None else stance.own.version

    async def _settle(
        self,
        stance: Stance,
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
        told, is_news = "links" in opened.page.told, _is_news(stance) if is_news is None else is_news
        # What was in a file of which nobody has kept a note was there before.
        is_anew = is_fresh or bool(stance.known.digest)
        is_linked = await self._links.take(
            stance.id, opened.note, base=base, agreed=stance.known, told=told, is_anew=is_anew, who=who
        )
        again = stance if is_fresh and not is_linked else await self._again(stance)
        await self._hands.embed(again.shown, before=base)
        await self._mirror.put(again, note, opened, is_news=is_news)

    async def _again(self, stance: Stance) -> Stance:
        """Where a note stands now, of which the file shows the same line of versions as before."""
        place = stance.shown.id
        line = (await self._hands.store.get(self._hands.space, [place])).get(place)
        if line is None:
            raise StaleVersion("the memory was purged meanwhile", hint="Try again")
        again = (await stances([stance.id], hands=self._hands))[stance.id]
        return replace(again, record=line, agreed=stance.agreed)

    async def _base(self, agreed: Agreed) -> Memory | None:
        """What the memory said when both agreed."""
        place = agreed.memory_id if agreed.branch == MAIN else branch_id(agreed.memory_id, agreed.branch)
        found = await self._hands.store.version(self._hands.space, place, agreed.version)
        return None if found is None else found.memory

    async def _version_shown(self, memory: Memory, opened: Opened) -> tuple[Memory, int] | None:
        """The line of versions and the version that a file tells, or was begun at by what it says of itself."""
        lines = [memory, *await branches_of(self._hands.store, [memory])]
        by_time: tuple[Memory, int] | None = None
        for line in lines:
            for version in await self._hands.store.versions(self._hands.space, line.id, limit=_LOOKED_THROUGH):
                told = sheet_of(version.memory, now=self._hands.now)
                if edit_of(version.memory, told, completed(opened.page, told), message="") is None:
                    return line, version.number
                if by_time is None and told.updated_at == opened.note.updated_at:
                    by_time = line, version.number
        return by_time


def _is_news(stance: Stance) -> bool:
    """Whether the store has something to tell that the file did not."""
    return (stance.known.branch, stance.known.version) != (stance.branch, stance.shown.version)


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
        observations=tuple(one for one in note.observations if one.strip()),
        tags=note.tags,
        category=note.category or folder,
        intent="new",
        fixed=True,
        pinned=note.pinned,
        source=Source(method=Method.FILE, agent=AGENT, at=note.created_at),
        metadata=with_aliases({EXTRA: note.extra}, before="", after=note.extra) if note.extra else {},
        idempotency_key=f"file {opened.digest.hex()} {seen.inode} {seen.mtime_ns}",
    )
