"""`resolve_conflict`: settle a conflict by a strategy; every resolution can be undone."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import cast

from scrubjay import telemetry
from scrubjay.conflicts.repository import delete_conflict, pending_or_raise, reopen
from scrubjay.conflicts.strategies import (
    CombineVersions,
    ConflictCase,
    ResolutionPlan,
    apply_strategy,
    choose_strategy,
    superseded_at,
)
from scrubjay.detection.advice import Advice
from scrubjay.detection.statement import (
    DisputedStatement,
    are_branches,
    find_statement,
    find_statements,
    load_current,
    needs_decision,
    newer_and_older,
    supersede_statement,
)
from scrubjay.errors import InvalidInput, NotFound, StaleVersion, WrongState
from scrubjay.idempotency import IdempotentRequest, idempotent_request
from scrubjay.lazy import dataclass
from scrubjay.lookup.branches import branch_document, branch_id
from scrubjay.lookup.references import TolerantReader, resolve
from scrubjay.model.branch import require_branch_name
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import require_remark, require_text
from scrubjay.model.conflict import ConflictRecord, Resolved, Strategy
from scrubjay.model.memory import Json, Memory
from scrubjay.ports import Commit, Embedded, Write
from scrubjay.text.screening.secrets import redact, require_no_secret
from scrubjay.workers import offload
from scrubjay.writing.context import WriteContext
from scrubjay.writing.embed import embed_new, slice_memory
from scrubjay.writing.rules import load_rules

__all__ = ["reopen", "require_strategy", "resolve_conflict"]

_MAX_ATTEMPTS = 20
_LEFT_PENDING = "left_pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ResolveRequest:
    """How the caller wants a conflict to be settled."""

    strategy: Strategy
    notes: str
    branch: str
    keep: str
    origin: Origin
    idempotency: IdempotentRequest
    combine: CombineVersions


async def resolve_conflict(
    conflict_id: str,
    *,
    strategy: str,
    notes: str,
    branch: str,
    keep: str = "",
    space: str,
    origin: Origin,
    context: WriteContext,
    combine: CombineVersions,
    key: str,
) -> Resolved:
    """Settle a conflict. `combine` merges a memory and its branch; `keep` names the memory whose statement holds."""
    require_text(conflict_id, field="conflict_id")
    arguments: dict[str, Json] = {
        "verb": "resolve_conflict", "id": conflict_id, "strategy": strategy, "notes": notes, "branch": branch,
        **({"keep": keep} if keep else {}),
    }  # fmt: skip
    if require_text(keep, field="keep") and strategy != Strategy.SUPERSEDE:
        raise InvalidInput("keep goes with the strategy supersede", hint="Leave it out", field="keep")
    request = _ResolveRequest(
        strategy=require_strategy(strategy),
        notes=redact(require_remark(notes, field="notes"))[0],
        branch=require_no_secret(require_branch_name(branch), field="branch") if branch else "",
        keep=keep,
        origin=origin,
        idempotency=idempotent_request(key, arguments),
        combine=combine,
    )
    for _ in range(_MAX_ATTEMPTS):
        if (earlier := await request.idempotency.find_answer(context.store, space=space)) is not None:
            return _from_json(earlier)
        conflict = await pending_or_raise(conflict_id, space=space, documents=context.store)
        try:
            return await _settle(conflict, request, context=context)
        except StaleVersion:
            continue  # A memory has changed meanwhile: decide again.
    raise StaleVersion("the memories of the conflict keep changing", hint="Try again")


def require_strategy(strategy: str) -> Strategy:
    """Return the strategy of a name, or raise InvalidInput."""
    try:
        return Strategy(strategy)
    except ValueError:
        allowed = tuple(choice.value for choice in Strategy)
        raise InvalidInput(
            f"strategy must be one of {', '.join(allowed)}, not {str(strategy)[:40]!r}",
            field="strategy",
            allowed=allowed,
        ) from None


async def _settle(conflict: ConflictRecord, request: _ResolveRequest, *, context: WriteContext) -> Resolved:
    newer, older = await _find_statements(conflict, now=request.origin.at, context=context)
    if request.keep:
        newer, older = await _keep_first(newer, older, request.keep, context=context)
    choice = Advice(request.strategy, "")
    if request.strategy is Strategy.AUTO:
        choice = choose_strategy(conflict, newer=newer, older=older)
    if choice.strategy is None:
        return Resolved(
            action=_LEFT_PENDING, conflict=conflict.id, strategy=Strategy.AUTO, kept=older.memory.id, why=choice.why
        )
    case = await _case(conflict, request, newer=newer, older=older, context=context)
    size = newer.memory.characters + older.memory.characters
    plan = await offload(size, apply_strategy, choice.strategy, case)
    if choice.strategy is Strategy.SUPERSEDE and not are_branches(newer, older):
        plan = replace(plan, changed=(*plan.changed, *await _end_siblings(case, context=context)))
    # One of the two always gets a version: the log shows the decision, two callers who decide at once collide, and
    # `undo` finds it.
    anchor = newer.memory if newer.memory.id == conflict.memory else older.memory
    if all(memory.id != anchor.id for memory in plan.changed):
        marked = anchor if choice.strategy is Strategy.IGNORE else replace(anchor, resolution=choice.strategy.value)
        plan = replace(plan, changed=(*plan.changed, marked))
    return await _commit(case, plan, request, choice=choice, context=context)


async def _find_statements(
    conflict: ConflictRecord, *, now: datetime, context: WriteContext
) -> tuple[DisputedStatement, DisputedStatement]:
    """Return the newer statement and the older one, as they are now."""
    space, store = conflict.space, context.store
    memories = await load_current((conflict.memory, conflict.other), space=space, store=store)
    size = sum([memory.characters for memory in memories.values()])
    statements = await offload(size, find_statements, conflict, memories)
    if statements is None:
        await delete_conflict(conflict, documents=store)
        raise NotFound(
            f"a statement of conflict {conflict.id} is gone",
            hint="`conflicts` lists the pending ones",
            ref=conflict.id,
        )
    if not needs_decision(*statements, now=now):
        raise WrongState(
            f"one side of conflict {conflict.id} is no longer in force: there is nothing to decide",
            hint="The conflict is pending again when you restore that side",
            conflict=conflict.id,
        )
    return newer_and_older(*statements)


async def _keep_first(
    newer: DisputedStatement, older: DisputedStatement, keep: str, *, context: WriteContext
) -> tuple[DisputedStatement, DisputedStatement]:
    """Return the statement that holds first, whichever is newer."""
    space = newer.memory.space
    holding = await resolve(context.store, keep, space=space)
    if are_branches(newer, older) or newer.memory.id == older.memory.id:
        raise InvalidInput("keep chooses between two memories", hint="Leave it out", field="keep")
    if holding.id == newer.memory.id:
        return newer, older
    if holding.id == older.memory.id:
        return older, newer
    ids = (newer.memory.id, older.memory.id)
    raise InvalidInput(
        f"{keep[:100]!r} is no side of the conflict", hint=f"Give {' or '.join(ids)}", field="keep", allowed=ids
    )


async def _case(
    conflict: ConflictRecord,
    request: _ResolveRequest,
    *,
    newer: DisputedStatement,
    older: DisputedStatement,
    context: WriteContext,
) -> ConflictCase:
    space, store = conflict.space, context.store
    case = ConflictCase(
        conflict=conflict, newer=newer, older=older, at=request.origin.at, branch=request.branch,
        limits=context.limits,
        most_tags=(await load_rules(space, default=context.rules, documents=store)).rules.most_tags,
        relations=tuple(await store.relations(space, [newer.memory.id, older.memory.id])),
    )  # fmt: skip
    if are_branches(newer, older):
        branch = newer.memory if newer.memory.trunk else older.memory
        base = await store.version(space, branch.trunk, branch.forked)
        return replace(case, base=base and base.memory, combine=request.combine)
    record_id = branch_id(older.memory.id, case.branch_name)
    return replace(case, former=(await store.get(space, [record_id])).get(record_id))


async def _end_siblings(case: ConflictCase, *, context: WriteContext) -> list[Memory]:
    """Return the other records of the text whose statement ends: they say the same under other entities."""
    older, conflict, store = case.older, case.conflict, context.store
    if not older.memory.group:
        return []
    members = await store.members(conflict.space, older.memory.group)
    sides = (older.memory.id, case.newer.memory.id)
    siblings = await TolerantReader(store, space=conflict.space).get([id_ for id_ in members if id_ not in sides])
    key = conflict.statement if older.memory.id == conflict.memory else conflict.against
    ended: list[Memory] = []
    for sibling in siblings:
        same = find_statement(sibling, key) if key or sibling.content == older.memory.content else None
        if same is not None and same.holds(case.at):
            memory = supersede_statement(same, until=superseded_at(case))
            ended.append(replace(memory, resolution="superseded"))
    return ended


async def _commit(
    case: ConflictCase, plan: ResolutionPlan, request: _ResolveRequest, *, choice: Advice, context: WriteContext
) -> Resolved:
    conflict, origin, strategy = case.conflict, request.origin, choice.strategy or request.strategy
    message = f"conflict {conflict.id}: {strategy.value}" + (f", {request.notes}" if request.notes else "")
    writes, embedded, warning = await _writes(case, plan, message=message, context=context)
    answer = Resolved(
        action=plan.action,
        conflict=conflict.id,
        strategy=strategy,
        kept=plan.remaining,
        changed=tuple(write.memory.id for write in writes),
        why=choice.why,
        run=origin.run,
        branch=plan.branch,
        warnings=(*plan.warnings, *([warning] if warning else [])),
    )
    settled = conflict.settled(strategy, notes=request.notes, origin=origin)
    branches = [
        branch_document(write.memory, description=message, origin=origin)
        for write in writes
        if plan.created is not None and write.memory.id == plan.created.id
    ]
    commit = Commit(
        space=conflict.space,
        origin=origin,
        writes=writes,
        # Both must be unchanged, also the one that is not written: it may have been purged meanwhile.
        expected=tuple((side.memory.id, side.memory.version) for side in (case.newer, case.older)),
        edges=plan.edges,
        embedded=embedded,
        documents=(settled.document(at=origin.at), settled.resolution_document(at=origin.at), *branches),
        once=request.idempotency.record(cast("dict[str, Json]", asdict(answer))),
    )
    with telemetry.stage("write.commit"):
        earlier = request.idempotency.earlier_answer(await context.store.commit(commit))
    # A crash here leaves it in both collections; the next reader deletes it.
    await delete_conflict(conflict, documents=context.store)
    return answer if earlier is None else _from_json(earlier)


async def _writes(
    case: ConflictCase, plan: ResolutionPlan, *, message: str, context: WriteContext
) -> tuple[tuple[Write, ...], Embedded | None, str]:
    """Return the versions to write, the vectors that they need, and a warning if these cannot be made."""
    bases = {side.memory.id: side.memory.version for side in (case.newer, case.older)}
    writes: list[Write] = []
    for memory in plan.changed:
        base = bases.get(memory.id, memory.version)
        changed = replace(memory, version=base + 1, updated_at=max(case.at, memory.updated_at))
        passages = await slice_memory(changed)
        writes.append(Write(memory=changed, base=base, action=Action.RESOLVED, passages=passages, message=message))
    if plan.created is not None:
        created = replace(plan.created, updated_at=case.at)
        base = None if case.former is None else case.former.version
        passages = await slice_memory(created)
        writes.append(Write(memory=created, base=base, action=Action.BRANCHED, passages=passages, message=message))
    embedded, warning = await embed_new(
        [(write.memory, tuple(write.passages)) for write in writes],
        space=case.conflict.space,
        vector_store=context.store,
        embedder=context.embedder,
    )
    return tuple(writes), embedded, warning


def _from_json(answer: Mapping[str, Json]) -> Resolved:
    lists = {name: tuple(cast("list[str]", answer[name])) for name in ("changed", "warnings")}
    return Resolved(**{**answer, **lists, "strategy": Strategy(str(answer["strategy"]))})  # type: ignore[arg-type]
