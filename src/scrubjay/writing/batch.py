"""Several writes of one call: all of them happen, or none."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from scrubjay import telemetry
from scrubjay.detection.report import ConflictReport, look_for
from scrubjay.model.change import Action, Origin
from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.draft import Draft, Edit, Limits
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import Relation
from scrubjay.model.rules import Rules
from scrubjay.ports import Commit, Edge, Embedded, Write
from scrubjay.text.passages import passages_of
from scrubjay.writing.compose import compose
from scrubjay.writing.deny import require_allowed, require_allowed_edit
from scrubjay.writing.embed import Sliced, embed_new, vectors_of
from scrubjay.writing.pipeline import WriteContext
from scrubjay.writing.revise import apply_edit
from scrubjay.writing.rules import effective_rules_of
from scrubjay.writing.screen import mark, screen, screen_edit, screen_relation
from scrubjay.writing.validate import label, metadata, validate

# So much is prepared in a few milliseconds; more would hold up the event loop.
_MOST_AT_ONCE = 50
_MOST_CHARACTERS = 20_000
MOST_LOOKED_AT = 20
"""More memories than that are not compared with what is there: that is a matter for a look through the whole space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A memory to be made. Its draft has a name; its id is known beforehand, so that edges can lead to it."""

    draft: Draft
    id: str = field(default_factory=new_id)
    state: State = State.LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """All that one call writes. Memories are as they were read: who was faster makes the call stale."""

    new: tuple[New, ...] = ()
    edits: tuple[tuple[Memory, Edit], ...] = ()
    trashed: tuple[Memory, ...] = ()
    edges: tuple[Edge, ...] = ()
    message: str = ""


async def write_together(
    batch: Together, *, space: str, origin: Origin, context: WriteContext, embed: bool = True
) -> tuple[ConflictDetails, ...]:
    """Store a batch; raises StaleVersion or NameTaken when it must be made anew from what is there now."""
    with telemetry.stage("write.validate"):
        rules = (await effective_rules_of(space, default=context.rules, documents=context.store)).rules
        checked = _checked(batch, limits=context.limits, rules=rules)
    prepare = partial(_writes, checked, space=space, origin=origin, limits=context.limits, rules=rules)
    with telemetry.stage("write.slice"):
        writes = prepare() if _is_small(checked) else await asyncio.to_thread(prepare)
    if not writes and not batch.edges:
        return ()
    fresh = [(write.memory, write.passages) for write in writes if write.action is not Action.TRASHED]
    embedded, _ = (
        await embed_new(fresh, space=space, vector_store=context.store, embedder=context.embedder)
        if embed
        else (None, "")
    )
    conflict_reports = (
        await _frictions(batch, fresh, embedded, rules=rules, origin=origin, context=context) if embed else []
    )
    documents = tuple(document for report in conflict_reports for document in report.documents(at=origin.at))
    commit = Commit(
        space=space, origin=origin, writes=writes, edges=checked.edges, embedded=embedded, documents=documents
    )  # fmt: skip
    with telemetry.stage("write.commit"):
        await context.store.commit(commit)
    for write in writes:
        telemetry.count("writes", action="updated" if write.action is Action.REVISED else write.action.value)
    for edge in checked.edges:
        telemetry.count("writes", action="related" if edge.present else "unrelated")
    return tuple(told for report in conflict_reports for told in report.told)


async def _frictions(
    batch: Together,
    fresh: Sequence[Sliced],
    embedded: Embedded | None,
    *,
    rules: Rules,
    origin: Origin,
    context: WriteContext,
) -> list[ConflictReport]:
    """What a few memories do not go with; of many together it is a matter for a look through the whole space."""
    if len(fresh) > MOST_LOOKED_AT:
        return []
    before = {memory.id: memory for memory, _ in batch.edits}
    found: list[ConflictReport] = []
    for memory, passages in fresh:
        profile, vectors = await vectors_of(
            passages, embedded, space=memory.space, vector_store=context.store, embedder=context.embedder
        )
        found.append(
            await look_for(
                memory, passages, vectors, before=before.get(memory.id), rules=rules, origin=origin, profile=profile,
                store=context.store, index=context.index,
            )
        )  # fmt: skip
    return found


def require_storable(relation: Relation, *, limits: Limits) -> None:
    """Raise InvalidInput for a relation that no store can keep."""
    label(relation.type, field="relation", limits=limits)
    metadata(relation.metadata, limits=limits)


def _checked(batch: Together, *, limits: Limits, rules: Rules) -> Together:
    for edge in batch.edges:
        if edge.present:
            require_storable(edge.relation, limits=limits)
    return replace(
        batch,
        new=tuple(replace(one, draft=_allowed(one.draft, limits=limits, rules=rules)) for one in batch.new),
        edges=tuple(
            replace(edge, relation=screen_relation(edge.relation, rules=rules)) if edge.present else edge
            for edge in batch.edges
        ),
    )


def _allowed(draft: Draft, *, limits: Limits, rules: Rules) -> Draft:
    checked = validate(draft, limits=limits)
    require_allowed(checked, rules=rules)
    return checked


def _writes(batch: Together, *, space: str, origin: Origin, limits: Limits, rules: Rules) -> tuple[Write, ...]:
    return (
        *(_created(one, space=space, origin=origin, message=batch.message, rules=rules) for one in batch.new),
        *_revised(batch, origin=origin, limits=limits, rules=rules),
        *(_trashed(memory, origin=origin, message=batch.message) for memory in batch.trashed),
    )


def _created(new: New, *, space: str, origin: Origin, message: str, rules: Rules) -> Write:
    (made,) = compose(screen(new.draft, rules=rules), space=space, now=origin.at)
    memory = replace(made, id=new.id, state=new.state)
    return Write(memory=memory, base=None, action=Action.CREATED, passages=passages_of(memory), message=message)


def _revised(batch: Together, *, origin: Origin, limits: Limits, rules: Rules) -> Iterable[Write]:
    for memory, given in batch.edits:
        edit, _, _ = screen_edit(given, rules=rules)
        edited, _ = apply_edit(memory, edit, now=origin.at, limits=limits)
        if edited != memory:
            require_allowed_edit(memory, edited, rules=rules)
            edited, _ = mark(memory, edited, rules=rules)
            at = max(origin.at, memory.updated_at)
            edited = replace(edited, version=memory.version + 1, updated_at=at, last_confirmed=origin.at)
            yield Write(
                memory=edited, base=memory.version, action=Action.REVISED, passages=passages_of(edited),
                message=edit.message or batch.message,
            )  # fmt: skip


def _trashed(memory: Memory, *, origin: Origin, message: str) -> Write:
    at = max(origin.at, memory.updated_at)
    moved = replace(memory, state=State.TRASHED, version=memory.version + 1, updated_at=at)
    return Write(memory=moved, base=memory.version, action=Action.TRASHED, passages=passages_of(moved), message=message)


def _is_small(batch: Together) -> bool:
    if len(batch.new) + len(batch.edits) + len(batch.trashed) > _MOST_AT_ONCE:
        return False
    memories = (*(memory for memory, _ in batch.edits), *batch.trashed)
    characters = sum(len(text) for one in batch.new for text in (one.draft.text, *one.draft.observations))
    characters += sum(
        len(memory.content) + sum(len(observation.text) for observation in memory.observations) for memory in memories
    )
    return characters < _MOST_CHARACTERS
