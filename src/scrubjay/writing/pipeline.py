"""`remember`: a draft goes through the stages and is committed, and the answer says what happened."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Protocol

from scrubjay import telemetry
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
from scrubjay.writing import answers
from scrubjay.writing.compose import compose
from scrubjay.writing.density import weigh
from scrubjay.writing.duplicate import exact_duplicates, waiting_duplicates
from scrubjay.writing.embed import embed_first, vectors_of
from scrubjay.writing.entities import acquaint, name_entities
from scrubjay.writing.flights import Flights
from scrubjay.writing.frictions import Friction, look_for
from scrubjay.writing.glimpse import Glimpse
from scrubjay.writing.keep import Parcel, create, free_names, merge_into
from scrubjay.writing.lookout import Lookout
from scrubjay.writing.refuse import refuse
from scrubjay.writing.review import must_wait, put_aside
from scrubjay.writing.rules import Statutes, statutes_of
from scrubjay.writing.saying_again import said_again
from scrubjay.writing.screen import screen
from scrubjay.writing.similarity import Verdict, look_around
from scrubjay.writing.slicing import slice_memory
from scrubjay.writing.synonyms import synonyms_from
from scrubjay.writing.tags import normalise
from scrubjay.writing.validate import validate

# Somebody may change what a draft is being merged into; each time it is looked at anew.
_TRIES = 20
# A text this long takes long enough to look through that the event loop should not do it.
_LONG_TEXT = 20_000


class Nearby(Protocol):
    """What the write path asks of the vector index."""

    async def search(self, space: str, vector: Vector, wanted: Filter, *, limit: int) -> list[tuple[int, float]]:
        """The passages nearest to a vector."""
        ...

    async def after_commit(self) -> None:
        """Take in what was just committed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What the write path works with. `has_llm`: there is a language model to leave work to.

    `defers`: somebody does the jobs that writes leave, so that no caller has to wait for the end of a long text.
    """

    store: RecordStore
    embedder: Embedder
    limits: Limits
    index: Nearby
    rules: Rules = field(default_factory=Rules)
    flights: Flights = field(default_factory=Flights)
    has_llm: bool = False
    defers: bool = False

    @property
    def lookout(self) -> Lookout:
        """Whoever looks for conflicts of what comes back or comes together."""
        return Lookout(store=self.store, embedder=self.embedder, index=self.index, rules=self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What was done, and the work that it leaves for later."""

    answer: Remembered
    jobs: tuple[Job, ...] = ()
    waits: bool = False


async def remember(draft: Draft, *, space: str, origin: Origin, desk: Desk) -> Kept:
    """Take a draft through the whole write path."""
    with telemetry.stage("write.validate"):
        asked = validate(draft, limits=desk.limits)
    once = answers.request_of(asked)
    if (first := await once.first(desk.store, space=space)) is not None:
        return Kept(answer=first)
    with telemetry.stage("write.prepare"):
        statutes = await statutes_of(space, default=desk.rules, papers=desk.store)
        draft = await _prepared(asked, space=space, statutes=statutes, desk=desk)
    if draft.rejected:
        telemetry.count("writes", action="rejected")
        return Kept(answer=answers.rejected(draft))
    composed = compose(draft, space=space, now=origin.at)
    with telemetry.stage("write.duplicate"):
        # Both at once: where the store is far away, each is a journey.
        known, memories = await asyncio.gather(
            exact_duplicates(draft, space=space, records=desk.store, at=origin.at),
            free_names(composed, draft, space=space, store=desk.store),
        )
    waits = must_wait(draft, rules=statutes.rules)
    if waits and not known:
        known = await waiting_duplicates(draft, composed, space=space, records=desk.store, at=origin.at)
    if known:
        # The duplicate may be what the same request made a moment ago.
        if (first := await once.first(desk.store, space=space)) is not None:
            return Kept(answer=first)
        answer = await said_again(draft, known, composed, origin=origin, once=once, store=desk.store)
        if answer.action != "unchanged":
            await desk.index.after_commit()
        return Kept(answer=answer)
    if waits:
        draft, memories = put_aside(draft, memories)
    parcel = await _parcel(draft.decided("duplicate", "none"), memories, space=space, statutes=statutes, desk=desk)
    # What is merged into nothing need not wait for what may say the same.
    merges = draft.intent == "continue" or (draft.intent == "auto" and statutes.rules.gate == "merge")
    vector, session = (parcel.vector, draft.session_hint) if merges else (None, "")
    async with desk.flights.taking_off(space, vector=vector, session=session):
        return await _landed(replace(parcel, origin=origin, once=once), desk=desk)


