"""`graph` and `path`: the neighbourhood of memories, and paths between them, now or as of a moment.

A merged memory counts as the one it was merged into, and a mention as the entity of that name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.graph.entity import is_mention, name_of, type_of
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader, resolve
from scrubjay.model.checks import require_integer, require_moment, require_texts
from scrubjay.model.labels import mark_of_all
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import LINK, Network, NetworkNode, Relation
from scrubjay.model.timestamps import to_iso
from scrubjay.ports import RecordStore

MAX_DEPTH = 10
MAX_NODES = 10_000
MAX_PATH_STEPS = 20
DIRECTIONS = ("out", "in", "both")
_OPPOSITES = {"out": "in", "in": "out", "both": "both"}
# A path search visits so many memories; beyond that two memories are hardly connected.
_MAX_VISITED = 50_000
# A merged memory may have been merged again; a longer chain is a cycle.
_MAX_MERGES = 16
_VERSION_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationStep:
    """A relation followed from a memory to its other end."""

    start: str
    end: str
    relation: Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationGraph:
    """The relations of a space that a search follows; an instance serves one call and caches memories."""

    store: RecordStore
    space: str
    types: frozenset[str] = frozenset()
    as_of: datetime | None = None
    _memories: dict[str, Memory] = field(default_factory=dict[str, Memory])
    _mentions: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    _entity_of_mention: dict[str, str] = field(default_factory=dict[str, str])

    async def resolve(self, ref: str) -> Memory:
        """Return the memory that a reference names; raise NotFound if it does not exist, or did not at the moment."""
        memory = await resolve(self.store, ref, space=self.space)
        memory_id = memory.trunk or memory.id
        successor = (await self.successors([memory_id])).get(memory_id)
        if successor is None:
            raise self._not_found(memory)
        mentions = await self.store.find(self.space, successor.name, state=State.ARCHIVED)
        self._mentions[successor.id] = tuple(
            mention.id for mention in mentions if mention.name == successor.name and mention.id != successor.id
        )
        return successor

    async def successors(self, ids: Iterable[str]) -> dict[str, Memory]:
        """Return by id the memory that each one is now, without trashed ones and those that did not exist yet."""
        current_ids = {memory_id: memory_id for memory_id in ids}
        resolved: dict[str, Memory] = {}
        for _ in range(_MAX_MERGES):
            await self._load(dict.fromkeys(current_ids.values()))
            next_ids: dict[str, str] = {}
            for memory_id, current_id in current_ids.items():
                memory = self._memories.get(current_id)
                if memory is None:
                    continue
                merged_into = memory.merged_into if memory.state is State.MERGED else ""
                if next_id := self._entity_of_mention.get(current_id) or merged_into:
                    next_ids[memory_id] = next_id
                elif memory.state is State.LIVE or is_mention(memory):
                    resolved[memory_id] = memory
            if not next_ids:
                break
            current_ids = next_ids
        return resolved

    async def steps(self, memories: Sequence[Memory], *, direction: str) -> list[RelationStep]:
        """Return all steps from some memories, the strongest relations first."""
        owners = {part: memory.id for memory in memories for part in self._parts(memory)}
        relations = await self._relations(list(owners)) if owners else []
        steps: list[RelationStep] = []
        for relation in sorted(relations, key=lambda relation: (-relation.strength, relation.created_at, relation.key)):
            if self.types and self.types.isdisjoint({relation.type.casefold(), type_of(relation).casefold()}):
                continue
            # A link leads both ways.
            is_both = direction == "both" or relation.type == LINK
            if (is_both or direction == "out") and relation.source in owners:
                steps.append(RelationStep(start=owners[relation.source], end=relation.target, relation=relation))
            if (is_both or direction == "in") and relation.target in owners:
                steps.append(RelationStep(start=owners[relation.target], end=relation.source, relation=relation))
        return steps

    def edge(self, step: RelationStep, *, end: str) -> Relation | None:
        """Return a step's relation between the current memories at its ends; None if both were merged into one."""
        relation = step.relation
        if end == step.start and relation.source != relation.target:
            return None
        start = self._memories.get(step.start)
        parts = self._parts(start) if start else (step.start,)
        is_forward = relation.target == step.end and relation.source in parts
        source, target = (step.start, end) if is_forward else (end, step.start)
        if (source, target) == (relation.source, relation.target):
            return relation
        return replace(relation, source=source, target=target)

    def _parts(self, memory: Memory) -> tuple[str, ...]:
        """Return all ids under which relations of a memory may be stored."""
        return memory.id, *(part.id for part in memory.merged), *self._mentions.get(memory.id, ())

    async def _relations(self, ids: Sequence[str]) -> list[Relation]:
        if self.as_of is None:
            return await self.store.relations(self.space, ids)
        return await self.store.relations_at(self.space, ids, at=self.as_of)

    async def _load(self, ids: Iterable[str]) -> None:
        unknown = [memory_id for memory_id in ids if memory_id not in self._memories]
        memories = await TolerantReader(self.store, space=self.space).get(unknown)
        if self.as_of is not None:
            memories = await self._read_versions(memories, as_of=self.as_of)
        self._memories.update((memory.id, memory) for memory in memories)
        for memory in memories:
            if is_mention(memory):
                handles = await self.store.find(self.space, memory.name, state=State.LIVE)
                # A match by title or by a part of the name is another entity.
                exact = [handle.id for handle in handles if handle.name == memory.name]
                self._entity_of_mention.update((memory.id, entity_id) for entity_id in exact)

    async def _read_versions(self, memories: Sequence[Memory], *, as_of: datetime) -> list[Memory]:
        versions = [memory for memory in memories if memory.updated_at <= as_of]
        changed = [memory.id for memory in memories if memory.updated_at > as_of and memory.created_at <= as_of]
        for start in range(0, len(changed), _VERSION_BATCH):
            batch = await self.store.versions_at(self.space, changed[start : start + _VERSION_BATCH], at=as_of)
            versions += [version.memory for version in batch.values()]
        return versions

    def _not_found(self, memory: Memory) -> NotFound:
        if self.as_of is not None:
            message, hint = f"{memory.name!r} did not exist at {to_iso(self.as_of)}", "Ask for another time"
        elif memory.state is State.TRASHED:
            message, hint = f"{memory.name!r} is in the trash", "`restore` it first"
        else:
            message, hint = f"{memory.name!r} is {memory.state.value}", "Start from a live memory"
        return NotFound(message, hint=hint, memory_id=memory.id, state=memory.state.value)


