"""The plan of a commit, made before anything is written, so that a commit of any size takes a few statements."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from scrubjay.errors import NameTaken, NotFound, StaleVersion
from scrubjay.model.change import Action, Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage
from scrubjay.model.relation import Relation
from scrubjay.model.version import Version
from scrubjay.ports import Edge, MemoryHistory, Write
from scrubjay.storage.postgres.rows import canonical_id, digest_of, require_id
from scrubjay.storage.rows import index_key_of

RelationKey = tuple[str, str, str]
Author = tuple[str, str]
"""The run and the agent of a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory:
    """The row of a memory, without its body; a new memory has no number until it is written."""

    number: int | None
    version: int
    state: State
    passages: int
    index_key: bytes
    name_digest: bytes
    facets: tuple[str, ...] = ()


class ChangeRow(NamedTuple):
    """An entry of the log, before its numbers are reserved."""

    memory_id: str
    action: Action
    version: int
    base: int | None
    passages_before: int
    relation: Relation | None = None
    target_id: str = ""


class VersionRow(NamedTuple):
    """A version to insert, and its author."""

    memory_id: str
    version: Version
    author: Author


@dataclass(slots=True)
class CommitPlan:
    """The rows to write: memories in their final state, versions and changes one by one."""

    memories: dict[str, Memory] = field(default_factory=dict[str, Memory])
    passages: dict[str, tuple[Passage, ...]] = field(default_factory=dict[str, tuple[Passage, ...]])
    relations: dict[RelationKey, Relation | None] = field(default_factory=dict[RelationKey, Relation | None])
    versions: list[VersionRow] = field(default_factory=list[VersionRow])
    changes: list[ChangeRow] = field(default_factory=list[ChangeRow])


class Planner:
    """Applies writes one after the other to the stored memories, and collects the rows to write."""

    def __init__(
        self, stored: Mapping[str, StoredMemory], names: Mapping[bytes, str], relations: Mapping[RelationKey, Relation]
    ) -> None:
        self.before = dict(stored)
        self.stored = dict(stored)
        # The id of the live memory with each name.
        self._names = dict(names)
        self._relations = dict(relations)
        self.plan = CommitPlan()

    def check_version(self, memory_id: str, expected: int | None) -> StoredMemory | None:
        """Return a memory that is at the expected version; None if it is expected not to exist, and does not.

        Raises NotFound or StaleVersion.
        """
        earlier = self.stored.get(memory_id)
        if earlier is None and expected is not None:
            raise NotFound(f"no memory {memory_id}", memory_id=memory_id)
        current = earlier.version if earlier else None
        if current != expected:
            raise StaleVersion(
                f"memory {memory_id} is at version {current}, not {expected}",
                hint="Read it again and apply your change to the new version",
                memory_id=memory_id,
                expected=expected,
                current=current,
            )
        return earlier

    def write(self, write: Write, *, author: Author) -> None:
        """Plan a write; raises NotFound, StaleVersion or NameTaken."""
        memory, memory_id = write.memory, require_id(write.memory.id)
        earlier = self.check_version(memory_id, write.base)
        self._take_name(memory, memory_id)
        self._put(memory, memory_id, write.passages)
        version = Version(
            number=memory.version, memory=memory, parent=write.base, action=write.action,
            created_at=memory.updated_at, message=write.message,
        )  # fmt: skip
        self.plan.versions.append(VersionRow(memory_id, version, author))
        before = earlier.passages if earlier else 0
        self.plan.changes.append(ChangeRow(memory_id, write.action, memory.version, write.base, before))

    def edge(self, edge: Edge) -> None:
        """Plan a change of a relation; raises NotFound if one of its memories is missing."""
        relation = edge.relation
        source, target = self._end(relation.source), self._end(relation.target)
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
            self.plan.relations[key] = relation if edge.present else None
        version = self.stored[source].version
        self.plan.changes += [ChangeRow(source, action, version, version, 0, entry, target) for action, entry in logged]

    def adopt(self, memory_history: MemoryHistory, passages: tuple[Passage, ...], *, origin: Origin) -> bool:
        """Plan a memory with its versions; return False if it is stored already. Raises NameTaken."""
        memory, memory_id = memory_history.memory, require_id(memory_history.memory.id)
        if memory_id in self.stored:
            return False
        self._take_name(memory, memory_id)
        self._put(memory, memory_id, passages)
        for version in sorted(memory_history.versions, key=lambda version: version.number):
            author = (version.run or origin.run, version.agent)
            self.plan.versions.append(VersionRow(memory_id, version, author))
        self.plan.changes.append(ChangeRow(memory_id, Action.IMPORTED, memory.version, None, 0))
        return True

    def log_embedded(self, memory_id: str) -> None:
        """Log that the text of a memory has a vector from now on."""
        stored = self.stored[memory_id]
        self.plan.changes.append(ChangeRow(memory_id, Action.EMBEDDED, stored.version, stored.version, stored.passages))

    def _take_name(self, memory: Memory, memory_id: str) -> None:
        digest = digest_of(memory.name)
        holder = self._names.get(digest)
        if memory.state is State.LIVE and holder is not None and holder != memory_id:
            raise NameTaken(
                f"another memory is named {memory.name!r}",
                hint=f"Revise {holder}, or choose another name",
                name=memory.name,
                id=holder,
            )
        earlier = self.stored.get(memory_id)
        if earlier is not None and self._names.get(earlier.name_digest) == memory_id:
            del self._names[earlier.name_digest]
        if memory.state is State.LIVE:
            self._names[digest] = memory_id

    def _put(self, memory: Memory, memory_id: str, passages: tuple[Passage, ...]) -> None:
        earlier = self.stored.get(memory_id)
        index_key = index_key_of(memory, passages)
        if earlier is None or earlier.index_key != index_key:
            self.plan.passages[memory_id] = passages
        self.plan.memories[memory_id] = memory
        self.stored[memory_id] = StoredMemory(
            number=earlier.number if earlier else None,
            version=memory.version,
            state=memory.state,
            passages=len(passages),
            index_key=index_key,
            name_digest=digest_of(memory.name),
        )

    def _end(self, memory_id: str) -> str:
        canonical = canonical_id(memory_id)
        if canonical not in self.stored:
            raise NotFound(f"no memory {memory_id}", memory_id=memory_id)
        return canonical
