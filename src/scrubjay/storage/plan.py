"""The rules of a commit, the same in every store.

A store reads the state that a commit depends on, calls this module for the plan, and writes the plan, all in one
transaction.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from scrubjay.errors import InvalidInput, KeyReused, NameTaken, NotFound, StaleVersion
from scrubjay.lazy import dataclass
from scrubjay.model.change import Action, Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage, Vector
from scrubjay.model.query import Facet, facets_of
from scrubjay.model.relation import Relation
from scrubjay.model.version import MemoryHistory, Version
from scrubjay.ports import Commit, Edge, Embedded, IdempotencyRecord, Write
from scrubjay.storage.rows import canonical_id, canonical_ids, index_key_of, require_id, require_own

RelationKey = tuple[str, str, str]
Author = tuple[str, str]
"""The run and the agent of a change."""
History = tuple[MemoryHistory, tuple[Passage, ...]]
"""A memory with its versions, and the passages of its current version."""


# ---- the state that a commit depends on ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """The keys to look up before a commit is planned."""

    memory_ids: Sequence[str] = ()
    names: Sequence[str] = ()
    relations: Sequence[RelationKey] = ()
    embedded: Embedded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory:
    """The row of a memory, without its body; a new memory has no number until it is written."""

    number: int | None
    version: int
    state: State
    passages: int
    index_key: bytes
    name: str = ""
    facets: tuple[Facet, ...] = ()
    # Columns that a store compares, to leave out those that stay the same.
    columns: tuple[str | int | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """The rows under the keys of `Dependencies`; ids are in their canonical form."""

    memories: Mapping[str, StoredMemory] = field(default_factory=dict[str, StoredMemory])
    # The id of the live memory with each name.
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    relations: Mapping[RelationKey, Relation] = field(default_factory=dict[RelationKey, Relation])
    # The dimension of the embedding model, None for a new model.
    dimension: int | None = None
    # The texts that have a vector, and the memories with one of the other texts.
    embedded: AbstractSet[bytes] = frozenset()
    sharers: Mapping[str, StoredMemory] = field(default_factory=dict[str, StoredMemory])


def dependencies_of(commit: Commit) -> Dependencies:
    """Return the keys to look up for a commit."""
    keys = [
        (canonical_id(edge.relation.source), edge.relation.type, canonical_id(edge.relation.target))
        for edge in commit.edges
    ]
    ids = [write.memory.id for write in commit.writes]
    ids += [memory_id for memory_id, _ in commit.expected]
    return Dependencies(
        memory_ids=canonical_ids([*ids, *(end for source, _, target in keys for end in (source, target))]),
        names=_live_names(write.memory for write in commit.writes),
        relations=keys,
        embedded=commit.embedded,
    )


def dependencies_of_histories(histories: Sequence[History]) -> Dependencies:
    """Return the keys to look up for memories with their history."""
    memories = [memory_history.memory for memory_history, _ in histories]
    return Dependencies(memory_ids=canonical_ids([memory.id for memory in memories]), names=_live_names(memories))


def first_answer(stored: tuple[bytes, str] | None, *, key: str, digest: bytes) -> str | None:
    """Return the stored answer of an idempotency key; raises KeyReused if it belongs to another request."""
    if stored is None:
        return None
    request_digest, answer = stored
    if request_digest != digest:
        raise KeyReused(
            "this idempotency key was used for another request", hint="Use a new key for a new request", key=key
        )
    return answer


# ---- the plan ----


class ChangeEntry(NamedTuple):
    """An entry of the log, before it has a number."""

    memory_id: str
    action: Action
    version: int
    base: int | None
    passages_before: int
    relation: Relation | None = None
    target_id: str = ""


class VersionEntry(NamedTuple):
    """A version to insert, and its author."""

    version: Version
    author: Author


def plan_commit(commit: Commit, state: StoredState) -> "CommitPlan":
    """Return the plan of a commit; raises NotFound, StaleVersion, NameTaken or InvalidInput."""
    plan = CommitPlan(commit.origin, state, once=commit.once)
    for memory_id, version in commit.expected:
        plan.check_version(memory_id, version)
    for write in commit.writes:
        plan.write(write, space=commit.space)
    for edge in commit.edges:
        plan.edge(edge)
    for document in commit.documents:
        require_own(document, commit.space)
    if commit.embedded is not None:
        plan.embed(commit.embedded)
    return plan


def plan_adoption(histories: Sequence[History], state: StoredState, *, origin: Origin) -> "CommitPlan":
    """Return the plan to store memories with their history, without those that are stored; raises NameTaken."""
    plan = CommitPlan(origin, state)
    for memory_history, passages in histories:
        plan.adopt(memory_history, passages)
    return plan


def plan_vectors(embedded: Embedded, state: StoredState, *, memory_ids: Sequence[str], origin: Origin) -> "CommitPlan":
    """Return the plan to store vectors that were made later than their texts."""
    plan = CommitPlan(origin, state)
    plan.embed(embedded, memory_ids=memory_ids)
    return plan


def plan_purge(ids: Sequence[str], state: StoredState, *, origin: Origin) -> "CommitPlan":
    """Return the plan of a purge: the entries of the log that remain."""
    plan = CommitPlan(origin, state)
    for memory_id in canonical_ids(ids):
        if memory_id in state.memories:
            plan.log_again(memory_id, Action.PURGED)
    return plan


class CommitPlan:
    """The rows to write: memories in their final state, versions and changes one by one."""

    def __init__(self, origin: Origin, state: StoredState, *, once: IdempotencyRecord | None = None) -> None:
        self.origin = origin
        self.once = once
        self.before = state.memories
        self.after = dict(state.memories)
        self.memories: dict[str, Memory] = {}
        # The passages of memories that are found by something else than before.
        self.passages: dict[str, tuple[Passage, ...]] = {}
        self.relations: dict[RelationKey, Relation | None] = {}
        self.versions: dict[str, list[VersionEntry]] = {}
        self.changes: list[ChangeEntry] = []
        self.embedded: Embedded | None = None
        self.vectors: dict[bytes, Vector] = {}
        self._state = state
        self._names = dict(state.names)
        self._relations = dict(state.relations)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write. An undo counts, even if it changes no memory."""
        return not (self.is_logged or self.passages or self.vectors)

    @property
    def is_logged(self) -> bool:
        """Whether it belongs to a run: indexing again mostly does not."""
        return bool(self.changes or self.once or self.origin.undoes)

    @property
    def new_ids(self) -> list[str]:
        """The ids of memories to insert."""
        return [memory_id for memory_id in self.memories if memory_id not in self.before]

    @property
    def revised_ids(self) -> list[str]:
        """The ids of memories to update: those that give up a name come before those that may take it."""
        revised = [memory_id for memory_id in self.memories if memory_id in self.before]
        return sorted(revised, key=lambda memory_id: self.memories[memory_id].state is State.LIVE)

    @property
    def authors(self) -> list[Author]:
        """The authors of all versions."""
        return [entry.author for entries in self.versions.values() for entry in entries]

    def check_version(self, memory_id: str, expected: int | None) -> StoredMemory | None:
        """Return a memory that is at the expected version; None if it is expected not to exist, and does not.

        Raises NotFound or StaleVersion.
        """
        stored = self.after.get(canonical_id(memory_id))
        if stored is None and expected is not None:
            raise NotFound(f"no memory {memory_id}", memory_id=memory_id)
        current = stored.version if stored else None
        if current != expected:
            raise StaleVersion(
                f"memory {memory_id} is at version {current}, not {expected}",
                hint="Read it again and apply your change to the new version",
                memory_id=memory_id,
                expected=expected,
                current=current,
            )
        return stored

    def write(self, write: Write, *, space: str) -> None:
        """Plan a write; raises NotFound, StaleVersion, NameTaken or InvalidInput."""
        memory, memory_id = write.memory, require_id(write.memory.id)
        require_own(memory, space)
        earlier = self.check_version(memory_id, write.base)
        self._take_name(memory, memory_id)
        self.put(memory, memory_id, write.passages)
        version = Version(
            number=memory.version, memory=memory, parent=write.base, action=write.action,
            created_at=write.at or memory.updated_at, message=write.message,
        )  # fmt: skip
        author = (self.origin.run, self.origin.agent)
        self.versions.setdefault(memory_id, []).append(VersionEntry(version, author))
        before = earlier.passages if earlier else 0
        self.changes.append(ChangeEntry(memory_id, write.action, memory.version, write.base, before))

    def adopt(self, memory_history: MemoryHistory, passages: tuple[Passage, ...]) -> None:
        """Plan a memory with its versions, unless it is stored already; raises NameTaken or InvalidInput."""
        memory, memory_id = memory_history.memory, require_id(memory_history.memory.id)
        if memory_id in self.after:
            return
        self._take_name(memory, memory_id)
        self.put(memory, memory_id, passages)
        self.versions[memory_id] = [
            VersionEntry(version, (version.run or self.origin.run, version.agent))
            for version in sorted(memory_history.versions, key=lambda version: version.number)
        ]
        self.changes.append(ChangeEntry(memory_id, Action.IMPORTED, memory.version, None, 0))

    def put(self, memory: Memory, memory_id: str, passages: tuple[Passage, ...], *, reindex: bool = False) -> None:
        """Plan the row of a memory, and its index entry if that differs from the stored one or `reindex` is set."""
        earlier, facets = self.after.get(memory_id), facets_of(memory)
        index_key = index_key_of(memory, passages, facets=facets)
        if reindex or earlier is None or earlier.index_key != index_key:
            self.passages[memory_id] = passages
        self.memories[memory_id] = memory
        self.after[memory_id] = StoredMemory(
            number=earlier.number if earlier else None,
            version=memory.version,
            state=memory.state,
            passages=len(passages),
            index_key=index_key,
            name=memory.name,
            facets=facets,
        )

    def edge(self, edge: Edge) -> None:
        """Plan a change of a relation; raises NotFound if one of its memories is missing."""
        relation = edge.relation
        source, target = (self._require_memory(end) for end in (relation.source, relation.target))
        key = (source, relation.type, target)
        earlier = self._relations.pop(key, None)
        # A replaced relation is logged as removed, so that undo can restore it exactly.
        logged: list[tuple[Action, Relation]] = []
        if earlier is not None:
            logged.append((Action.UNRELATED, replace(earlier, source=relation.source, target=relation.target)))
        if edge.present:
            self._relations[key] = relation
            logged.append((Action.RELATED, relation))
        if logged:
            self.relations[key] = relation if edge.present else None
        version = self.after[source].version
        self.changes += [ChangeEntry(source, action, version, version, 0, entry, target) for action, entry in logged]

    def embed(self, embedded: Embedded, *, memory_ids: Sequence[str] = ()) -> None:
        """Plan vectors, and log the memories that they belong to, so that vector indexes add them.

        A memory without a vector gets one when another memory with the same text does. A memory that this commit
        writes has its own entry in the log. Raises InvalidInput for malformed vectors.
        """
        _check_vectors(embedded, dimension=self._state.dimension)
        self.embedded = embedded
        self.vectors = {
            digest: vector for digest, vector in embedded.vectors.items() if digest not in self._state.embedded
        }
        sharers = self._state.sharers
        self.after = {**sharers, **self.after}
        by_number = sorted(sharers, key=lambda memory_id: sharers[memory_id].number or 0)
        for memory_id in dict.fromkeys((*by_number, *map(canonical_id, memory_ids))):
            if memory_id in self.after and memory_id not in self.memories:
                self.log_again(memory_id, Action.EMBEDDED)

    def log_again(self, memory_id: str, action: Action) -> None:
        """Log an action that makes no version of a memory."""
        stored = self.before.get(memory_id) or self.after[memory_id]
        self.changes.append(ChangeEntry(memory_id, action, stored.version, stored.version, stored.passages))

    def count(self, texts: Mapping[str, Sequence[str]]) -> "Counts":
        """Return the counts that the plan changes, given the terms of the stored passages of its memories."""
        counts = Counts()
        for memory_id, passages in self.passages.items():
            before, after = self.before.get(memory_id), self.after[memory_id]
            if before is None:
                counts.add(after.state, after.facets, [passage.terms for passage in passages])
                continue
            terms = [" ".join(passage.terms) for passage in passages]
            counts.replace(
                IndexEntry(before.state, before.facets, texts.get(memory_id, ())),
                IndexEntry(after.state, after.facets, terms),
            )
        return counts

    def _take_name(self, memory: Memory, memory_id: str) -> None:
        holder = self._names.get(memory.name)
        if memory.state is State.LIVE and holder is not None and holder != memory_id:
            raise NameTaken(
                f"another memory is named {memory.name!r}",
                hint=f"Revise {holder}, or choose another name",
                name=memory.name,
                id=holder,
            )
        earlier = self.after.get(memory_id)
        if earlier is not None and self._names.get(earlier.name) == memory_id:
            del self._names[earlier.name]
        if memory.state is State.LIVE:
            self._names[memory.name] = memory_id

    def _require_memory(self, memory_id: str) -> str:
        canonical = canonical_id(memory_id)
        if canonical not in self.after:
            raise NotFound(f"no memory {memory_id}", memory_id=memory_id)
        return canonical


