"""`remember`: a draft goes through the stages and is committed, and the answer says what happened."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Protocol

from scrubjay import telemetry
from scrubjay.detection.report import ConflictReport, look_for
from scrubjay.errors import StaleVersion
from scrubjay.model.change import Origin
from scrubjay.model.conflict import ConflictType
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.job import Job
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.model.results import Remembered
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedder, RecordStore
from scrubjay.writing import results
from scrubjay.writing.commit import PreparedWrite, create, free_names, merge_into
from scrubjay.writing.compose import compose
from scrubjay.writing.density import weigh
from scrubjay.writing.deny import refuse
from scrubjay.writing.duplicate import exact_duplicates, waiting_duplicates
from scrubjay.writing.embed import embed_first, vectors_of
from scrubjay.writing.entities import acquaint, name_entities
from scrubjay.writing.in_flight import InFlightWrites
from scrubjay.writing.passages import slice_memory
from scrubjay.writing.read_cache import ReadCache
from scrubjay.writing.recheck import ConflictChecker
from scrubjay.writing.repeat import said_again
from scrubjay.writing.review import must_wait, put_aside
from scrubjay.writing.rules import EffectiveRules, effective_rules_of
from scrubjay.writing.screen import screen
from scrubjay.writing.similarity import GateDecision, look_around
from scrubjay.writing.synonyms import synonyms_from
from scrubjay.writing.tags import normalise
from scrubjay.writing.validate import validate

# Somebody may change what a draft is being merged into; each time it is looked at anew.
_TRIES = 20
# A text this long takes long enough to look through that the event loop should not do it.
_LONG_TEXT = 20_000


class WriteIndex(Protocol):
    """What the write path asks of the vector index."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """The passages nearest to a vector."""
        ...

    async def after_commit(self) -> None:
        """Take in what was just committed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteContext:
    """What the write path works with. `has_llm`: there is a language model to leave work to.

    `defers`: somebody does the jobs that writes leave, so that no caller has to wait for the end of a long text.
    """

    store: RecordStore
    embedder: Embedder
    limits: Limits
    index: WriteIndex
    rules: Rules = field(default_factory=Rules)
    in_flight: InFlightWrites = field(default_factory=InFlightWrites)
    has_llm: bool = False
    defers: bool = False

    @property
    def conflict_checker(self) -> ConflictChecker:
        """Whoever looks for conflicts of what comes back or comes together."""
        return ConflictChecker(store=self.store, embedder=self.embedder, index=self.index, rules=self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOutcome:
    """What was done, and the work that it leaves for later."""

    answer: Remembered
    jobs: tuple[Job, ...] = ()
    waits: bool = False


async def remember(draft: Draft, *, space: str, origin: Origin, context: WriteContext) -> WriteOutcome:
    """Take a draft through the whole write path."""
    with telemetry.stage("write.validate"):
        asked = validate(draft, limits=context.limits)
    once = results.request_of(asked)
    if (first := await once.first(context.store, space=space)) is not None:
        return WriteOutcome(answer=first)
    with telemetry.stage("write.prepare"):
        effective = await effective_rules_of(space, default=context.rules, documents=context.store)
        draft = await _prepared(asked, space=space, effective=effective, context=context)
    if draft.rejected:
        telemetry.count("writes", action="rejected")
        return WriteOutcome(answer=results.rejected(draft))
    composed = compose(draft, space=space, now=origin.at)
    with telemetry.stage("write.duplicate"):
        # Both at once: where the store is far away, each is a journey.
        known, memories = await asyncio.gather(
            exact_duplicates(draft, space=space, records=context.store, at=origin.at),
            free_names(composed, draft, space=space, store=context.store),
        )
    waits = must_wait(draft, rules=effective.rules)
    if waits and not known:
        known = await waiting_duplicates(draft, composed, space=space, records=context.store, at=origin.at)
    if known:
        # The duplicate may be what the same request made a moment ago.
        if (first := await once.first(context.store, space=space)) is not None:
            return WriteOutcome(answer=first)
        answer = await said_again(draft, known, composed, origin=origin, once=once, store=context.store)
        if answer.action != "unchanged":
            await context.index.after_commit()
        return WriteOutcome(answer=answer)
    if waits:
        draft, memories = put_aside(draft, memories)
    prepared = await _prepare_write(
        draft.with_decision("duplicate", "none"), memories, space=space, effective=effective, context=context
    )
    # What is merged into nothing need not wait for what may say the same.
    merges = draft.intent == "continue" or (draft.intent == "auto" and effective.rules.gate == "merge")
    vector, session = (prepared.vector, draft.session_hint) if merges else (None, "")
    async with context.in_flight.taking_off(space, vector=vector, session=session):
        return await _landed(replace(prepared, origin=origin, once=once), context=context)


async def _prepared(draft: Draft, *, space: str, effective: EffectiveRules, context: WriteContext) -> Draft:
    """The stages that may change the text or refuse it, before anything is compared with it."""
    rules = effective.rules
    is_long = len(draft.text) + sum(map(len, draft.observations)) > _LONG_TEXT
    draft = await asyncio.to_thread(screened, draft, rules) if is_long else screened(draft, rules)
    if draft.rejected:
        return draft
    tagging = normalise(
        draft,
        space=space,
        rules=rules,
        synonyms=synonyms_from(effective.tags),
        store=context.store,
        embedder=context.embedder,
        # Records that share a group are the caller's own unit, too: nothing is changed there that was not asked for.
        binding=len(draft.entities) < 2 and not draft.fixed,  # noqa: PLR2004
    )
    # Both at once: neither needs what the other finds.
    tagged, acquaintance = await asyncio.gather(tagging, acquaint(draft, space=space, store=context.store))
    draft = weigh(tagged, rules=rules)
    return draft if draft.rejected else name_entities(draft, acquaintance)


def screened(draft: Draft, rules: Rules) -> Draft:
    """A draft as far as it may be kept: refused as a whole, or without its secrets."""
    draft = refuse(draft, rules=rules)
    return draft if draft.rejected else screen(draft, rules=rules)


async def _prepare_write(
    draft: Draft, memories: tuple[Memory, ...], *, space: str, effective: EffectiveRules, context: WriteContext
) -> PreparedWrite:
    sliced = [(memory, await slice_memory(memory)) for memory in memories]
    begun = await embed_first(
        sliced, space=space, vector_store=context.store, embedder=context.embedder, defers=context.defers
    )
    embedded = begun.embedded
    if begun.warning:
        draft = draft.with_warning(begun.warning)
    why = "the others follow" if begun.lacking else ""
    draft = draft.with_decision("embed", f"{len(embedded.vectors) if embedded else 0} new vectors", why)
    profile, vectors = await vectors_of(
        sliced[0][1], embedded, space=space, vector_store=context.store, embedder=context.embedder
    )
    return PreparedWrite(
        draft=draft, space=space, rules=effective.rules, sliced=tuple(sliced), embedded=embedded, profile=profile,
        lacking=begun.lacking, vectors=vectors, has_llm=context.has_llm, limits=context.limits, defers=context.defers,
    )  # fmt: skip


async def _landed(prepared: PreparedWrite, *, context: WriteContext) -> WriteOutcome:
    """Compare with what is there, and store: as a memory of its own, or as part of another."""
    for _ in range(_TRIES):
        # Both look at what is near: what one has asked for, the other need not.
        read_cache = ReadCache(store=context.store, index=context.index)
        with telemetry.stage("write.gate"):
            decision, conflict_report = await asyncio.gather(
                _decide(prepared, read_cache=read_cache),
                _conflict_report(prepared, read_cache=read_cache, store=context.store),
            )
        decision = _kept_apart(decision, conflict_report, prepared.draft)
        outcome = "none" if decision.into is None else "merge"
        draft = prepared.draft.with_decision("similarity", outcome, decision.why)
        draft = (
            draft.with_decision("conflicts", f"{len(conflict_report.told)} found") if conflict_report.told else draft
        )
        told = replace(prepared, draft=draft, conflict_report=conflict_report)
        try:
            if decision.into is None:
                answer, jobs = await create(told, decision, store=context.store)
            else:
                answer, jobs = await merge_into(
                    decision.into, told, decision, store=context.store, embedder=context.embedder
                )
        except StaleVersion:
            continue
        await context.index.after_commit()
        waits = prepared.draft.wait_for_llm or prepared.rules.llm == "wait"
        return WriteOutcome(answer=answer, jobs=jobs, waits=waits)
    raise StaleVersion("what it would be merged into is being changed too fast", hint="Try again")


def _kept_apart(decision: GateDecision, conflict_report: ConflictReport, draft: Draft) -> GateDecision:
    """What contradicts a memory does not say the same, unless it was told to go on with it."""
    clashes = {conflict.other for conflict in conflict_report.conflicts if conflict.type is ConflictType.CONTRADICTION}
    if draft.session_hint or draft.intent != "auto" or decision.into is None or decision.into.id not in clashes:
        return decision
    return replace(decision, into=None, why=f"it contradicts {decision.into.name}")


async def _conflict_report(prepared: PreparedWrite, *, read_cache: ReadCache, store: RecordStore) -> ConflictReport:
    memory, passages = prepared.sliced[0]
    return await look_for(
        memory, passages, prepared.vectors, rules=prepared.rules, origin=prepared.origin, profile=prepared.profile,
        store=store, index=read_cache, grounds=read_cache,
    )  # fmt: skip


async def _decide(prepared: PreparedWrite, *, read_cache: ReadCache) -> GateDecision:
    memory, passages = prepared.sliced[0]
    draft = prepared.draft
    # Records that share a group, wait for a yes, or have an id or a name of their own are not merged.
    is_named = bool(draft.id or draft.name) and draft.intent == "auto"
    alone = len(prepared.sliced) == 1 and memory.state is State.LIVE and not is_named
    return await look_around(
        memory,
        passages,
        prepared.vectors,
        rules=prepared.rules,
        intent=draft.intent if alone else "new",
        # As it is stored: where it comes from goes before where it belongs.
        session_hint=memory.source.session if draft.session_hint else "",
        space=prepared.space,
        store=read_cache,
        index=read_cache,
        profile=prepared.profile,
    )
