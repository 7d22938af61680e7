"""The job `prune`: what has expired, is long unused or exceeds the budget of its space goes to the trash.

Nothing is destroyed, unless the rules of the space set a grace period: then the trash is emptied after it.
"""

import math
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from scrubjay.curation.duplicates import DuplicatesJob
from scrubjay.curation.plan import DAILY, CurationContext, CurationJob, PlannedChange, last_use
from scrubjay.curation.stored_runs import StoredRuns
from scrubjay.lazy import dataclass
from scrubjay.model.change import Action
from scrubjay.model.decay import INSTRUCTION_KINDS, PROFILE_KINDS, decayed, kind_key, rate_of
from scrubjay.model.memory import Json, Memory, Method, State, Trust
from scrubjay.model.relation import SOURCE
from scrubjay.model.requests import PruneRequest, PurgeRequest
from scrubjay.model.rules import Rules
from scrubjay.model.timestamps import to_iso
from scrubjay.ports import Commit

__all__ = ["EXPIRED", "SPARED", "PruneJob", "PruneOptions", "pruning_jobs", "worth"]

SPARED = ("pinned", "linked", "stated")
"""What pruning spares unless it is asked not to: pinned memories, those that others link to, and the user's words.

A memory of the user's profile, or of how they want an agent to work, counts as the user's words whatever its source.
"""

