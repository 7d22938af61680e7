"""Exact duplicates: a text that is stored already is not stored twice.

Nothing changes, unless the new source is trusted more: then the memories become its statements.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from datetime import datetime

from scrubjay import telemetry
from scrubjay.errors import StaleVersion
from scrubjay.model.change import Action, Origin
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.results import Remembered
from scrubjay.ports import Commit, Records, RecordStore, Write
from scrubjay.workers import offload
from scrubjay.writing import results
from scrubjay.writing.embed import slice_memory
from scrubjay.writing.merge import take_over
from scrubjay.writing.results import KeyedRequest

_MAX_ATTEMPTS = 20
# A person reads the inbox, so that it is short.
_MAX_WAITING = 100
# Fields with one value: a draft that leaves one at its default says nothing about it.
_SINGLE_FIELDS = (
    "id", "name", "title", "kind", "category", "project", "scope", "pinned", "relevance", "expires_at", "remind_at",
)  # fmt: skip
_DEFAULTS = {field.name: field.default for field in fields(Draft)}


async def exact_duplicates(draft: Draft, *, space: str, records: Records, at: datetime) -> tuple[Memory, ...]:
    """Return the live memories that say all that the draft does, at most one for each of its entities.

    A memory that had expired or been superseded by the time of the draft does not count.
    """
    if draft.intent == "new" or not draft.text:
        return ()
    ids = await records.same_content(space, draft.text)
    return _select(draft, (await records.get(space, ids)).values(), at=at) if ids else ()


async def waiting_duplicates(
    draft: Draft, memories: Iterable[Memory], *, space: str, records: Records, at: datetime
) -> tuple[Memory, ...]:
    """Return the same of the inbox, among those of the same names and the latest ones; all or none."""
    if draft.intent == "new" or not draft.text:
        return ()
    matches = [await records.find(space, memory.name, state=State.WAITING) for memory in memories]
    ids = [handle.id for handles in matches for handle in handles]
    ids += await records.list_ids(space, Filter(state=State.WAITING), limit=_MAX_WAITING)
    if not ids:
        return ()
    waiting = await records.get(space, list(dict.fromkeys(ids)))
    # No memory in the inbox is pinned.
    selected = _select(replace(draft, pinned=False), waiting.values(), at=at)
    return selected if len(selected) == max(len(draft.entities), 1) else ()


async def confirm(
    draft: Draft,
    duplicates: Sequence[Memory],
    composed: Sequence[Memory],
    *,
    origin: Origin,
    request: KeyedRequest,
    store: RecordStore,
) -> Remembered:
    """Give duplicates the draft's source if that is trusted more; those in the inbox stay as they are.

    `composed` are the records of the draft, in the same order.
    """
    for _ in range(_MAX_ATTEMPTS):
        confirmed = [
            await offload(memory.characters, take_over, memory, incoming, at=origin.at)
            if memory.state is State.LIVE
            else memory
            for memory, incoming in zip(duplicates, composed, strict=True)
        ]
        changed = [(before, after) for before, after in zip(duplicates, confirmed, strict=True) if after != before]
        if not changed:
            telemetry.count("writes", len(duplicates), action="unchanged")
            return results.unchanged(draft, duplicates)
        writes = tuple([await _write(before, after, origin=origin) for before, after in changed])
        versions = {write.memory.id: write.memory for write in writes}
        answer = results.confirmed(draft, [versions.get(memory.id, memory) for memory in duplicates])
        if draft.dry_run:
            return replace(answer, version=duplicates[0].version)
        space = duplicates[0].space
        commit = Commit(space=space, origin=origin, writes=writes, once=request.record(answer))
        try:
            with telemetry.stage("write.commit"):
                done = await store.commit(commit)
        except StaleVersion:
            current = await store.get(space, [memory.id for memory in duplicates])
            duplicates = [current.get(memory.id, memory) for memory in duplicates]
            continue
        if done.answer is not None:
            telemetry.count("writes", len(writes), action="repeated")
            return results.repeated(done.answer)
        telemetry.count("writes", len(writes), action=answer.action)
        return answer
    raise StaleVersion("the memory that says the same keeps changing", hint="Try again")


async def _write(before: Memory, after: Memory, *, origin: Origin) -> Write:
    at = max(origin.at, before.updated_at)
    after = replace(after, version=before.version + 1, updated_at=at, last_confirmed=origin.at)
    return Write(
        memory=after,
        base=before.version,
        action=Action.REVISED,
        passages=await slice_memory(after),
        message=f"confirmed by {origin.agent or 'an unknown agent'}, whose source is trusted more",
    )


def _select(draft: Draft, memories: Iterable[Memory], *, at: datetime) -> tuple[Memory, ...]:
    """Return the memories that say all of the draft, in the order of its entities."""
    when = draft.source.at or at
    by_entity = {memory.entity: memory for memory in memories if memory.holds(when) and _covers(memory, draft)}
    return tuple(by_entity[entity] for entity in draft.entities or ("",) if entity in by_entity)


def _covers(memory: Memory, draft: Draft) -> bool:
    return (
        memory.content == draft.text
        and set(draft.tags) <= set(memory.tags)
        and set(draft.observations) <= {observation.text for observation in memory.observations}
        and draft.metadata.items() <= memory.metadata.items()
        and all(getattr(draft, name) in (_DEFAULTS[name], getattr(memory, name)) for name in _SINGLE_FIELDS)
    )
