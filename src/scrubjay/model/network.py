"""What is around a memory: those that relations lead to."""

from dataclasses import dataclass

from scrubjay.model.relation import Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A memory in a network, and how many relations it is away."""

    id: str
    name: str
    title: str
    kind: str
    distance: int = 0
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Memories and the relations between them. `truncated`: there are more than were asked for.

    Of a path the nodes come in its order; there is none where there are no nodes.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Relation, ...]
    truncated: bool = False
