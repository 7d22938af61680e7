"""`relate` and `unrelate`: edges between memories."""

from dataclasses import replace

from scrubjay import telemetry
from scrubjay.errors import InvalidInput
from scrubjay.lookup.branches import trunk_of
from scrubjay.lookup.references import resolve
from scrubjay.model.change import Origin
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Memory
from scrubjay.model.relation import LINK, Relation
from scrubjay.model.requests import RelateRequest, UnrelateRequest
from scrubjay.model.results import Related
from scrubjay.model.rules import Rules
from scrubjay.ports import Commit, Edge, RecordStore
from scrubjay.writing import validate
from scrubjay.writing.deny import require_allowed_relation
from scrubjay.writing.rules import load_rules
from scrubjay.writing.screen import screen_relation


async def relate(
    request: RelateRequest,
    *,
    space: str,
    origin: Origin,
    store: RecordStore,
    limits: Limits,
    rules: Rules | None = None,
) -> Related:
    """Create or change an edge; a link is one edge, whichever end it is made from."""
    start, end = [await _memory(ref, space=space, store=store) for ref in (request.source, request.target)]
    if start.id == end.id:
        raise InvalidInput("a memory cannot be related to itself", field="target")
    edge = Relation(
        source=start.id,
        target=end.id,
        type=_type(request.relation, limits),
        text=validate.label(request.text, field="text", limits=limits),
        strength=request.strength,
        metadata=validate.metadata(request.metadata, limits=limits),
        created_at=origin.at,
    )
    effective = await load_rules(space, default=rules or Rules(), documents=store)
    edge = screen_relation(edge, rules=effective.rules)
    existing = await _matching(edge, space=space, store=store)
    require_allowed_relation(edge, rules=effective.rules, before=existing[0] if existing else None)
    if existing:
        first = existing[0]
        edge = replace(edge, source=first.source, target=first.target, created_at=first.created_at)
    if edge in existing:
        action = "unchanged"
    else:
        with telemetry.stage("write.commit"):
            await store.commit(Commit(space=space, origin=origin, edges=(Edge(relation=edge, present=True),)))
        telemetry.count("writes", action="related")
        action = "updated" if existing else "created"
    return await _related_result(action, start, end, space=space, store=store)


async def unrelate(
    request: UnrelateRequest, *, space: str, origin: Origin, store: RecordStore, limits: Limits
) -> Related:
    """Remove an edge; a link goes away from both ends."""
    start, end = [await _memory(ref, space=space, store=store) for ref in (request.source, request.target)]
    edge = Relation(source=start.id, target=end.id, type=_type(request.relation, limits), created_at=origin.at)
    existing = await _matching(edge, space=space, store=store)
    if existing:
        edges = tuple(Edge(relation=relation, present=False) for relation in existing)
        with telemetry.stage("write.commit"):
            await store.commit(Commit(space=space, origin=origin, edges=edges))
        telemetry.count("writes", len(edges), action="unrelated")
    return await _related_result("removed" if existing else "unchanged", start, end, space=space, store=store)


async def _memory(ref: str, *, space: str, store: RecordStore) -> Memory:
    """Resolve a reference to the memory itself: its branches have no relations of their own."""
    return await trunk_of(store, await resolve(store, ref, space=space))


async def _matching(edge: Relation, *, space: str, store: RecordStore) -> list[Relation]:
    """Return the stored relations of the same type between the same memories; a link has no direction."""
    ends = [(edge.source, edge.target), *([(edge.target, edge.source)] if edge.type == LINK else [])]
    return [
        relation
        for relation in await store.relations(space, [edge.source])
        if relation.type == edge.type and (relation.source, relation.target) in ends
    ]


def _type(relation: str, limits: Limits) -> str:
    tidy = validate.label(relation, field="relation", limits=limits)
    if not tidy:
        raise InvalidInput("a relation needs a type", hint=f"The default is {LINK}", field="relation")
    return tidy


async def _related_result(action: str, source: Memory, target: Memory, *, space: str, store: RecordStore) -> Related:
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
