"""`graph` and `path`: what relations lead to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.errors import InvalidInput
from scrubjay.graph.entity import name_of
from scrubjay.graph.neighbours import BACK, DIRECTIONS, RelationGraph, Step
from scrubjay.model.checks import require_integer, require_moment, require_texts
from scrubjay.model.memory import Memory
from scrubjay.model.relation import Network, NetworkNode, Relation
from scrubjay.ports import RecordStore

DEEPEST = 10
MOST_NODES = 10_000
LONGEST_PATH = 20
# So many memories are looked at on the way from one to another; farther apart they have little to do with each other.
_MOST_MET = 50_000


async def around(
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
    """The memories that relations lead to from some, up to so many steps away; a level at a time."""
    require_integer(depth, field="depth", least=0, most=DEEPEST)
    require_integer(limit, field="limit", most=MOST_NODES)
    terrain = _terrain(types, direction=direction, as_of=as_of, space=space, store=store)
    if not require_texts(refs, field="ids"):
        raise InvalidInput("say where to begin: ids, names or titles", field="ids")
    found: dict[str, NetworkNode] = {}
    edges: dict[tuple[str, str, str], Relation] = {}
    frontier: list[Memory] = []
    for ref in refs:
        memory = await terrain.start(ref)
        if memory.id not in found:
            found[memory.id] = _node(memory, 0)
            frontier.append(memory)
    truncated = len(found) > limit
    for distance in range(1, depth + 1):
        steps = await terrain.steps(frontier, direction=direction)
        ends = await terrain.standing(step.end for step in steps)
        frontier = []
        for step in steps:
            end = ends.get(step.end)
            if end is None:
                continue
            if end.id not in found:
                if len(found) >= limit:
                    truncated = True
                    continue
                found[end.id] = _node(end, distance)
                frontier.append(end)
            if edge := terrain.between(step, end=end.id):
                edges.setdefault(edge.key, edge)
        if not frontier:
            break
    nodes = tuple(found.values())[:limit]
    kept = {node.id for node in nodes}
    inner = tuple(edge for edge in edges.values() if edge.source in kept and edge.target in kept)
    return Network(nodes=nodes, edges=inner, truncated=truncated)


async def path(
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
    """A shortest way from one memory to another, looked for from both ends; `truncated` where the search gave up."""
    require_integer(most, field="most", least=0, most=LONGEST_PATH)
    terrain = _terrain(types, direction=direction, as_of=as_of, space=space, store=store)
    ahead = _Search(terrain=terrain, direction=direction)
    behind = _Search(terrain=terrain, direction=BACK[direction])
    ahead.begin(await terrain.start(source))
    behind.begin(await terrain.start(target))
    for _ in range(most):
        if meeting := ahead.meeting(behind):
            return _way(ahead, behind, meeting)
        if not ahead.frontier or not behind.frontier:
            return Network(nodes=(), edges=())
        if len(ahead.met) + len(behind.met) > _MOST_MET:
            return Network(nodes=(), edges=(), truncated=True)
        await min(ahead, behind, key=lambda one: len(one.frontier)).advance()
    meeting = ahead.meeting(behind)
    return _way(ahead, behind, meeting) if meeting else Network(nodes=(), edges=())


@dataclass(slots=True, kw_only=True)
class _Search:
    """One of two searches that go towards each other, a level at a time."""

    terrain: RelationGraph
    direction: str
    met: dict[str, Memory] = field(default_factory=dict[str, Memory])
    distances: dict[str, int] = field(default_factory=dict[str, int])
    # By memory, the step that led to it.
    ways: dict[str, Step] = field(default_factory=dict[str, Step])
    frontier: list[Memory] = field(default_factory=list[Memory])

    def begin(self, memory: Memory) -> None:
        """Start here."""
        self.met[memory.id] = memory
        self.distances[memory.id] = 0
        self.frontier = [memory]

    async def advance(self) -> None:
        """One step farther, everywhere."""
        steps = await self.terrain.steps(self.frontier, direction=self.direction)
        ends = await self.terrain.standing(step.end for step in steps)
        self.frontier = []
        for step in steps:
            end = ends.get(step.end)
            if end is not None and end.id not in self.met:
                self.met[end.id] = end
                self.distances[end.id] = self.distances[step.start] + 1
                self.ways[end.id] = step
                self.frontier.append(end)

    def meeting(self, other: "_Search") -> str:
        """Where the searches have met, on the shortest way of all; empty as long as they have not."""
        newest = [memory.id for memory in self.frontier if memory.id in other.met]
        newest += [memory.id for memory in other.frontier if memory.id in self.met]
        return min(newest, key=lambda one: self.distances[one] + other.distances[one], default="")

    def back_from(self, memory_id: str) -> list[tuple[str, Relation]]:
        """The way from a memory to the beginning: whom it leads to, and by which relation."""
        found: list[tuple[str, Relation]] = []
        while step := self.ways.get(memory_id):
            edge = self.terrain.between(step, end=memory_id)
            assert edge is not None  # Whoever it leads to had not been met.
            found.append((step.start, edge))
            memory_id = step.start
        return found


def _terrain(
    types: Sequence[str], *, direction: str, as_of: datetime | None, space: str, store: RecordStore
) -> RelationGraph:
    if direction not in DIRECTIONS:
        raise InvalidInput(f"direction must be one of {', '.join(DIRECTIONS)}, not {direction!r}", field="direction")
    require_moment(as_of, field="as_of")
    wanted = frozenset(" ".join(text.split()).casefold() for text in require_texts(types, field="types"))
    return RelationGraph(store=store, space=space, types=wanted, as_of=as_of)


def _way(ahead: _Search, behind: _Search, meeting: str) -> Network:
    before, after = ahead.back_from(meeting)[::-1], behind.back_from(meeting)
    ids = [*(one for one, _ in before), meeting, *(one for one, _ in after)]
    memories: Mapping[str, Memory] = ahead.met | behind.met
    return Network(
        nodes=tuple(_node(memories[one], distance) for distance, one in enumerate(ids)),
        edges=tuple(relation for _, relation in (*before, *after)),
    )


def _node(memory: Memory, distance: int) -> NetworkNode:
    return NetworkNode(
        id=memory.id, name=name_of(memory), title=memory.title, kind=memory.kind, distance=distance,
        pinned=memory.pinned,
    )  # fmt: skip
