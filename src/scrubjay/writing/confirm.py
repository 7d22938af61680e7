"""`confirm`: memories still hold, so that their relevance starts again from the value that was stored."""

from dataclasses import replace

from scrubjay import telemetry
from scrubjay.errors import StaleVersion
from scrubjay.lookup.branches import require_live
from scrubjay.model.change import Action, Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.requests import Selection
from scrubjay.model.results import Missing, Outcome, Written
from scrubjay.ports import Commit, RecordStore, Write
from scrubjay.writing.delete import check_selection, selected_pages, written_result
from scrubjay.writing.embed import slice_memory

_MAX_ATTEMPTS = 20


async def confirm(selection: Selection, *, space: str, origin: Origin, store: RecordStore) -> Outcome:
    """Confirm memories, each by a new version that differs in nothing but the time of its confirmation."""
    selection = check_selection(selection, state=State.LIVE)
    done: list[Written] = []
    missing: list[Missing] = []
    async for memories, unknown in selected_pages(selection, space=space, store=store):
        missing += unknown
        done += [await _confirm(memory, selection, origin=origin, store=store) for memory in memories]
    return Outcome(done=tuple(done), missing=tuple(missing), dry_run=selection.dry_run, run=origin.run)


async def _confirm(memory: Memory, selection: Selection, *, origin: Origin, store: RecordStore) -> Written:
    for _ in range(_MAX_ATTEMPTS):
        require_live(memory)
        if memory.last_confirmed == origin.at:
            return written_result("unchanged", memory)
        if selection.dry_run:
            return written_result(Action.CONFIRMED.value, memory)
        at = max(origin.at, memory.updated_at)
        confirmed = replace(memory, version=memory.version + 1, updated_at=at, last_confirmed=origin.at)
        write = Write(
            memory=confirmed, base=memory.version, action=Action.CONFIRMED, passages=await slice_memory(confirmed),
            message=selection.reason,
        )  # fmt: skip
        try:
            with telemetry.stage("write.commit"):
                await store.commit(Commit(space=memory.space, origin=origin, writes=(write,)))
        except StaleVersion:
            memory = (await store.get(memory.space, [memory.id])).get(memory.id, memory)
            continue
        telemetry.count("writes", action=Action.CONFIRMED.value)
        return written_result(Action.CONFIRMED.value, confirmed)
    raise StaleVersion(f"{memory.name!r} keeps changing", hint="Try again", memory_id=memory.id)
