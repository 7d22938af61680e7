"""The state of a note: its memory, the note that its file should show, its links, and its ledger entry."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from scrubjay.errors import BodyDamaged
from scrubjay.lazy import dataclass
from scrubjay.lookup.branches import branch_id
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import MAIN, Memory, State
from scrubjay.model.relation import LINK, Relation
from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.files.tree import FileInfo
from scrubjay.notes.markdown.aliases import aliases_of
from scrubjay.notes.markdown.naming import PATH_KEY, default_path, link_target, with_suffix
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.sync import MemoryChange
from scrubjay.notes.sync.conflicts import is_undecided
from scrubjay.notes.sync.context import SyncContext, has_file, last_path
from scrubjay.notes.sync.links import ids_named_in, is_from_text, other_end
from scrubjay.notes.sync.mapping import LinkedNote, creation_time, note_of

__all__ = ["NoteState", "StatePrefetch", "is_note", "load_state", "load_states"]

# After more changes than this, each state is loaded by itself.
_MAX_CHANGES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteState:
    """The state of one note. `shown` is what its file should show: the memory, or an undecided branch of it."""

    id: str
    memory: Memory | None
    shown: Memory | None
    entry: LedgerEntry | None
    linked: tuple[LinkedNote, ...] = ()
    neighbours: tuple[str, ...] = ()
    now: datetime
    by_title: bool = False

    def require_entry(self) -> LedgerEntry:
        """Return the ledger entry, which must exist."""
        assert self.entry is not None
        return self.entry

    def require_memory(self) -> Memory:
        """Return the memory, which must exist."""
        assert self.memory is not None
        return self.memory

    def require_shown(self) -> Memory:
        """Return what the file should show; the memory must exist."""
        assert self.shown is not None
        return self.shown

    @property
    def memory_change(self) -> MemoryChange:
        """The change of the memory since the last sync."""
        if self.memory is None or self.shown is None:
            return MemoryChange.PURGED
        # We do not take a file away from its author while the memory waits for approval.
        is_waiting = self.has_file and self.memory.state is State.WAITING
        if not is_note(self.memory) and not is_waiting:
            return MemoryChange.INACTIVE
        if self.entry is None or (self.entry.branch, self.entry.version) != (self.branch, self.shown.version):
            return MemoryChange.CHANGED
        is_same = self.entry.links == self.ledger_links and self.entry.path == self.path
        return MemoryChange.SAME if is_same else MemoryChange.RELINKED

    @property
    def has_file(self) -> bool:
        """Whether the note had a file at the last sync."""
        return self.entry is not None and has_file(self.entry)

    @property
    def branch(self) -> str:
        """The name of the branch that the file shows."""
        return self.shown.branch if self.shown is not None and self.shown.trunk else MAIN

    @property
    def path(self) -> str:
        """The path that the file should have: a file that a user has named keeps its name."""
        if self.entry is not None and (not self.entry.auto_named or last_path(self.entry) in self._own_paths):
            return last_path(self.entry)
        return self._own_paths[0]

    @property
    def _own_paths(self) -> tuple[str, str]:
        """The path that we choose for the file, and the one if that is taken."""
        path = default_path(self.require_shown(), by_title=self.by_title)
        return path, with_suffix(path, self.id)

    @property
    def ledger_links(self) -> tuple[tuple[str, str], ...]:
        """The links in the form of the ledger."""
        return tuple((note.id, f"{note.target}\n{note.text}") for note in self.listed)

    @property
    def is_plain(self) -> bool:
        """Whether the file is a user's own, without our id."""
        return self.entry is not None and self.entry.plain

    @property
    def listed(self) -> tuple[LinkedNote, ...]:
        """The linked notes that the file should list."""
        return tuple(note for note in self.linked if not (self.is_plain and note.from_text))

    @property
    def note(self) -> Note:
        """The note that the file should show."""
        shown = self.require_shown()
        return note_of(shown, self.listed, now=self.now, unlisted=ids_named_in(shown.content, self.listed))

    def new_entry(self, info: FileInfo, digest: bytes) -> LedgerEntry:
        """Return the ledger entry for a file with this metadata that shows the note."""
        shown = self.require_shown()
        created = creation_time(shown)
        return LedgerEntry(
            memory_id=self.id, branch=self.branch, version=shown.version, path=info.path, size=info.size,
            mtime_ns=info.mtime_ns, inode=info.inode, digest=digest, links=self.ledger_links,
            auto_named=(
                info.path in self._own_paths and PATH_KEY not in shown.metadata
                if self.entry is None
                else self.entry.auto_named
            ),
            title=shown.label, category=shown.category, reviewed_at=shown.last_reviewed or created, created_at=created,
            aliases=aliases_of(shown.metadata), plain=self.is_plain,
        )  # fmt: skip


def is_note(memory: Memory) -> bool:
    """Whether a memory has a file of its own."""
    return memory.state is State.LIVE and not memory.trunk and memory.kind != ATTACHMENT


async def load_state(memory_id: str, *, context: SyncContext) -> NoteState:
    """Load the present state of one note."""
    return (await load_states([memory_id], context=context))[memory_id]


