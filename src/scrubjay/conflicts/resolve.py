"""`resolve`: a conflict is settled in one of several ways, each of which can be undone."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import cast

from scrubjay import telemetry
from scrubjay.conflicts.auto_strategy import choose
from scrubjay.conflicts.branch_strategies import DEEDS_OF_LINES
from scrubjay.conflicts.repository import discard, pending_or_raise, reopen, told_by_run
from scrubjay.conflicts.statement import End, are_lines, both_hold, ends_of, in_time, standing
from scrubjay.conflicts.strategies import DEEDS, Case, Combine, ResolutionPlan
from scrubjay.detection.advice import Advice
from scrubjay.errors import InvalidInput, NotFound, StaleVersion, WrongState
from scrubjay.idempotency import IdempotentRequest, idempotent_request
from scrubjay.lookup.branches import branch_id, first_page
from scrubjay.model.branch import require_branch_name
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import require_remark, require_text
from scrubjay.model.conflict import Conflict, ConflictStatus, Resolved, Strategy
from scrubjay.model.memory import Json
from scrubjay.ports import Commit, Embedded, Write
from scrubjay.text.screening.secrets import redact
from scrubjay.writing.context import WriteContext
from scrubjay.writing.embed import embed_new, slice_memory
from scrubjay.writing.rules import load_rules

__all__ = ["reopen", "require_strategy", "resolve_conflict"]

# Somebody may change the memories meanwhile; each time they are looked at anew.
_TRIES = 20
_LEFT = "left_pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """How somebody wants a conflict to be settled."""

    strategy: Strategy
    notes: str
    branch: str
    origin: Origin
    ask: IdempotentRequest
    combine: Combine


async def resolve_conflict(
    conflict_id: str,
    *,
    strategy: str,
    notes: str,
    branch: str,
    space: str,
    origin: Origin,
    context: WriteContext,
    combine: Combine,
    key: str,
) -> Resolved:
    """Settle a conflict. `combine` brings together two lines of versions of one memory."""
    require_text(conflict_id, field="conflict_id")
    asked: dict[str, Json] = {
        "verb": "resolve_conflict", "id": conflict_id, "strategy": strategy, "notes": notes, "branch": branch,
    }  # fmt: skip
    wish = _Wish(
        strategy=require_strategy(strategy),
        notes=redact(require_remark(notes, field="notes"))[0],
        branch=require_branch_name(branch) if branch else "",
        origin=origin,
        ask=idempotent_request(key, asked),
        combine=combine,
    )
    for _ in range(_TRIES):
        if (known := await wish.ask.find_answer(context.store, space=space)) is not None:
            return _resolved(known)
        conflict = await pending_or_raise(conflict_id, space=space, documents=context.store)
        try:
            return await _settle(conflict, wish, context=context)
        except StaleVersion:
            continue
    raise StaleVersion("the memories of the conflict are being changed too fast", hint="Try again")


def require_strategy(strategy: str) -> Strategy:
    """A strategy by its name."""
    try:
        return Strategy(strategy)
    except ValueError:
        allowed = tuple(one.value for one in Strategy)
        raise InvalidInput(
            f"strategy must be one of {', '.join(allowed)}, not {str(strategy)[:40]!r}",
            field="strategy",
            allowed=allowed,
        ) from None


async def _settle(conflict: Conflict, wish: _Wish, *, context: WriteContext) -> Resolved:
    newer, older = await _ends(conflict, now=wish.origin.at, context=context)
    choice = Advice(wish.strategy, "")
    if wish.strategy is Strategy.AUTO:
        choice = choose(conflict, newer=newer, older=older)
    if choice.strategy is None:
        return Resolved(
            action=_LEFT, conflict=conflict.id, strategy=Strategy.AUTO, kept=older.memory.id, why=choice.why
        )
    case = await _case(conflict, wish, newer=newer, older=older, context=context)
    deed = (DEEDS_OF_LINES if are_lines(newer, older) else DEEDS)[choice.strategy](case)
    # Always one of the two gets a version: so it is in the log, two who decide at once meet, and `undo` finds it.
    anchor = newer.memory if newer.memory.id == conflict.memory else older.memory
    if all(one.id != anchor.id for one in deed.changed):
        noted = anchor if choice.strategy is Strategy.IGNORE else replace(anchor, resolution=choice.strategy.value)
        deed = replace(deed, changed=(*deed.changed, noted))
    return await _commit(case, deed, wish, choice=choice, context=context)


async def _ends(conflict: Conflict, *, now: datetime, context: WriteContext) -> tuple[End, End]:
    """The newer statement and the older one, as they are now."""
    space, store = conflict.space, context.store
    ends = ends_of(conflict, await standing((conflict.memory, conflict.other), space=space, store=store))
    if ends is None:
        await discard(conflict, documents=store)
        raise NotFound(
            f"what conflict {conflict.id} is about is gone", hint="`conflicts` lists those that wait", ref=conflict.id
        )
    first, second = ends
    if not both_hold(first, second, now=now):
        raise WrongState(
            f"one side of conflict {conflict.id} does not hold any more: there is nothing to decide",
            hint="It waits again when that is restored",
            conflict=conflict.id,
        )
    return in_time(first, second)


async def _case(conflict: Conflict, wish: _Wish, *, newer: End, older: End, context: WriteContext) -> Case:
    space, store = conflict.space, context.store
    case = Case(
        conflict=conflict, newer=newer, older=older, at=wish.origin.at, branch=wish.branch, limits=context.limits,
        most_tags=(await load_rules(space, default=context.rules, documents=store)).rules.most_tags,
        relations=tuple(await store.relations(space, [newer.memory.id, older.memory.id])),
    )  # fmt: skip
    if are_lines(newer, older):
        line = newer.memory if newer.memory.trunk else older.memory
        base = await store.version(space, line.trunk, line.forked)
        return replace(case, base=base and base.memory, combine=wish.combine)
    place = branch_id(older.memory.id, case.line)
    return replace(case, former=(await store.get(space, [place])).get(place))


async def _commit(case: Case, deed: ResolutionPlan, wish: _Wish, *, choice: Advice, context: WriteContext) -> Resolved:
    conflict, origin, strategy = case.conflict, wish.origin, choice.strategy or wish.strategy
    said = f"conflict {conflict.id}: {strategy.value}" + (f", {wish.notes}" if wish.notes else "")
    writes, embedded, warning = await _writes(case, deed, message=said, context=context)
    answer = Resolved(
        action=deed.action,
        conflict=conflict.id,
        strategy=strategy,
        kept=deed.kept,
        changed=tuple(write.memory.id for write in writes),
        why=choice.why,
        run=origin.run,
        branch=deed.branch,
        warnings=(*deed.warnings, *([warning] if warning else [])),
    )
    settled = replace(
        conflict,
        status=ConflictStatus.IGNORED if strategy is Strategy.IGNORE else ConflictStatus.RESOLVED,
        strategy=strategy,
        notes=wish.notes,
        resolved_at=origin.at,
        resolved_by=origin.agent,
        run=origin.run,
    )
    begun = [
        first_page(write.memory, description=said, origin=origin)
        for write in writes
        if deed.begun is not None and write.memory.id == deed.begun.id
    ]
    documents = (settled.document(at=origin.at), told_by_run(conflict, origin=origin), *begun)
    # Both must be as they were, also the one of which nothing is written: it may have been purged meanwhile.
    expected = tuple((end.memory.id, end.memory.version) for end in (case.newer, case.older))
    commit = Commit(
        space=conflict.space, origin=origin, writes=writes, expected=expected, edges=deed.edges, embedded=embedded,
        documents=documents, once=wish.ask.once(_as_json(answer)),
    )  # fmt: skip
    with telemetry.stage("write.commit"):
        first = wish.ask.first(await context.store.commit(commit))
    # Who is cut off here leaves it in both drawers; whoever looks next throws it away.
    await discard(conflict, documents=context.store)
    return answer if first is None else _resolved(first)


async def _writes(
    case: Case, deed: ResolutionPlan, *, message: str, context: WriteContext
) -> tuple[tuple[Write, ...], Embedded | None, str]:
    """The versions that are written, the vectors that they need, and what is to be told of these."""
    bases = {end.memory.id: end.memory.version for end in (case.newer, case.older)}
    writes: list[Write] = []
    for memory in deed.changed:
        base = bases[memory.id]
        later = replace(memory, version=base + 1, updated_at=max(case.at, memory.updated_at))
        passages = await slice_memory(later)
        writes.append(Write(memory=later, base=base, action=Action.RESOLVED, passages=passages, message=message))
    if deed.begun is not None:
        begun = replace(deed.begun, updated_at=case.at)
        base = None if case.former is None else case.former.version
        passages = await slice_memory(begun)
        writes.append(Write(memory=begun, base=base, action=Action.BRANCHED, passages=passages, message=message))
    sliced = [(write.memory, write.passages) for write in writes]
    embedded, warning = await embed_new(
        sliced, space=case.conflict.space, vector_store=context.store, embedder=context.embedder
    )
    return tuple(writes), embedded, warning


def _as_json(answer: Resolved) -> dict[str, Json]:
    return cast("dict[str, Json]", asdict(answer))


def _resolved(told: Mapping[str, Json]) -> Resolved:
    """What was kept."""
    lists = {name: tuple(cast("list[str]", told[name])) for name in ("changed", "warnings")}
    return Resolved(**{**told, **lists, "strategy": Strategy(str(told["strategy"]))})  # type: ignore[arg-type]
