"""`remember`: a draft passes through the stages of the write path, one after the other."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scrubjay import telemetry
from scrubjay.detection.neighbours import ReadCache
from scrubjay.detection.report import ConflictReport, find_conflicts
from scrubjay.errors import StaleVersion
from scrubjay.model.change import Origin
from scrubjay.model.conflict import ConflictType, PairShares
from scrubjay.model.draft import Draft
from scrubjay.model.health import WriteNote
from scrubjay.model.memory import Memory, State
from scrubjay.model.rules import Rules
from scrubjay.text.tags.synonyms import synonyms_from
from scrubjay.workers import offload
from scrubjay.writing import results, similarity
from scrubjay.writing.commit import create, free_names, merge_into
from scrubjay.writing.compose import compose, join_group
from scrubjay.writing.context import PreparedWrite, ScreenedDraft, Statement, WriteContext, WriteOutcome
from scrubjay.writing.density import check_density
from scrubjay.writing.duplicate import confirm, exact_duplicates, waiting_duplicates
from scrubjay.writing.embed import begin_embedding, load_vectors, slice_memory
from scrubjay.writing.entities import look_up_entities, name_entities
from scrubjay.writing.results import KeyedRequest
from scrubjay.writing.review import must_wait, put_into_inbox
from scrubjay.writing.rules import EffectiveRules, load_rules
from scrubjay.writing.screen import deny_or_screen
from scrubjay.writing.similarity import GateDecision
from scrubjay.writing.tags import SpaceTags, normalise_tags
from scrubjay.writing.validate import validate

MAX_ATTEMPTS = 20
# From this probability on that only one of two can hold, by a model that has read both, they are not merged.
_EXCLUDES_FROM = 0.8
_MAX_NAMED = 3


async def remember(
    draft: Draft, *, space: str, origin: Origin, context: WriteContext, screened: ScreenedDraft | None = None
) -> WriteOutcome:
    """Take a draft through the whole write path, and count it; what was done as `screened` is not done again."""
    outcome = await _write(draft, space=space, origin=origin, context=context, screened=screened)
    answer = outcome.answer
    if not draft.dry_run and not results.is_repeated(answer):
        context.note(WriteNote(
            space=space, agent=origin.agent, at=origin.at, action=answer.action, is_thin=results.is_thin(answer),
            conflicts=len(answer.conflicts),
        ))  # fmt: skip
    return outcome


async def _write(
    draft: Draft, *, space: str, origin: Origin, context: WriteContext, screened: ScreenedDraft | None
) -> WriteOutcome:
    with telemetry.stage("write.validate"):
        valid = screened.valid if screened else validate(draft, limits=context.limits, origin=origin)
    request = results.request_of(valid)
    if (earlier := await request.earlier_answer(context.store, space=space)) is not None:
        return WriteOutcome(answer=earlier)
    with telemetry.stage("write.prepare"):
        effective = context.effective or await load_rules(space, default=context.rules, documents=context.store)
        # The rules may have changed meanwhile.
        is_current = screened is not None and screened.rules == effective.rules
        draft = screened.draft if screened and is_current else await _screen(valid, rules=effective.rules)
        draft = await _apply_rules(draft, space=space, effective=effective, context=context)
    if draft.rejected:
        telemetry.count("writes", action="rejected")
        return WriteOutcome(answer=results.rejected(draft))
    composed = compose(draft, space=space, now=origin.at)
    must_be_approved = must_wait(draft, rules=effective.rules)
    with telemetry.stage("write.duplicate"):
        duplicates, memories = await context.both(
            exact_duplicates(draft, space=space, records=context.store, at=origin.at),
            free_names(composed, draft, space=space, store=context.store),
        )
    joined: tuple[Memory, ...] = ()
    if len(duplicates) < len(composed):
        # A text that waits to be approved changes nothing that is there.
        memories, joined = (memories, ()) if must_be_approved else join_group(memories, duplicates)
        duplicates = ()
    if must_be_approved and not duplicates:
        duplicates = await waiting_duplicates(draft, composed, space=space, records=context.store, at=origin.at)
    if duplicates:
        return await _confirm(draft, duplicates, composed, origin=origin, request=request, context=context)
    if must_be_approved:
        draft, memories = put_into_inbox(draft, memories)
    write = await _embed(
        _tell_joined(draft, joined), memories, effective=effective, origin=origin, request=request, context=context
    )
    if joined:
        write = replace(write, joined=tuple(memory.id for memory in joined))
    if context.in_transaction:
        # Its writes come one after the other, and other writers know their statements already.
        return await _commit(write, context=context)
    # A write that is never merged need not wait for those that may say the same.
    may_merge = draft.intent == "continue" or (draft.intent == "auto" and effective.rules.gate == "merge")
    statement = Statement(write.vector, draft.session_hint) if may_merge else Statement(None)
    async with context.in_flight.register(space, statement):
        return await _commit(write, context=context)


def _tell_joined(draft: Draft, joined: Sequence[Memory]) -> Draft:
    if not joined:
        return draft.with_decision("duplicate", "none")
    names = ", ".join(memory.name for memory in joined)
    return draft.with_decision("duplicate", "joined", f"the same text is stored as {names}")


async def _screen(draft: Draft, *, rules: Rules) -> Draft:
    return await offload(len(draft.text) + sum(map(len, draft.observations)), deny_or_screen, draft, rules)


async def _apply_rules(draft: Draft, *, space: str, effective: EffectiveRules, context: WriteContext) -> Draft:
    """Run the stages that may change or reject a screened text before it is compared: tags, density, entities."""
    rules = effective.rules
    if draft.rejected:
        return draft
    tags = SpaceTags(
        space=space, synonyms=synonyms_from(effective.tags), store=context.store, embedder=context.embedder
    )  # fmt: skip
    # Records that share a group, or a file, are the caller's own unit: their tags are only reported.
    is_binding = len(draft.entities) < 2 and not draft.fixed  # noqa: PLR2004
    tagged, entities = await context.both(
        normalise_tags(draft, rules=rules, tags=tags, is_binding=is_binding),
        look_up_entities(draft, space=space, store=context.store),
    )
    draft = check_density(tagged, rules=rules)
    return draft if draft.rejected else name_entities(draft, entities)


async def _confirm(
    draft: Draft,
    duplicates: Sequence[Memory],
    composed: Sequence[Memory],
    *,
    origin: Origin,
    request: KeyedRequest,
    context: WriteContext,
) -> WriteOutcome:
    """Answer a draft that is stored already; a more trusted source takes the memories over."""
    # The duplicate may be the result of the same request a moment ago.
    earlier = await request.earlier_answer(context.store, space=duplicates[0].space)
    if earlier is not None:
        return WriteOutcome(answer=earlier)
    answer = await confirm(draft, duplicates, composed, origin=origin, request=request, store=context.store)
    if answer.action != "unchanged":
        await context.index.after_commit()
    return WriteOutcome(answer=answer)


async def _embed(
    draft: Draft,
    memories: Sequence[Memory],
    *,
    effective: EffectiveRules,
    origin: Origin,
    request: KeyedRequest,
    context: WriteContext,
) -> PreparedWrite:
    """Cut the records into passages and embed them: the write is then ready to be compared and stored."""
    space = memories[0].space
    sliced = tuple([(memory, await slice_memory(memory)) for memory in memories])
    begun = await begin_embedding(sliced, space=space, context=context)
    if begun.warning:
        draft = draft.with_warning(begun.warning)
    count = len(begun.embedded.vectors) if begun.embedded else 0
    draft = draft.with_decision("embed", f"{count} new vectors", "the others follow" if begun.unfinished else "")
    first = await load_vectors(*sliced[0], begun.embedded, vector_store=context.store, embedder=context.embedder)
    return PreparedWrite(
        draft=draft, space=space, rules=effective.rules, origin=origin, request=request, sliced=sliced, first=first,
        embedded=begun.embedded, unfinished=begun.unfinished,
    )  # fmt: skip


async def _commit(write: PreparedWrite, *, context: WriteContext) -> WriteOutcome:
    """Merge the write into the memory it repeats, or store it as a new one."""
    for _ in range(MAX_ATTEMPTS):
        # One cache for both: the gate and the conflict check read the same neighbours.
        cache = ReadCache(store=context.store, index=context.index, pairs=context.pairs)
        with telemetry.stage("write.gate"):
            decision, conflicts = await context.both(
                _decide(write, cache=cache),
                find_conflicts(write.first, rules=write.rules, origin=write.origin, cache=cache, settles=True),
            )
        decision = _with_readings(_reject_contradiction(decision, conflicts, draft=write.draft), conflicts)
        draft = write.draft.with_decision("similarity", "merge" if decision.target else "none", decision.why)
        if conflicts.readings:
            draft = draft.with_decision("pairs", f"{len(conflicts.readings)} read", _readings_text(conflicts.readings))
        if conflicts.details:
            ended = f", {len(conflicts.superseded)} superseded" if conflicts.superseded else ""
            draft = draft.with_decision("conflicts", f"{len(conflicts.details)} found{ended}")
        compared = replace(write, draft=draft, conflicts=conflicts)
        try:
            if decision.target is None:
                outcome = await create(compared, decision, context=context)
            else:
                outcome = await merge_into(decision.target, compared, decision, context=context)
        except StaleVersion:
            continue  # The target has changed meanwhile: decide again.
        await context.index.after_commit()
        return outcome
    raise StaleVersion("the memory to merge into keeps changing", hint="Try again")


async def _decide(write: PreparedWrite, *, cache: ReadCache) -> GateDecision:
    draft, memory = write.draft, write.first.memory
    # Records that share a group, wait in the inbox, or have an id or name of their own are not merged.
    is_named = bool(draft.id or draft.name) and draft.intent == "auto"
    may_merge = not memory.group and memory.state is State.LIVE and not is_named
    return await similarity.decide(
        write.first,
        rules=write.rules,
        intent=draft.intent if may_merge else "new",
        # As stored: the source's session takes precedence over the hint.
        session=memory.source.session if draft.session_hint else "",
        cache=cache,
    )


def _reject_contradiction(decision: GateDecision, conflicts: ConflictReport, *, draft: Draft) -> GateDecision:
    """Do not merge a write into a memory that it contradicts, unless it continues a session."""
    target = decision.target
    if target is None or draft.session_hint or draft.intent != "auto":
        return decision
    if conflicts.contradicts(target):
        return replace(decision, target=None, why=f"it contradicts {target.name}")
    reading = conflicts.readings.get(target.id)
    if reading is not None and reading.replaces >= _EXCLUDES_FROM:
        return replace(decision, target=None, why=f"read together, only one of it and {target.name} can hold")
    return decision


def _with_readings(decision: GateDecision, conflicts: ConflictReport) -> GateDecision:
    """Say of similar memories that a model finds only one of the two can hold, where their words do not tell.

    What is filed as saying the same, or more, excludes nothing.
    """
    agreeing = {conflict.other for conflict in conflicts.conflicts if conflict.type is not ConflictType.CONTRADICTION}
    doubted = {
        memory_id: f"read together, only one can hold ({reading.replaces:.2f})"
        for memory_id, reading in conflicts.readings.items()
        if reading.replaces >= _EXCLUDES_FROM and memory_id not in agreeing
    }
    if not doubted:
        return decision
    similar = tuple(replace(each, differs=each.differs or doubted.get(each.id, "")) for each in decision.similar)
    return replace(decision, similar=similar)


def _readings_text(readings: Mapping[str, PairShares]) -> str:
    """Return what a model has said of stored memories, the likeliest first."""
    labels = sorted(
        ((*reading.likeliest, memory_id) for memory_id, reading in readings.items()), key=lambda each: -each[1]
    )
    return "; ".join(f"{label} {memory_id} {share:.2f}" for label, share, memory_id in labels[:_MAX_NAMED])
