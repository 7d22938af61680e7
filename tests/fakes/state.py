"""What the fake store holds: one room a space, one log for all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from scrubjay.model.change import Action, Change, Origin
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State, Tier
from scrubjay.model.passage import Passage, StoredPassage, Vector, passage_id
from scrubjay.model.query import Filter, facets_of
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import to_micros
from scrubjay.model.token import Token
from scrubjay.model.version import Version
from scrubjay.ports.commit import StoredAnswer

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory with all that belongs to it alone. `hashes` are those of every text it ever had."""

    memory: Memory
    number: int
    versions: tuple[Version, ...]
    passages: tuple[Passage, ...]
    hashes: frozenset[bytes]


@dataclass(slots=True)
class Room:
    """One space."""

    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    relations: dict[Key, Relation] = field(default_factory=dict[Key, Relation])
    vectors: dict[tuple[str, bytes], Vector] = field(default_factory=dict[tuple[str, bytes], Vector])
    answers: dict[bytes, StoredAnswer] = field(default_factory=dict[bytes, StoredAnswer])
    names: dict[str, str] = field(default_factory=dict[str, str])
    documents: dict[tuple[str, str], Document] = field(default_factory=dict[tuple[str, str], Document])

    def copy(self) -> "Room":
        """A room to try a commit in; what it holds is immutable, so the dicts suffice."""
        return Room(
            entries=dict(self.entries),
            relations=dict(self.relations),
            vectors=dict(self.vectors),
            answers=dict(self.answers),
            names=dict(self.names),
            documents=dict(self.documents),
        )

    def put(self, entry: Entry) -> None:
        """Set an entry and keep the register of live names true."""
        before = self.entries.get(entry.memory.id)
        if before and before.memory.state is State.LIVE:
            del self.names[before.memory.name]
        self.entries[entry.memory.id] = entry
        if entry.memory.state is State.LIVE:
            self.names[entry.memory.name] = entry.memory.id

    def drop(self, memory_id: str) -> None:
        """Remove an entry and its name."""
        gone = self.entries.pop(memory_id)
        if gone.memory.state is State.LIVE:
            del self.names[gone.memory.name]

    def passing(self, filter: Filter) -> list[Entry]:
        """The entries that a filter asks for."""
        return [entry for entry in self.entries.values() if passes(entry.memory, filter)]


@dataclass(slots=True)
class House:
    """The whole store."""

    rooms: dict[str, Room] = field(default_factory=dict[str, Room])
    changes: list[Change] = field(default_factory=list[Change])
    undoings: list[tuple[str, Origin, int]] = field(default_factory=list[tuple[str, Origin, int]])
    tokens: dict[bytes, Token] = field(default_factory=dict[bytes, Token])
    numbers: int = 0

    def room(self, space: str) -> Room:
        """A space's room; an unknown space has an empty one."""
        return self.rooms.get(space) or Room()

    @property
    def last_seq(self) -> int:
        """The number of the newest change."""
        return self.changes[-1].seq if self.changes else 0

    def last_place(self, space: str) -> int:
        """How many changes a space has seen."""
        return sum(change.space == space for change in self.changes)


class Draft:
    """A copy of one room in which a commit is tried; `accept` makes it the real one."""

    def __init__(self, house: House, space: str, *, origin: Origin) -> None:
        self._house = house
        self._space = space
        self._origin = origin
        self._changes: list[Change] = []
        self._numbers = house.numbers
        self.room = house.room(space).copy()

    def next_number(self) -> int:
        """A number for a new memory."""
        self._numbers += 1
        return self._numbers

    def note(
        self, entry: Entry, action: Action, *, base: int | None, before: int, relation: Relation | None = None
    ) -> None:
        """Add a change to the log."""
        self._changes.append(
            Change(
                seq=self._house.last_seq + len(self._changes) + 1,
                place=self._house.last_place(self._space) + len(self._changes) + 1,
                space=self._space,
                memory_id=entry.memory.id,
                number=entry.number,
                action=action,
                version=entry.memory.version,
                base=base,
                passages_before=before,
                at=self._origin.at,
                agent=self._origin.agent,
                run=self._origin.run,
                relation=relation,
            )
        )

    def forget_relations(self, ids: Iterable[str]) -> None:
        """Take the relations of purged memories out of the log."""
        gone = set(ids)
        self._house.changes[:] = [
            replace(change, relation=None)
            if change.space == self._space
            and change.relation
            and gone & {change.relation.source, change.relation.target}
            else change
            for change in self._house.changes
        ]

    def accept(self) -> int:
        """Make it real; returns the log position."""
        self._house.rooms[self._space] = self.room
        self._house.changes += self._changes
        self._house.numbers = self._numbers
        if self._origin.undoes:
            self._house.undoings.append((self._space, self._origin, self._house.last_seq))
        return self._house.last_seq


class Housed:
    """What the parts of the fake store share."""

    def __init__(self, house: House | None = None) -> None:
        self._house = house or House()


def passes(memory: Memory, filter: Filter) -> bool:
    """Whether a memory is one of those that a filter asks for."""
    held = set(facets_of(memory))
    return (
        memory.state is filter.state
        and all(held.intersection(group) for group in filter.facet_groups)
        and (filter.since is None or memory.date >= filter.since)
        and (filter.until is None or memory.date < filter.until)
    )


def stored(entry: Entry) -> Sequence[StoredPassage]:
    """The passages of an entry as they are handed out."""
    return [
        StoredPassage(
            id=passage_id(entry.number, passage.ordinal),
            memory_id=entry.memory.id,
            observation=passage.observation,
            start=passage.start,
            end=passage.end,
            hash=passage.hash,
            terms=" ".join(passage.terms),
            date=to_micros(entry.memory.date),
            who=" ".join(passage.who),
            asks=passage.asks,
            tier=list(Tier).index(entry.memory.tier),
            relevance=entry.memory.relevance,
            confirmed=None if entry.memory.last_confirmed is None else to_micros(entry.memory.last_confirmed),
            accesses=entry.memory.access_count,
        )
        for passage in entry.passages
    ]