EXPIRED = "expired"
"""The detail of a change that a memory's own end is the reason for."""
# What can end: the archive too, where a person may look up what should be gone.
_ENDING = (State.LIVE, State.ARCHIVED)
# A clock that is ahead for some hours must destroy nothing: two runs so far apart must find the same.
_CONFIRMED_AFTER = timedelta(hours=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneOptions:
    """What to prune. A number of None sets no limit; `include` are the sorts of memories that are not spared.

    `days`: what was neither written, confirmed nor read for so long goes to the trash. `keep` and `keep_bytes`: the
    budget of the space, of which the best remain. `purge_days`: what was in the trash for so long is destroyed, by the
    next day's run after the first that finds it so.
    """

    days: int | None = None
    keep: int | None = None
    keep_bytes: int | None = None
    purge_days: int | None = None
    include: tuple[str, ...] = ()

    @property
    def has_limit(self) -> bool:
        """Whether it says anything about what to prune."""
        limits = (self.days, self.keep, self.keep_bytes, self.purge_days)
        return bool(self.include) or any(limit is not None for limit in limits)

    @classmethod
    def of_rules(cls, rules: Rules) -> "PruneOptions":
        """Return what the rules of a space say; a rule of 0 sets no limit."""
        return cls(
            days=rules.prune_days or None,
            keep=rules.most_memories or None,
            keep_bytes=rules.most_bytes or None,
            purge_days=rules.purge_days or None,
        )


class _Candidate(NamedTuple):
    """A memory that may go, in the order in which it would."""

    worth: float
    last_use: datetime
    id: str
    version: int
    size: int


class PruneJob:
    """Moves memories to the trash, and empties it; without options, as the rules of the space say."""

    name = "prune"
    summary = "trash what has expired, is long unused or over the budget, and purge old trash if the rules say so"
    every = DAILY

    def __init__(self, options: PruneOptions | None = None) -> None:
        self._options = options

    async def plan(self, context: CurationContext) -> AsyncIterator[PlannedChange]:
        """Yield what should go to the trash, and what should leave it for good."""
        options, now = self._options_in(context), context.now
        candidates: list[_Candidate] = []
        spared, spared_of_budget = Counter[str](), Counter[str]()
        count = size = 0
        async for memories in context.walk(state=None):
            ending = [memory for memory in memories if memory.state in _ENDING]
            linked = await _linked_to(ending, context)
            sizes = await context.store.sizes(context.space, [memory.id for memory in ending])
            for memory in ending:
                why, spared_as = self._why_now(memory, options, linked, now)
                if why and not spared_as:
                    used = None if _is_expired(memory, now) else last_use(memory, now)
                    yield self._change(memory.id, memory.version, "trash", why, used=used, before=memory.state)
                    continue
                spared.update([spared_as] if why else [])
                if memory.state is not State.LIVE:
                    # The archive is out of the way already: a budget is for what recall chooses from.
                    continue
                stored = sizes.get(memory.id, (0, 0))[0]
                count, size = count + 1, size + stored
                if sorts := _spared(memory, linked, options.include):
                    spared_of_budget.update([] if why else [sorts[0]])
                else:
                    candidates.append(
                        _Candidate(worth(memory, now), last_use(memory, now), memory.id, memory.version, stored)
                    )
        for candidate in sorted(candidates):
            over = _over_budget(count, size, options)
            if not over:
                break
            count, size = count - 1, size - candidate.size
            yield self._change(candidate.id, candidate.version, "trash", over, used=candidate.last_use)
        if _over_budget(count, size, options):
            spared += spared_of_budget
        if spared:
            sorts = ", ".join(f"{spared[sort]:,} {sort}" for sort in SPARED if spared[sort])
            context.notes.append(f"{self.name}: over the limits, but spared: {sorts} (`include` takes these sorts too)")
        async for change in self._plan_purge(context, options):
            yield change

    async def apply(self, change: PlannedChange, context: CurationContext) -> Commit | str:
        """Move a memory to the trash, unless it was used since; or destroy one that is there."""
        (memory,) = await context.read(change)
        if change.action == "purge":
            if memory.state is not State.TRASHED:
                return "it was restored since"
            await context.engine.purge(PurgeRequest(ids=(memory.id,)), who=context.caller)
            return ""
        options = self._options_in(context)
        linked = await _linked_to([memory], context)
        is_expired = _is_expired(memory, context.now)
        is_spared = not is_expired and bool(_spared(memory, linked, options.include))
        if is_spared or memory.state not in (_ENDING if is_expired else (State.LIVE,)):
            return "it is spared by now"
        used = to_iso(last_use(memory, context.now))
        if change.details.get("used", used) != used:
            return "it was used since"
        write = context.revise(memory, message=change.why, is_update=True, state=State.TRASHED)
        return context.commit(replace(write, action=Action.TRASHED))

    def _options_in(self, context: CurationContext) -> PruneOptions:
        return self._options or PruneOptions.of_rules(context.rules)

    def _change(
        self,
        memory_id: str,
        version: int,
        action: str,
        why: str,
        *,
        used: datetime | None = None,
        before: State = State.LIVE,
    ) -> PlannedChange:
        after = State.TRASHED.value if action == "trash" else "purged"
        details: dict[str, Json] = {"used": to_iso(used)} if used else {EXPIRED: True} if action == "trash" else {}
        return PlannedChange(
            job=self.name, action=action, ids=(memory_id,), versions=(version,), why=why,
            before=before.value, after=after, details=details,
        )  # fmt: skip

    def _why_now(
        self, memory: Memory, options: PruneOptions, linked: Mapping[str, bool], now: datetime
    ) -> tuple[str, str]:
        """Return why a memory should go whatever the budget is, and as what it is spared; empty if it is not."""
        if _is_expired(memory, now):
            # Its end was set on purpose, so that only what stands out or is linked to remains: by a person or an agent,
            # since what curation makes of an episode must not keep it.
            sorts = _spared(memory, {each for each, is_chosen in linked.items() if is_chosen}, options.include)
            return f"it expired on {memory.expires_at:%Y-%m-%d}", next(iter({*sorts} - {"stated"}), "")
        idle = now - last_use(memory, now)
        if memory.state is not State.LIVE or options.days is None or idle / timedelta(days=1) <= options.days:
            return "", ""
        sorts = _spared(memory, linked, options.include)
        return f"neither changed nor read for {idle.days} days", sorts[0] if sorts else ""

    async def _plan_purge(self, context: CurationContext, options: PruneOptions) -> AsyncIterator[PlannedChange]:
        if options.purge_days is None:
            return
        now, grace = context.now, timedelta(days=options.purge_days)
        runs = StoredRuns(store=context.store, space=context.space, clock=context.engine.clock)
        # What an earlier run of this job would have purged too; a run of a clock that was ahead is not an earlier one.
        confirmed_at = await runs.last_start(self.name, before=now - _CONFIRMED_AFTER)
        if confirmed_at is None:
            return
        async for memories in context.walk(state=State.TRASHED):
            for memory in memories:
                if confirmed_at - memory.updated_at > grace:
                    days = (now - memory.updated_at).days
                    why = f"in the trash for {days} days"
                    yield self._change(memory.id, memory.version, "purge", why, before=State.TRASHED)


def pruning_jobs(request: PruneRequest) -> tuple[CurationJob, ...]:
    """Return the jobs that prune as a request says; without a limit in it, as the rules of the space say."""
    options = PruneOptions(
        days=request.days, keep=request.keep, keep_bytes=request.keep_bytes, include=request.include
    )  # fmt: skip
    # Merged first: what becomes part of another memory is not pruned too.
    jobs: list[CurationJob] = [DuplicatesJob(with_additions=True)] if request.clusters else []
    if options.has_limit or not request.clusters:
        jobs.append(PruneJob(options if options.has_limit else None))
    return tuple(jobs)


def worth(memory: Memory, now: datetime) -> float:
    """Return what a memory is worth for its space: its relevance, which decays as its kind does, and its reads."""
    days = max(0.0, (now - last_use(memory, now)) / timedelta(days=1))
    return decayed(memory.relevance, rate=rate_of(memory), days=days) * (1 + math.log1p(memory.access_count))


async def _linked_to(memories: list[Memory], context: CurationContext) -> dict[str, bool]:
    """Return the memories that others link to, and whether one does so other than by being made of it."""
    linked: dict[str, bool] = {}
    for relation in await context.store.relations(context.space, [memory.id for memory in memories]):
        linked[relation.target] = linked.get(relation.target, False) or relation.type != SOURCE
    return linked


def _spared(memory: Memory, linked: Collection[str], include: Collection[str]) -> list[str]:
    return [sort for sort in _sorts(memory, linked) if sort not in include]


def _sorts(memory: Memory, linked: Collection[str]) -> list[str]:
    """Return the reasons for which a memory is spared."""
    is_of_user = kind_key(memory.kind) in PROFILE_KINDS | INSTRUCTION_KINDS
    is_stated = is_of_user or memory.source.trust is Trust.USER or memory.source.method is Method.FILE
    is_pinned = memory.pinned or memory.remind_at is not None
    reasons = {"pinned": is_pinned, "linked": memory.id in linked, "stated": is_stated}
    return [sort for sort in SPARED if reasons[sort]]


def _is_expired(memory: Memory, now: datetime) -> bool:
    return memory.expires_at is not None and memory.expires_at <= now


def _over_budget(count: int, size: int, options: PruneOptions) -> str:
    if options.keep is not None and count > options.keep:
        return f"the space keeps the best {options.keep:,} memories"
    if options.keep_bytes is not None and size > options.keep_bytes:
        return f"the space keeps the best {options.keep_bytes:,} bytes"
    return ""
