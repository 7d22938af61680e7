"""`relate` and `unrelate`: edges between memories."""

from collections.abc import Mapping

from scrubjay import telemetry
from scrubjay.errors import InvalidInput
from scrubjay.lookup.branches import trunk_of
from scrubjay.lookup.references import resolve
from scrubjay.model.change import Origin
from scrubjay.model.checks import require_fraction
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Json, Memory
from scrubjay.model.relation import LINK, Relation
from scrubjay.model.results import Related
from scrubjay.model.rules import Rules
from scrubjay.ports import Commit, Edge, RecordStore
from scrubjay.writing import validate
from scrubjay.writing.rules import effective_rules_of
from scrubjay.writing.screen import screen_relation


async def relate(
    source: str,
    target: str,
    *,
    relation: str,
    text: str,
    strength: float,
    metadata: Mapping[str, Json],
    space: str,
    origin: Origin,
    store: RecordStore,
    limits: Limits,
    rules: Rules | None = None,
) -> Related:
    """Set an edge; a link is one edge, whichever end it is made from."""
    start, end = [await _memory(one, space=space, store=store) for one in (source, target)]
    if start.id == end.id:
        raise InvalidInput("a memory cannot be related to itself", field="target")
    edge = Relation(
        source=start.id,
        target=end.id,
        type=_type(relation, limits),
        text=validate.label(text, field="text", limits=limits),
        strength=require_fraction(strength, field="strength"),
        metadata=validate.metadata(metadata, limits=limits),
        created_at=origin.at,
    )
    effective = await effective_rules_of(space, default=rules or Rules(), documents=store)
    edge = screen_relation(edge, rules=effective.rules)
    known = [relation for relation in await store.relations(space, [start.id]) if _same(relation, edge)]
    if known:
        edge = Relation(
            source=known[0].source, target=known[0].target, type=edge.type, text=edge.text, strength=edge.strength,
            metadata=edge.metadata, created_at=known[0].created_at,
        )  # fmt: skip
    if edge in known:
        action = "unchanged"
    else:
        with telemetry.stage("write.commit"):
            await store.commit(Commit(space=space, origin=origin, edges=(Edge(relation=edge, present=True),)))
        telemetry.count("writes", action="related")
        action = "updated" if known else "created"
    return await _both_ends(action, start, end, space=space, store=store)


async def unrelate(
    source: str, target: str, *, relation: str, space: str, origin: Origin, store: RecordStore, limits: Limits
) -> Related:
    """Remove an edge; a link goes away from both ends."""
    start, end = [await _memory(one, space=space, store=store) for one in (source, target)]
    wanted = Relation(source=start.id, target=end.id, type=_type(relation, limits), created_at=origin.at)
    known = [relation for relation in await store.relations(space, [start.id]) if _same(relation, wanted)]
    if known:
        edges = tuple(Edge(relation=one, present=False) for one in known)
        with telemetry.stage("write.commit"):
            await store.commit(Commit(space=space, origin=origin, edges=edges))
        telemetry.count("writes", len(edges), action="unrelated")
    return await _both_ends("removed" if known else "unchanged", start, end, space=space, store=store)


async def _memory(ref: str, *, space: str, store: RecordStore) -> Memory:
    """The memory itself: relations are those of all its branches."""
    return await trunk_of(store, await resolve(store, ref, space=space))


def _same(known: Relation, wanted: Relation) -> bool:
    if known.type != wanted.type:
        return False
    ends = (known.source, known.target)
    return ends == (wanted.source, wanted.target) or (wanted.type == LINK and ends == (wanted.target, wanted.source))


def _type(relation: str, limits: Limits) -> str:
    tidy = validate.label(relation, field="relation", limits=limits)
    if not tidy:
        raise InvalidInput("a relation needs a type", hint=f"The default is {LINK}", field="relation")
    return tidy


async def _both_ends(action: str, source: Memory, target: Memory, *, space: str, store: RecordStore) -> Related:
    edges = await store.relations(space, [source.id, target.id])
    return Related(
        action=action,
        source=source.id,
        source_name=source.label,
        target=target.id,
        target_name=target.label,
        source_links=tuple(edge for edge in edges if source.id in (edge.source, edge.target)),
        target_links=tuple(edge for edge in edges if target.id in (edge.source, edge.target)),
    )