# ---- counts and runs ----


class IndexEntry(NamedTuple):
    """The index entry of a memory: its facets, and the terms of each passage, joined by spaces."""

    state: State
    facets: Sequence[Facet]
    texts: Sequence[str]


class Counts:
    """The differences that a commit makes to the counts for ranking, by state."""

    def __init__(self) -> None:
        # The passages with each term, and the memories with each facet.
        self.terms: defaultdict[State, Counter[str]] = defaultdict(Counter)
        self.facets: defaultdict[State, Counter[str]] = defaultdict(Counter)
        self.memories: Counter[State] = Counter()
        self.passages: Counter[State] = Counter()
        # The terms of all passages together.
        self.lengths: Counter[State] = Counter()

    def replace(self, before: IndexEntry | None, after: IndexEntry | None) -> None:
        """Subtract an entry and add another."""
        removed, added = Counter(before.texts if before else ()), Counter(after.texts if after else ())
        if before and after and before.state is after.state:
            # A passage that has only moved within its memory is counted already.
            removed, added = removed - added, added - removed
        for sign, entry, texts in ((-1, before, removed), (1, after, added)):
            if entry is not None:
                self.add(entry.state, entry.facets, [text.split() for text in texts.elements()], sign=sign)

    def add(self, state: State, facets: Sequence[Facet], passages: Sequence[Sequence[str]], *, sign: int = 1) -> None:
        """Add a memory, given the terms of its passages, or subtract it."""
        for totals, names in (
            (self.terms[state], chain.from_iterable(map(set, passages))),
            (self.facets[state], facets),
        ):
            count = totals.update if sign > 0 else totals.subtract
            count(names)
        self.memories[state] += sign
        self.passages[state] += sign * len(passages)
        self.lengths[state] += sign * sum(map(len, passages))