async def _prepared(draft: Draft, *, space: str, statutes: Statutes, desk: Desk) -> Draft:
    """The stages that may change the text or refuse it, before anything is compared with it."""
    rules = statutes.rules
    is_long = len(draft.text) + sum(map(len, draft.observations)) > _LONG_TEXT
    draft = await asyncio.to_thread(screened, draft, rules) if is_long else screened(draft, rules)
    if draft.rejected:
        return draft
    tagging = normalise(
        draft,
        space=space,
        rules=rules,
        synonyms=synonyms_from(statutes.tags),
        store=desk.store,
        embedder=desk.embedder,
        # Records that share a group are the caller's own unit, too: nothing is changed there that was not asked for.
        binding=len(draft.entities) < 2 and not draft.fixed,  # noqa: PLR2004
    )
    # Both at once: neither needs what the other finds.
    tagged, acquaintance = await asyncio.gather(tagging, acquaint(draft, space=space, store=desk.store))
    draft = weigh(tagged, rules=rules)
    return draft if draft.rejected else name_entities(draft, acquaintance)


def screened(draft: Draft, rules: Rules) -> Draft:
    """A draft as far as it may be kept: refused as a whole, or without its secrets."""
    draft = refuse(draft, rules=rules)
    return draft if draft.rejected else screen(draft, rules=rules)


async def _parcel(draft: Draft, memories: tuple[Memory, ...], *, space: str, statutes: Statutes, desk: Desk) -> Parcel:
    sliced = [(memory, await slice_memory(memory)) for memory in memories]
    begun = await embed_first(sliced, space=space, shelf=desk.store, embedder=desk.embedder, defers=desk.defers)
    embedded = begun.embedded
    if begun.warning:
        draft = draft.warned(begun.warning)
    why = "the others follow" if begun.lacking else ""
    draft = draft.decided("embed", f"{len(embedded.vectors) if embedded else 0} new vectors", why)
    profile, vectors = await vectors_of(sliced[0][1], embedded, space=space, shelf=desk.store, embedder=desk.embedder)
    return Parcel(
        draft=draft, space=space, rules=statutes.rules, sliced=tuple(sliced), embedded=embedded, profile=profile,
        lacking=begun.lacking, vectors=vectors, has_llm=desk.has_llm, limits=desk.limits, defers=desk.defers,
    )  # fmt: skip


async def _landed(parcel: Parcel, *, desk: Desk) -> Kept:
    """Compare with what is there, and store: as a memory of its own, or as part of another."""
    for _ in range(_TRIES):
        # Both look at what is near: what one has asked for, the other need not.
        glimpse = Glimpse(store=desk.store, index=desk.index)
        with telemetry.stage("write.gate"):
            verdict, friction = await asyncio.gather(
                _verdict(parcel, glimpse=glimpse), _friction(parcel, glimpse=glimpse, store=desk.store)
            )
        verdict = _kept_apart(verdict, friction, parcel.draft)
        outcome = "none" if verdict.into is None else "merge"
        draft = parcel.draft.decided("similarity", outcome, verdict.why)
        draft = draft.decided("conflicts", f"{len(friction.told)} found") if friction.told else draft
        told = replace(parcel, draft=draft, friction=friction)
        try:
            if verdict.into is None:
                answer, jobs = await create(told, verdict, store=desk.store)
            else:
                answer, jobs = await merge_into(verdict.into, told, verdict, store=desk.store, embedder=desk.embedder)
        except StaleVersion:
            continue
        await desk.index.after_commit()
        waits = parcel.draft.wait_for_llm or parcel.rules.llm == "wait"
        return Kept(answer=answer, jobs=jobs, waits=waits)
    raise StaleVersion("what it would be merged into is being changed too fast", hint="Try again")


def _kept_apart(verdict: Verdict, friction: Friction, draft: Draft) -> Verdict:
    """What contradicts a memory does not say the same, unless it was told to go on with it."""
    clashes = {one.other for one in friction.conflicts if one.type is ConflictType.CONTRADICTION}
    if draft.session_hint or draft.intent != "auto" or verdict.into is None or verdict.into.id not in clashes:
        return verdict
    return replace(verdict, into=None, why=f"it contradicts {verdict.into.name}")


async def _friction(parcel: Parcel, *, glimpse: Glimpse, store: RecordStore) -> Friction:
    memory, passages = parcel.sliced[0]
    return await look_for(
        memory, passages, parcel.vectors, rules=parcel.rules, origin=parcel.origin, profile=parcel.profile,
        store=store, index=glimpse, grounds=glimpse,
    )  # fmt: skip


async def _verdict(parcel: Parcel, *, glimpse: Glimpse) -> Verdict:
    memory, passages = parcel.sliced[0]
    draft = parcel.draft
    # Records that share a group, wait for a yes, or have an id or a name of their own are not merged.
    is_named = bool(draft.id or draft.name) and draft.intent == "auto"
    alone = len(parcel.sliced) == 1 and memory.state is State.LIVE and not is_named
    return await look_around(
        memory,
        passages,
        parcel.vectors,
        rules=parcel.rules,
        intent=draft.intent if alone else "new",
        # As it is stored: where it comes from goes before where it belongs.
        session_hint=memory.source.session if draft.session_hint else "",
        space=parcel.space,
        store=glimpse,
        index=glimpse,
        profile=parcel.profile,
    )
