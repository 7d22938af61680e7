"""All that is said is known already: nothing changes, unless whoever says it now is trusted more."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay import telemetry
from scrubjay.errors import StaleVersion
from scrubjay.model.change import Action, Origin
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, State
from scrubjay.model.results import Remembered
from scrubjay.ports import Commit, RecordStore, Write
from scrubjay.writing import results
from scrubjay.writing.passages import slice_memory
from scrubjay.writing.results import RememberRequest
from scrubjay.writing.trust import restated

__all__ = ["said_again"]

# Somebody may change the memories meanwhile; each time they are looked at anew.
_TRIES = 20


async def said_again(
    draft: Draft,
    known: Sequence[Memory],
    composed: Sequence[Memory],
    *,
    origin: Origin,
    once: RememberRequest,
    store: RecordStore,
) -> Remembered:
    """Memories that say all of a draft are the word of who says it, if that one is trusted more than who said it first.

    `composed` are the records of the draft, in the same order. What waits for a person's yes stays as it is.
    """
    for _ in range(_TRIES):
        theirs = [
            restated(memory, said, at=origin.at) if memory.state is State.LIVE else memory
            for memory, said in zip(known, composed, strict=True)
        ]
        changed = [(memory, now) for memory, now in zip(known, theirs, strict=True) if now != memory]
        if not changed:
            telemetry.count("writes", len(known), action="unchanged")
            return results.unchanged(draft, known)
        writes = [await _write(memory, now, origin=origin) for memory, now in changed]
        versions = {write.memory.id: write.memory for write in writes}
        answer = results.said_again(draft, [versions.get(one.id, one) for one in known])
        if draft.dry_run:
            return replace(answer, version=known[0].version)
        try:
            return await _committed(answer, writes, origin=origin, once=once, store=store)
        except StaleVersion:
            found = await store.get(known[0].space, [one.id for one in known])
            known = [found.get(one.id, one) for one in known]
    raise StaleVersion("what says the same is being changed too fast", hint="Try again")


async def _write(memory: Memory, now: Memory, *, origin: Origin) -> Write:
    at = max(origin.at, memory.updated_at)
    later = replace(now, version=memory.version + 1, updated_at=at, last_confirmed=origin.at)
    return Write(
        memory=later,
        base=memory.version,
        action=Action.REVISED,
        passages=await slice_memory(later),
        message=f"said again by {origin.agent or 'somebody'}, whose word counts more",
    )


async def _committed(
    answer: Remembered, writes: Sequence[Write], *, origin: Origin, once: RememberRequest, store: RecordStore
) -> Remembered:
    space = writes[0].memory.space
    commit = Commit(space=space, origin=origin, writes=tuple(writes), once=once.once(answer))
    with telemetry.stage("write.commit"):
        done = await store.commit(commit)
    if done.answer is not None:
        telemetry.count("writes", len(writes), action="repeated")
        return results.repeated(done.answer)
    telemetry.count("writes", len(writes), action=answer.action)
    return answer