async def load_states(ids: Sequence[str], *, context: SyncContext) -> dict[str, NoteState]:
    """Load the present states of notes."""
    memories = await context.reader.get(context.space, ids)
    relations = await context.reader.relations(context.space, ids) if memories else []
    by_end: dict[str, list[Relation]] = {}
    for relation in relations:
        if relation.type == LINK:
            for end in {relation.source, relation.target}:
                by_end.setdefault(end, []).append(relation)
    other_ids = set(by_end) - set(memories)
    # An unreadable memory must not prevent the sync of those that link to it.
    others = await TolerantReader(context.reader, space=context.space).get(list(other_ids))
    readable = memories | {memory.id: memory for memory in others}
    entries = await context.run_blocking(context.get_entries, list({*ids, *other_ids}))
    shown = await _find_shown(memories, entries, context=context)
    now = context.now
    return {
        id_: NoteState(
            id=id_, memory=memories.get(id_), shown=shown.get(id_), entry=entries.get(id_),
            linked=tuple(
                _linked_notes(
                    by_end.get(id_, ()), id_, memories=readable, entries=entries, by_title=context.by_title
                )
            ),
            neighbours=tuple(dict.fromkeys(other_end(relation, id_) for relation in by_end.get(id_, ()))), now=now,
            by_title=context.by_title,
        )
        for id_ in ids
    }  # fmt: skip


class StatePrefetch:
    """Loads the states of many notes at once, and hands out each one that is still valid.

    The sync of one note may change the state of others: those are loaded again.
    """

    def __init__(self, context: SyncContext) -> None:
        self._context = context
        self._states: dict[str, NoteState] = {}
        self._changed: set[str] = set()
        self._place = 0

    async def load(self, ids: Sequence[str]) -> Mapping[str, NoteState]:
        """Load the states of notes; if one is unreadable, load each by itself later."""
        self._context.ledger.changed_ids.clear()
        self._changed.clear()
        self._place = await self._context.engine.change_log.last_place(self._context.space)
        try:
            self._states = await load_states(ids, context=self._context)
        except BodyDamaged:
            self._states = {}
        return dict(self._states)

    async def get(self, memory_id: str) -> NoteState:
        """Return the present state of a note; raise BodyDamaged if it is unreadable."""
        state = self._states.pop(memory_id, None)
        if state is not None:
            await self._read_changes()
            if self._is_valid(state):
                return state
        return await load_state(memory_id, context=self._context)

    async def _read_changes(self) -> None:
        """Collect the ids that have changed in the store since the last look."""
        log, space = self._context.engine.change_log, self._context.space
        if await log.last_place(space) == self._place:
            return
        changes = await log.changes_in(space, after=self._place, limit=_MAX_CHANGES)
        if len(changes) == _MAX_CHANGES:
            self._states.clear()
        for change in changes:
            self._changed.add(change.memory_id)
            self._changed |= {change.relation.source, change.relation.target} if change.relation else set[str]()
            self._place = change.place

    def _is_valid(self, state: NoteState) -> bool:
        # A decision about a branch that a file shows causes no change in the log.
        is_on_main = state.entry is None or state.entry.branch == MAIN
        # Of other entries only the names matter; a rename also adds the neighbours to `changed_ids`.
        is_unchanged = state.id not in self._context.ledger.changed_ids
        return is_on_main and is_unchanged and self._changed.isdisjoint((state.id, *state.neighbours))


async def _find_shown(
    memories: Mapping[str, Memory], entries: Mapping[str, LedgerEntry], *, context: SyncContext
) -> dict[str, Memory]:
    """Return what the files should show: a branch as long as its conflict is undecided, else the memory."""
    shown = dict(memories)
    for memory in memories.values():
        entry = entries.get(memory.id)
        if entry is None or entry.branch == MAIN or not is_note(memory):
            continue
        id_ = branch_id(memory.id, entry.branch)
        branch = (await context.reader.get(context.space, [id_])).get(id_)
        if branch is not None and await is_undecided(memory, branch, engine=context.engine):
            shown[memory.id] = branch
    return shown


def _linked_notes(
    relations: Iterable[Relation],
    memory_id: str,
    *,
    memories: Mapping[str, Memory],
    entries: Mapping[str, LedgerEntry],
    by_title: bool,
) -> Iterable[LinkedNote]:
    """Yield the notes that a note is linked with, the oldest link first."""
    seen: set[str] = set()
    for relation in sorted(relations, key=lambda relation: (relation.created_at, relation.source, relation.target)):
        other = memories.get(other_end(relation, memory_id))
        if other is None or other.id in seen or other.id == memory_id or not is_note(other):
            continue
        seen.add(other.id)
        entry = entries.get(other.id)
        path = entry.path if entry is not None and has_file(entry) else default_path(other, by_title=by_title)
        yield LinkedNote(
            id=other.id, target=link_target(path), text=relation.text_at(memory_id) or other.label,
            from_text=is_from_text(relation),
        )  # fmt: skip
