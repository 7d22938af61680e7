"""Several writes in one commit: all of them are stored, or none."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import partial

from scrubjay import telemetry
from scrubjay.detection.neighbours import ReadCache
from scrubjay.detection.report import ConflictReport, find_conflicts
from scrubjay.lazy import dataclass
from scrubjay.model.change import Action, Origin
from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.health import WriteNote
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Flag, Memory, State, Tier
from scrubjay.model.relation import Relation
from scrubjay.model.requests import Edit
from scrubjay.model.rules import Rules
from scrubjay.ports import Commit, Edge, Embedded, Write
from scrubjay.text.passages import passages_of
from scrubjay.writing.compose import compose
from scrubjay.writing.context import WriteContext
from scrubjay.writing.deny import require_allowed, require_allowed_edit
from scrubjay.writing.embed import embed_new, load_vectors
from scrubjay.writing.revise import apply_edit, limit_source
from scrubjay.writing.rules import load_rules
from scrubjay.writing.screen import screen, screen_edit, screen_relation, update_flags
from scrubjay.writing.validate import label, metadata, validate

# A batch of this size is prepared in a few milliseconds; a larger one is prepared in a thread.
_MAX_INLINE = 50
_MAX_INLINE_CHARACTERS = 20_000
# More new texts than that are the passages of documents, of which few are compared.
_MAX_SEARCHED = 64
MAX_CONFLICT_CHECKS = 20
"""In a larger batch no memory is checked for conflicts: a scan of the whole space does that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to create. Its draft has a name; its id is set beforehand, so that edges can refer to it."""

    draft: Draft
    id: str = field(default_factory=new_id)
    state: State = State.LIVE
    tier: Tier = Tier.WORKING


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The writes of one call. The memories are as they were read: a later version makes the call stale."""

    new: tuple[NewMemory, ...] = ()
    edits: tuple[tuple[Memory, Edit], ...] = ()
    trashed: tuple[Memory, ...] = ()
    edges: tuple[Edge, ...] = ()
    message: str = ""


async def write_batch(
    batch: Batch, *, space: str, origin: Origin, context: WriteContext, embed: bool = True
) -> tuple[ConflictDetails, ...]:
    """Store a batch. Raises StaleVersion or NameTaken if the caller must make it again from what is stored now."""
    with telemetry.stage("write.validate"):
        rules = (await load_rules(space, default=context.rules, documents=context.store)).rules
        checked = _check(batch, limits=context.limits, rules=rules, origin=origin)
    prepare = partial(_writes, checked, space=space, origin=origin, limits=context.limits, rules=rules)
    with telemetry.stage("write.slice"):
        writes = prepare() if _is_small(checked) else await asyncio.to_thread(prepare)
    if not writes and not batch.edges:
        return ()
    embedded: Embedded | None = None
    reports: Sequence[ConflictReport] = ()
    if embed:
        stored = [write for write in writes if write.action is not Action.TRASHED]
        sliced = [(write.memory, tuple(write.passages)) for write in stored]
        embedded, _ = await embed_new(sliced, space=space, vector_store=context.store, embedder=context.embedder)
        if len(stored) <= MAX_CONFLICT_CHECKS:
            before = {memory.id: memory for memory, _ in batch.edits}
            # One call asks the pair model once. The memories of a call have many neighbours in common.
            pairs = context.pairs if len(stored) == 1 else None
            cache = ReadCache(store=context.store, index=context.index, pairs=pairs)
            if embedded is not None and 1 < len(embedded.vectors) <= _MAX_SEARCHED:
                await cache.search_ahead(space, list(embedded.vectors.values()))
            reports = [
                await _find_conflicts(write, before.get(write.memory.id), embedded, rules=rules, origin=origin,
                                      context=context, cache=cache)
                for write in stored
            ]  # fmt: skip
    commit = Commit(
        space=space,
        origin=origin,
        writes=writes,
        edges=checked.edges,
        embedded=embedded,
        documents=tuple(document for report in reports for document in report.documents(at=origin.at)),
    )
    with telemetry.stage("write.commit"):
        await context.store.commit(commit)
    for number, write in enumerate(writes):
        action = "updated" if write.action is Action.REVISED else write.action.value
        telemetry.count("writes", action=action)
        conflicts = len(reports[number].details) if len(reports) == len(writes) else 0
        context.note(WriteNote(
            space=space, agent=origin.agent, at=origin.at, action=action, is_thin=Flag.THIN in write.memory.flags,
            conflicts=conflicts,
        ))  # fmt: skip
    for edge in checked.edges:
        telemetry.count("writes", action="related" if edge.present else "unrelated")
    return tuple(details for report in reports for details in report.details)


