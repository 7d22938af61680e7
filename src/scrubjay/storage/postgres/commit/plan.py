"""What a commit comes to, worked out before anything is written: so it happens in a few statements, however large."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from scrubjay.errors import InvalidInput, NameTaken, NotFound, StaleVersion
from scrubjay.model.change import Action, Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage
from scrubjay.model.relation import Relation
from scrubjay.model.version import Version
from scrubjay.ports import Edge, MemoryHistory, Write
from scrubjay.storage.postgres.words import digest_of
from scrubjay.storage.rows import id_bytes, id_text, index_key_of

RelationKey = tuple[str, str, str]
Author = tuple[str, str]
"""The run and the agent that something was done by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the store knows of a memory without reading its body; it has no number before it is stored."""

    number: int | None
    version: int
    state: State
    passages: int
    index_key: bytes
    name_digest: bytes
    facets: tuple[str, ...] = ()


class ChangeRow(NamedTuple):
    """An entry of the log, before it has its numbers."""

    memory_id: str
    action: Action
    version: int
    base: int | None
    passages_before: int
    relation: Relation | None = None
    target_id: str = ""


class VersionRow(NamedTuple):
    """A version to be kept, and who made it."""

    memory_id: str
    version: Version
    author: Author


@dataclass(slots=True)
class Plan:
    """All that is to be written: memories as they are at the end, versions and changes one by one."""

    memories: dict[str, Memory] = field(default_factory=dict[str, Memory])
    passages: dict[str, tuple[Passage, ...]] = field(default_factory=dict[str, tuple[Passage, ...]])
    relations: dict[RelationKey, Relation | None] = field(default_factory=dict[RelationKey, Relation | None])
    versions: list[VersionRow] = field(default_factory=list[VersionRow])
    changes: list[ChangeRow] = field(default_factory=list[ChangeRow])


class Planner:
    """Applies writes one after the other to what is known, and notes what comes of it."""

    def __init__(
        self, known: Mapping[str, Known], holders: Mapping[bytes, str], relations: Mapping[RelationKey, Relation]
    ) -> None:
        self.before = dict(known)
        self.known = dict(known)
        self._holders = dict(holders)
        self._relations = dict(relations)
        self.plan = Plan()

    def at_version(self, memory_id: str, wanted: int | None) -> Known | None:
        """What is known of a memory at a version; None where there is to be none. Raises NotFound or StaleVersion."""
        earlier = self.known.get(memory_id)
        if earlier is None and wanted is not None:
            raise NotFound(f"no memory {memory_id}", memory_id=memory_id)
        current = earlier.version if earlier else None
        if current != wanted:
            raise StaleVersion(
                f"memory {memory_id} is at version {current}, not {wanted}",
                hint="Read it again and apply your change to what you find",
                memory_id=memory_id,
                expected=wanted,
                current=current,
            )
        return earlier

    def write(self, write: Write, *, author: Author) -> None:
        """One write; raises NotFound, StaleVersion or NameTaken."""
        memory, memory_id = write.memory, require_id(write.memory.id)
        earlier = self.at_version(memory_id, write.base)
        self._take_name(memory, memory_id)
        self._keep(memory, memory_id, write.passages)
        version = Version(
            number=memory.version, memory=memory, parent=write.base, action=write.action,
            created_at=memory.updated_at, message=write.message,
        )  # fmt: skip
        self.plan.versions.append(VersionRow(memory_id, version, author))
        before = earlier.passages if earlier else 0
        self.plan.changes.append(ChangeRow(memory_id, write.action, memory.version, write.base, before))

    def edge(self, edge: Edge) -> None:
        """One relation; raises NotFound when an end is missing."""
        relation = edge.relation
        source, target = self._end(relation.source), self._end(relation.target)
        key = (source, relation.type, target)
        earlier = self._relations.pop(key, None)
        # What was there before is logged as removed, so that undo can bring it back exactly.
        logged: list[tuple[Action, Relation]] = []
        if earlier is not None:
            kept = replace(earlier, source=relation.source, target=relation.target)
            logged.append((Action.UNRELATED, kept))
        if edge.present:
            self._relations[key] = relation
            logged.append((Action.RELATED, relation))
        if logged:
            self.plan.relations[key] = relation if edge.present else None
        version = self.known[source].version
        self.plan.changes += [ChangeRow(source, action, version, version, 0, told, target) for action, told in logged]

    def adopt(self, memory_history: MemoryHistory, passages: tuple[Passage, ...], *, origin: Origin) -> bool:
        """One memory with its past, unless it is there already; raises NameTaken."""
        memory, memory_id = memory_history.memory, require_id(memory_history.memory.id)
        if memory_id in self.known:
            return False
        self._take_name(memory, memory_id)
        self._keep(memory, memory_id, passages)
        for version in sorted(memory_history.versions, key=lambda one: one.number):
            author = (version.run or origin.run, version.agent)
            self.plan.versions.append(VersionRow(memory_id, version, author))
        self.plan.changes.append(ChangeRow(memory_id, Action.IMPORTED, memory.version, None, 0))
        return True

    def embedded(self, memory_id: str) -> None:
        """A memory whose text has a vector from now on."""
        known = self.known[memory_id]
        self.plan.changes.append(ChangeRow(memory_id, Action.EMBEDDED, known.version, known.version, known.passages))

    def _take_name(self, memory: Memory, memory_id: str) -> None:
        digest = digest_of(memory.name)
        holder = self._holders.get(digest)
        if memory.state is State.LIVE and holder is not None and holder != memory_id:
            raise NameTaken(
                f"another memory is named {memory.name!r}",
                hint=f"Revise {holder}, or choose another name",
                name=memory.name,
                id=holder,
            )
        earlier = self.known.get(memory_id)
        if earlier is not None and self._holders.get(earlier.name_digest) == memory_id:
            del self._holders[earlier.name_digest]
        if memory.state is State.LIVE:
            self._holders[digest] = memory_id

    def _keep(self, memory: Memory, memory_id: str, passages: tuple[Passage, ...]) -> None:
        earlier = self.known.get(memory_id)
        index_key = index_key_of(memory, passages)
        if earlier is None or earlier.index_key != index_key:
            self.plan.passages[memory_id] = passages
        self.plan.memories[memory_id] = memory
        self.known[memory_id] = Known(
            number=earlier.number if earlier else None,
            version=memory.version,
            state=memory.state,
            passages=len(passages),
            index_key=index_key,
            name_digest=digest_of(memory.name),
        )

    def _end(self, memory_id: str) -> str:
        plain = canonical_id(memory_id)
        if plain not in self.known:
            raise NotFound(f"no memory {memory_id}", memory_id=memory_id)
        return plain


def canonical_id(memory_id: str) -> str:
    """An id as the database spells it; empty for what is none."""
    raw = id_bytes(memory_id)
    return id_text(raw) if raw else ""


def require_id(memory_id: str) -> str:
    """The same; raises InvalidInput for what is none."""
    plain = canonical_id(memory_id)
    if not plain:
        raise InvalidInput(f"{memory_id[:80]!r} is no id", field="id")
    return plain
