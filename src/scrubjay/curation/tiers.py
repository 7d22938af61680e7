"""The job `tiers`: memories that are not used move from working to episodic memory, and back when they are used."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

from scrubjay.curation.plan import DAILY, CurationContext, PlannedChange, last_use
from scrubjay.model.memory import Memory, Tier
from scrubjay.ports import Commit

MIN_AGE = timedelta(days=30)
MIN_ACCESSES = 3
IDLE = timedelta(days=7)


class TierJob:
    """Moves memories between the working and the episodic tier; what they say stays as it is."""

    name = "tiers"
    summary = "move unused memories to the episodic tier, and used ones back"
    every = DAILY

    async def plan(self, context: CurationContext) -> AsyncIterator[PlannedChange]:
        """Yield a move for each memory in the wrong tier."""
        now = context.now
        async for memories in context.walk():
            for memory in memories:
                tier = tier_for(memory, now)
                if tier is not memory.tier:
                    yield PlannedChange(
                        job=self.name, action="move", ids=(memory.id,), versions=(memory.version,),
                        why=_reason(memory, now), before=memory.tier.value, after=tier.value,
                    )  # fmt: skip

    async def apply(self, change: PlannedChange, context: CurationContext) -> Commit | str:
        """Move the memory, unless its use says otherwise by now."""
        (memory,) = await context.read(change)
        tier = tier_for(memory, context.now)
        if tier.value != change.after:
            return "it was used since" if tier is Tier.WORKING else "it is no longer in use"
        return context.commit(context.revise(memory, message=change.why, tier=tier))


def tier_for(memory: Memory, now: datetime) -> Tier:
    """Return the tier that the use of a memory puts it into.

    Working memories that are older than 30 days, were read fewer than three times and not in the last seven days become
    episodic. An episodic memory comes back once it was read three times, and in the last seven days: so none can go to
    and fro. A pinned memory is always in use, and other tiers are not changed here.
    """
    is_recent = now - last_use(memory, now) <= IDLE
    is_frequent = memory.access_count >= MIN_ACCESSES
    if memory.tier is Tier.WORKING and not memory.pinned:
        is_unused = now - memory.created_at > MIN_AGE and not is_frequent and not is_recent
        return Tier.EPISODIC if is_unused else Tier.WORKING
    if memory.tier is Tier.EPISODIC and (memory.pinned or (is_frequent and is_recent)):
        return Tier.WORKING
    return memory.tier


def _reason(memory: Memory, now: datetime) -> str:
    reads = f"read {memory.access_count} times" if memory.access_count != 1 else "read once"
    if memory.tier is Tier.EPISODIC:
        return "pinned" if memory.pinned else f"{reads}, last {_days(now - last_use(memory, now))} ago"
    return f"{_days(now - memory.created_at)} old, {reads}, not used for {_days(now - last_use(memory, now))}"


def _days(span: timedelta) -> str:
    return "1 day" if span.days == 1 else f"{span.days} days"
