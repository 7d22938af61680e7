"""The content of the fake store: a state for each space, and one log for all."""

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
    """A memory with its versions and passages. `hashes` are those of every text it ever had."""

    memory: Memory
    number: int
    versions: tuple[Version, ...]
    passages: tuple[Passage, ...]
    hashes: frozenset[bytes]


@dataclass(slots=True)
class SpaceState:
    """The content of one space."""

    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    relations: dict[Key, Relation] = field(default_factory=dict[Key, Relation])
    vectors: dict[tuple[str, bytes], Vector] = field(default_factory=dict[tuple[str, bytes], Vector])
    answers: dict[bytes, StoredAnswer] = field(default_factory=dict[bytes, StoredAnswer])
    names: dict[str, str] = field(default_factory=dict[str, str])
    documents: dict[tuple[str, str], Document] = field(default_factory=dict[tuple[str, str], Document])

    def copy(self) -> "SpaceState":
        """Return a copy to apply a commit to; the values are immutable, so copies of the dicts suffice."""
        return SpaceState(
            entries=dict(self.entries),
            relations=dict(self.relations),
            vectors=dict(self.vectors),
            answers=dict(self.answers),
            names=dict(self.names),
            documents=dict(self.documents),
        )

    def put(self, entry: Entry) -> None:
        """Set an entry, and update the live names."""
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
        """Return the entries that pass a filter."""
        return [entry for entry in self.entries.values() if passes(entry.memory, filter)]


@dataclass(slots=True)
class StoreState:
    """The content of the whole store."""

    spaces: dict[str, SpaceState] = field(default_factory=dict[str, SpaceState])
    changes: list[Change] = field(default_factory=list[Change])
    undoings: list[tuple[str, Origin, int]] = field(default_factory=list[tuple[str, Origin, int]])
    tokens: dict[bytes, Token] = field(default_factory=dict[bytes, Token])
    numbers: int = 0

    def space(self, space: str) -> SpaceState:
        """Return the state of a space; an unknown space has an empty one."""
        return self.spaces.get(space) or SpaceState()

    @property
    def last_seq(self) -> int:
        """The number of the newest change."""
        return self.changes[-1].seq if self.changes else 0

    def last_place(self, space: str) -> int:
        """Return the number of changes of a space."""
        return sum(change.space == space for change in self.changes)


class Draft:
    """A copy of a space that a commit is applied to; `accept` makes it the space's content."""

    def __init__(self, state: StoreState, space: str, *, origin: Origin) -> None:
        self._state = state
        self._space = space
        self._origin = origin
        self._changes: list[Change] = []
        self._numbers = state.numbers
        self.space_state = state.space(space).copy()

    def next_number(self) -> int:
        """Return a number for a new memory."""
        self._numbers += 1
        return self._numbers

    def note(
        self, entry: Entry, action: Action, *, base: int | None, before: int, relation: Relation | None = None
    ) -> None:
        """Add a change to the log."""
        self._changes.append(
            Change(
                seq=self._state.last_seq + len(self._changes) + 1,
                place=self._state.last_place(self._space) + len(self._changes) + 1,
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
        """Remove the relations of purged memories from the log."""
        gone = set(ids)
        self._state.changes[:] = [
            replace(change, relation=None)
            if change.space == self._space
            and change.relation
            and gone & {change.relation.source, change.relation.target}
            else change
            for change in self._state.changes
        ]

    def accept(self) -> int:
        """Replace the content of the space; return the number of the newest change."""
        self._state.spaces[self._space] = self.space_state
        self._state.changes += self._changes
        self._state.numbers = self._numbers
        if self._origin.undoes:
            self._state.undoings.append((self._space, self._origin, self._state.last_seq))
        return self._state.last_seq


class FakePart:
    """The state that the parts of the fake store share."""

    def __init__(self, state: StoreState | None = None) -> None:
        self._state = state or StoreState()


def passes(memory: Memory, filter: Filter) -> bool:
    """Return whether a memory passes a filter."""
    held = set(facets_of(memory))
    return (
        memory.state is filter.state
        and all(held.intersection(group) for group in filter.facet_groups)
        and (filter.since is None or memory.date >= filter.since)
        and (filter.until is None or memory.date < filter.until)
    )


def stored(entry: Entry) -> Sequence[StoredPassage]:
    """Return the passages of an entry as the store returns them."""
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
