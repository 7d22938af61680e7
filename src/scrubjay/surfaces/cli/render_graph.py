"""Networks for people: a tree, or a way."""

from collections.abc import Iterator
from dataclasses import dataclass

from scrubjay.model.relation import LINK, Network, NetworkNode, Relation
from scrubjay.surfaces.cli.console import Span, paint, say

_NO_WAY = "no way leads there"
_GAVE_UP = "no way was found among what is near: --type narrows the search"
_MORE = "there are more: --limit shows them"


class Tree(Network):
    """What is around memories: each stands below the one that led to it."""


class Way(Network):
    """One memory after the other."""


@dataclass(frozen=True, slots=True)
class _Branch:
    """A memory in the tree, and the relation that leads to it."""

    relation: Relation
    node: NetworkNode
    is_outward: bool


def show_tree(found: Tree) -> None:
    """Print a tree, each memory once; what else relates them is told at the end."""
    below, others = _branches(found)
    for node in found.nodes:
        if node.distance == 0:
            paint(_named(node))
            for lead, branch in _lines(node.id, below):
                paint([(lead, "dim"), *_relation(branch.relation, is_outward=branch.is_outward), *_named(branch.node)])
    names = {node.id: node.name for node in found.nodes}
    if others:
        say("also:")
    for other in others:
        paint([("  ", ""), (names[other.source], ""), *_relation(other, is_outward=True), (names[other.target], "")])
    if len(found.nodes) == 1 and not found.edges:
        say("nothing is related to it")
    if found.truncated:
        say(_MORE)


def show_way(found: Way) -> None:
    """Print a way, a relation a line."""
    if not found.nodes:
        say(_GAVE_UP if found.truncated else _NO_WAY)
        return
    paint(_named(found.nodes[0]))
    for before, relation, node in zip(found.nodes, found.edges, found.nodes[1:], strict=False):
        is_outward = relation.source == before.id
        paint([("  ", ""), *_relation(relation, is_outward=is_outward), *_named(node)])


def _branches(found: Network) -> tuple[dict[str, list[_Branch]], list[Relation]]:
    """By memory, what stands below it; and the relations that are no part of the tree."""
    nodes = {node.id: node for node in found.nodes}
    below: dict[str, list[_Branch]] = {}
    placed = {node.id for node in found.nodes if node.distance == 0}
    others: list[Relation] = []
    for relation in sorted(found.edges, key=lambda one: min(nodes[one.source].distance, nodes[one.target].distance)):
        source, target = nodes[relation.source], nodes[relation.target]
        is_outward = source.distance <= target.distance
        above, node = (source, target) if is_outward else (target, source)
        if node.id in placed or above.distance == node.distance:
            others.append(relation)
        else:
            placed.add(node.id)
            below.setdefault(above.id, []).append(_Branch(relation, node, is_outward))
    return below, others


def _lines(memory_id: str, below: dict[str, list[_Branch]], *, lead: str = "") -> Iterator[tuple[str, _Branch]]:
    branches = below.get(memory_id, [])
    for number, branch in enumerate(branches, start=1):
        is_last = number == len(branches)
        yield lead + ("└─ " if is_last else "├─ "), branch
        yield from _lines(branch.node.id, below, lead=lead + ("   " if is_last else "│  "))


def _named(node: NetworkNode) -> list[Span]:
    title = f"  {node.title}" if node.title and node.title != node.name else ""
    pinned = " *" if node.pinned else ""
    return [(node.name, "bold"), (f"{pinned}  ({node.kind}){title}", ""), (f"  {node.id}", "dim")]


def _relation(one: Relation, *, is_outward: bool) -> list[Span]:
    if one.type == LINK:
        return [(" ↔ ", "cyan")]
    return [(f" {one.type} → " if is_outward else f" ← {one.type} ", "cyan")]