async def neighbourhood(
    refs: Sequence[str],
    *,
    depth: int,
    types: Sequence[str],
    direction: str,
    limit: int,
    as_of: datetime | None,
    space: str,
    store: RecordStore,
) -> Network:
    """Return the memories that relations lead to from some, up to a number of steps, level by level."""
    require_integer(depth, field="depth", least=0, most=MAX_DEPTH)
    require_integer(limit, field="limit", most=MAX_NODES)
    graph = _open_graph(types, direction=direction, as_of=as_of, space=space, store=store)
    if not require_texts(refs, field="ids"):
        raise InvalidInput("say where to start: ids, names or titles", field="ids")
    nodes: dict[str, NetworkNode] = {}
    edges: dict[tuple[str, str, str], Relation] = {}
    frontier: list[Memory] = []
    for ref in refs:
        memory = await graph.resolve(ref)
        if memory.id not in nodes:
            nodes[memory.id] = _node(memory, 0)
            frontier.append(memory)
    truncated = len(nodes) > limit
    for distance in range(1, depth + 1):
        steps = await graph.steps(frontier, direction=direction)
        ends = await graph.successors(step.end for step in steps)
        frontier = []
        for step in steps:
            end = ends.get(step.end)
            if end is None:
                continue
            if end.id not in nodes:
                if len(nodes) >= limit:
                    truncated = True
                    continue
                nodes[end.id] = _node(end, distance)
                frontier.append(end)
            if edge := graph.edge(step, end=end.id):
                edges.setdefault(edge.key, edge)
        if not frontier:
            break
    shown = tuple(nodes.values())[:limit]
    shown_ids = {node.id for node in shown}
    inner = tuple(edge for edge in edges.values() if edge.source in shown_ids and edge.target in shown_ids)
    return Network(nodes=shown, edges=inner, truncated=truncated)