class StoredRun(NamedTuple):
    """The row of a run."""

    number: int
    name: str
    agent: str
    undoes: int | None
    is_undone: bool
    last_seq: int


@dataclass(slots=True)
class Runs:
    """The existing runs of a commit, and those to insert: calls with the same run and agent share a row."""

    origin: Origin
    numbers: dict[Author, int] = field(default_factory=dict[Author, int])
    new: list[Author] = field(default_factory=list[Author])
    # The run that the commit undoes.
    undone: StoredRun | None = None

    @property
    def author(self) -> Author:
        """The run and agent of the commit."""
        return self.origin.run, self.origin.agent

    @property
    def number(self) -> int:
        """The number of the commit's own run, once it is assigned."""
        return self.numbers[self.author]


def run_names(origin: Origin, authors: Sequence[Author] = ()) -> list[str]:
    """Return the names of the runs to look up."""
    return list(dict.fromkeys(name for name in (origin.run, origin.undoes, *(run for run, _ in authors)) if name))


def plan_runs(origin: Origin, stored: Sequence[StoredRun], authors: Sequence[Author] = ()) -> Runs:
    """Return the runs of a commit, given the stored runs with its names."""
    runs = Runs(origin)
    if origin.undoes:
        undoable = [run for run in stored if run.name == origin.undoes and not run.is_undone]
        runs.undone = max(undoable, default=None, key=lambda run: run.number)
    # An undo is always a run of its own, which all its commits share.
    undoes = None if runs.undone is None else runs.undone.number
    open_runs = {
        (run.name, run.agent): run.number
        for run in stored
        if not run.is_undone and run.undoes == (undoes if (run.name, run.agent) == runs.author else None)
    }
    for author in dict.fromkeys((runs.author, *authors)):
        if author in open_runs and not (origin.undoes and undoes is None and author == runs.author):
            runs.numbers[author] = open_runs[author]
        else:
            runs.new.append(author)
    return runs


def _live_names(memories: Iterable[Memory]) -> list[str]:
    return list(dict.fromkeys(memory.name for memory in memories if memory.state is State.LIVE))


def _check_vectors(embedded: Embedded, *, dimension: int | None) -> None:
    if dimension not in (None, embedded.dimension):
        raise InvalidInput(
            f"model {embedded.model!r} has {dimension} dimensions in this store, "
            f"the embedder gives {embedded.dimension}",
            hint="Name the changed model differently in SCRUBJAY_EMBEDDING_MODEL",
            model=embedded.model,
        )
    for vector in embedded.vectors.values():
        if vector.shape != (embedded.dimension,) or not np.isfinite(vector).all():
            raise InvalidInput(f"a vector must be {embedded.dimension} finite numbers")