def require_storable(relation: Relation, *, limits: Limits) -> None:
    """Raise InvalidInput for a relation that no store can keep."""
    label(relation.type, field="relation", limits=limits)
    metadata(relation.metadata, limits=limits)


async def _find_conflicts(
    write: Write,
    before: Memory | None,
    embedded: Embedded | None,
    *,
    rules: Rules,
    origin: Origin,
    context: WriteContext,
    cache: ReadCache,
) -> ConflictReport:
    written = await load_vectors(
        write.memory, write.passages, embedded, vector_store=context.store, embedder=context.embedder
    )
    return await find_conflicts(written, before=before, rules=rules, origin=origin, cache=cache)


def _check(batch: Batch, *, limits: Limits, rules: Rules, origin: Origin) -> Batch:
    new: list[NewMemory] = []
    edges: list[Edge] = []
    for edge in batch.edges:
        if edge.present:
            require_storable(edge.relation, limits=limits)
            edge = replace(edge, relation=screen_relation(edge.relation, rules=rules))  # noqa: PLW2901
        edges.append(edge)
    for memory in batch.new:
        draft = validate(memory.draft, limits=limits, origin=origin)
        require_allowed(draft, rules=rules)
        new.append(replace(memory, draft=draft))
    return replace(batch, new=tuple(new), edges=tuple(edges))


def _writes(batch: Batch, *, space: str, origin: Origin, limits: Limits, rules: Rules) -> tuple[Write, ...]:
    return (
        *(_create(new, space=space, origin=origin, message=batch.message, rules=rules) for new in batch.new),
        *_revise(batch, origin=origin, limits=limits, rules=rules),
        *(_trash(memory, origin=origin, message=batch.message) for memory in batch.trashed),
    )


def _create(new: NewMemory, *, space: str, origin: Origin, message: str, rules: Rules) -> Write:
    (composed,) = compose(screen(new.draft, rules=rules), space=space, now=origin.at)
    # What seems to give orders is not promoted.
    tier = Tier.WORKING if Flag.SUSPICIOUS in composed.flags else new.tier
    memory = replace(composed, id=new.id, state=new.state, tier=tier)
    return Write(memory=memory, base=None, action=Action.CREATED, passages=passages_of(memory), message=message)


def _revise(batch: Batch, *, origin: Origin, limits: Limits, rules: Rules) -> Iterable[Write]:
    for memory, requested in batch.edits:
        edit, _, _ = screen_edit(limit_source(requested, origin), rules=rules)
        edited, _ = apply_edit(memory, edit, now=origin.at, limits=limits, by_agent=origin.is_agent)
        if edited != memory:
            require_allowed_edit(memory, edited, rules=rules)
            edited, _ = update_flags(memory, edited, rules=rules)
            at = max(origin.at, memory.updated_at)
            edited = replace(edited, version=memory.version + 1, updated_at=at, last_confirmed=origin.at)
            yield Write(
                memory=edited, base=memory.version, action=Action.REVISED, passages=passages_of(edited),
                message=edit.message or batch.message,
            )  # fmt: skip


def _trash(memory: Memory, *, origin: Origin, message: str) -> Write:
    at = max(origin.at, memory.updated_at)
    trashed = replace(memory, state=State.TRASHED, version=memory.version + 1, updated_at=at)
    return Write(
        memory=trashed, base=memory.version, action=Action.TRASHED, passages=passages_of(trashed), message=message
    )


def _is_small(batch: Batch) -> bool:
    if len(batch.new) + len(batch.edits) + len(batch.trashed) > _MAX_INLINE:
        return False
    memories = (*(memory for memory, _ in batch.edits), *batch.trashed)
    characters = sum(len(text) for new in batch.new for text in (new.draft.text, *new.draft.observations))
    characters += sum(
        len(memory.content) + sum(len(observation.text) for observation in memory.observations) for memory in memories
    )
    return characters < _MAX_INLINE_CHARACTERS