async def find_path(
    source: str,
    target: str,
    *,
    types: Sequence[str],
    direction: str,
    most: int,
    as_of: datetime | None,
    space: str,
    store: RecordStore,
) -> Network:
    """Return a shortest path of at most `most` steps, searched from both ends; `truncated` if the search gave up."""
    require_integer(most, field="most", least=0, most=MAX_PATH_STEPS)
    graph = _open_graph(types, direction=direction, as_of=as_of, space=space, store=store)
    forward = _PathSearch(graph=graph, direction=direction)
    backward = _PathSearch(graph=graph, direction=_OPPOSITES[direction])
    forward.start(await graph.resolve(source))
    backward.start(await graph.resolve(target))
    for _ in range(most):
        if meeting := forward.find_meeting(backward):
            return _join_path(forward, backward, meeting)
        if not forward.frontier or not backward.frontier:
            return Network(nodes=(), edges=())
        if len(forward.visited) + len(backward.visited) > _MAX_VISITED:
            return Network(nodes=(), edges=(), truncated=True)
        await min(forward, backward, key=lambda search: len(search.frontier)).advance()
    meeting = forward.find_meeting(backward)
    return _join_path(forward, backward, meeting) if meeting else Network(nodes=(), edges=())


@dataclass(slots=True, kw_only=True)
class _PathSearch:
    """One of two breadth-first searches towards each other."""

    graph: RelationGraph
    direction: str
    visited: dict[str, Memory] = field(default_factory=dict[str, Memory])
    distances: dict[str, int] = field(default_factory=dict[str, int])
    # The step that led to each memory.
    steps: dict[str, RelationStep] = field(default_factory=dict[str, RelationStep])
    frontier: list[Memory] = field(default_factory=list[Memory])

    def start(self, memory: Memory) -> None:
        """Start from a memory."""
        self.visited[memory.id] = memory
        self.distances[memory.id] = 0
        self.frontier = [memory]

    async def advance(self) -> None:
        """Follow all relations of the frontier by one step."""
        steps = await self.graph.steps(self.frontier, direction=self.direction)
        ends = await self.graph.successors(step.end for step in steps)
        self.frontier = []
        for step in steps:
            end = ends.get(step.end)
            if end is not None and end.id not in self.visited:
                self.visited[end.id] = end
                self.distances[end.id] = self.distances[step.start] + 1
                self.steps[end.id] = step
                self.frontier.append(end)

    def find_meeting(self, other: "_PathSearch") -> str:
        """Return the memory where both searches meet on a shortest path; empty if they have not met."""
        common = [memory.id for memory in self.frontier if memory.id in other.visited]
        common += [memory.id for memory in other.frontier if memory.id in self.visited]
        return min(common, key=lambda memory_id: self.distances[memory_id] + other.distances[memory_id], default="")

    def path_to_start(self, memory_id: str) -> list[tuple[str, Relation]]:
        """Return the path from a memory back to the start, as memories and the relations that lead to them."""
        path: list[tuple[str, Relation]] = []
        while step := self.steps.get(memory_id):
            edge = self.graph.edge(step, end=memory_id)
            assert edge is not None  # Its end had not been visited, so it is not merged with the start.
            path.append((step.start, edge))
            memory_id = step.start
        return path


def _open_graph(
    types: Sequence[str], *, direction: str, as_of: datetime | None, space: str, store: RecordStore
) -> RelationGraph:
    if direction not in DIRECTIONS:
        raise InvalidInput(f"direction must be one of {', '.join(DIRECTIONS)}, not {direction!r}", field="direction")
    require_moment(as_of, field="as_of")
    folded = frozenset(" ".join(text.split()).casefold() for text in require_texts(types, field="types"))
    return RelationGraph(store=store, space=space, types=folded, as_of=as_of)


def _join_path(forward: _PathSearch, backward: _PathSearch, meeting: str) -> Network:
    before, after = forward.path_to_start(meeting)[::-1], backward.path_to_start(meeting)
    ids = [*(memory_id for memory_id, _ in before), meeting, *(memory_id for memory_id, _ in after)]
    memories: Mapping[str, Memory] = forward.visited | backward.visited
    return Network(
        nodes=tuple(_node(memories[memory_id], distance) for distance, memory_id in enumerate(ids)),
        edges=tuple(relation for _, relation in (*before, *after)),
    )


def _node(memory: Memory, distance: int) -> NetworkNode:
    return NetworkNode(
        id=memory.id, name=name_of(memory), title=memory.title, kind=memory.kind, distance=distance,
        pinned=memory.pinned, mark=mark_of_all(memory),
    )  # fmt: skip
