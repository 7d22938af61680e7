"""Where a note stands: its memory as the file is to tell it, what it is linked with, and what was agreed on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from scrubjay.lookup.branches import branch_id
from scrubjay.lookup.references import SoundReader
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import MAIN, Memory, State
from scrubjay.model.relation import LINK, Relation
from scrubjay.notes.files.entries import Seen
from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.markdown.aliases import aliases_of
from scrubjay.notes.markdown.naming import file_name, link_target
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.sync.conflicts import is_open
from scrubjay.notes.sync.context import SyncContext, has_file, last_path
from scrubjay.notes.sync.mapping import Linked, moment_of, sheet_of
from scrubjay.notes.sync.mentions import named_in
from scrubjay.notes.sync.reconcile import Kept

__all__ = ["NoteState", "is_note", "note_states"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteState:
    """One note. `record` is what its file is to tell: the memory itself, or the branch that the file has become."""

    id: str
    memory: Memory | None
    record: Memory | None
    agreed: LedgerEntry | None
    linked: tuple[Linked, ...] = ()
    neighbours: tuple[str, ...] = ()
    now: datetime

    @property
    def known(self) -> LedgerEntry:
        """What was agreed on, where something was."""
        assert self.agreed is not None
        return self.agreed

    @property
    def own(self) -> Memory:
        """The memory, where it is there."""
        assert self.memory is not None
        return self.memory

    @property
    def shown(self) -> Memory:
        """What the file is to tell, where the memory is there."""
        assert self.record is not None
        return self.record

    @property
    def kept(self) -> Kept:
        """What became of the memory since both agreed."""
        if self.memory is None or self.record is None:
            return Kept.GONE
        if not is_note(self.memory) and not self._waits:
            return Kept.AWAY
        if self.agreed is None or (self.agreed.branch, self.agreed.version) != (self.branch, self.record.version):
            return Kept.CHANGED
        is_same = self.agreed.links == self.links and self.agreed.path == self.path
        return Kept.SAME if is_same else Kept.RELABELLED

    @property
    def _waits(self) -> bool:
        """Whether a file waits for a person's yes: it is not taken away from who wrote it."""
        has_one = self.agreed is not None and has_file(self.agreed)
        return has_one and self.memory is not None and self.memory.state is State.WAITING

    @property
    def branch(self) -> str:
        """The branch that the file shows."""
        return self.record.branch if self.record is not None and self.record.trunk else MAIN

    @property
    def path(self) -> str:
        """Where the file is to be: what a user has named keeps its name."""
        if self.agreed is not None and not self.agreed.named_by_us:
            return last_path(self.agreed)
        return _own_path(self.shown)

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """What it is linked with, as the ledger keeps it."""
        return tuple((one.id, f"{one.target}\n{one.text}") for one in self.linked)

    @property
    def sheet(self) -> Note:
        """The note that the file is to tell."""
        listed = named_in(self.shown.content, self.linked)
        return sheet_of(self.shown, self.linked, now=self.now, unlisted=listed)

    def agreement(self, seen: Seen, digest: bytes) -> LedgerEntry:
        """What both agree on when the file is as seen."""
        named_by_us = seen.path == _own_path(self.shown) if self.agreed is None else self.agreed.named_by_us
        created = moment_of(self.shown)
        return LedgerEntry(
            memory_id=self.id, branch=self.branch, version=self.shown.version, path=seen.path, size=seen.size,
            mtime_ns=seen.mtime_ns, inode=seen.inode, digest=digest, links=self.links, named_by_us=named_by_us,
            title=self.shown.label, category=self.shown.category,
            reviewed_at=self.shown.last_reviewed or created, created_at=created,
            aliases=aliases_of(self.shown.metadata),
        )  # fmt: skip


def is_note(memory: Memory) -> bool:
    """Whether a memory has a file of its own."""
    return memory.state is State.LIVE and not memory.trunk and memory.kind != ATTACHMENT


async def note_states(ids: Sequence[str], *, context: SyncContext) -> dict[str, NoteState]:
    """Where some notes stand now."""
    memories = await context.store.get(context.space, ids)
    relations = (
        [relation for relation in await context.store.relations(context.space, ids) if relation.type == LINK]
        if memories
        else []
    )
    others = {end for relation in relations for end in (relation.source, relation.target)} - set(memories)
    # One that cannot be read must not hold up those that link it.
    sound = await SoundReader(context.store, space=context.space).get(list(others))
    known = memories | {one.id: one for one in sound}
    rows = await context.do(context.rows, list({*ids, *others}))
    records = await _shown(memories, rows, context=context)
    edges: dict[str, list[Relation]] = {}
    for relation in relations:
        for end in {relation.source, relation.target}:
            edges.setdefault(end, []).append(relation)
    found: dict[str, NoteState] = {}
    now = context.now
    for id_ in ids:
        own = edges.get(id_, [])
        neighbours = tuple(dict.fromkeys(_other(relation, id_) for relation in own))
        found[id_] = NoteState(
            id=id_, memory=memories.get(id_), record=records.get(id_), agreed=rows.get(id_),
            linked=tuple(_linked(own, id_, known=known, rows=rows)), neighbours=neighbours, now=now,
        )  # fmt: skip
    return found


async def _shown(
    memories: Mapping[str, Memory], rows: Mapping[str, LedgerEntry], *, context: SyncContext
) -> dict[str, Memory]:
    """What the files are to tell: a branch for as long as the conflict that it came of waits."""
    shown = dict(memories)
    for memory in memories.values():
        row = rows.get(memory.id)
        if row is None or row.branch == MAIN or not is_note(memory):
            continue
        line = (await context.store.get(context.space, [branch_id(memory.id, row.branch)])).get(
            branch_id(memory.id, row.branch)
        )
        if line is not None and await is_open(memory, line, store=context.store):
            shown[memory.id] = line
    return shown


def _linked(
    relations: Iterable[Relation], memory_id: str, *, known: Mapping[str, Memory], rows: Mapping[str, LedgerEntry]
) -> Iterable[Linked]:
    """The notes that one is linked with, the first first."""
    seen: set[str] = set()
    for relation in sorted(relations, key=lambda relation: (relation.created_at, relation.source, relation.target)):
        other = known.get(_other(relation, memory_id))
        if other is None or other.id in seen or other.id == memory_id or not is_note(other):
            continue
        seen.add(other.id)
        row = rows.get(other.id)
        path = row.path if row is not None and has_file(row) else _own_path(other)
        yield Linked(id=other.id, target=link_target(path), text=relation.text or other.label)


def _other(relation: Relation, memory_id: str) -> str:
    return relation.target if relation.source == memory_id else relation.source


def _own_path(memory: Memory) -> str:
    return file_name(category=memory.category, title=memory.label, id=memory.trunk or memory.id)
