"""The same thing said twice is stored once."""

from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import datetime

from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.ports import Records

# An inbox is looked through by a person, and then it is not long.
_LATEST = 100
# Fields with one value: a draft that leaves one at its default says nothing about it.
_ONE_VALUE = (
    "id", "name", "title", "kind", "category", "project", "scope", "pinned", "relevance", "expires_at", "remind_at",
)  # fmt: skip
_DEFAULTS = {field.name: field.default for field in fields(Draft)}


async def exact_duplicates(draft: Draft, *, space: str, records: Records, at: datetime) -> tuple[Memory, ...]:
    """The live memories that already say all that the draft says, one for each of its entities; or none.

    A memory that had expired or been superseded by the time of the draft does not count: then the text is new again.
    """
    if draft.intent == "new" or not draft.text:
        return ()
    ids = await records.same_content(space, draft.text)
    return _all_said(draft, (await records.get(space, ids)).values(), at=at) if ids else ()


async def waiting_duplicates(
    draft: Draft, memories: Iterable[Memory], *, space: str, records: Records, at: datetime
) -> tuple[Memory, ...]:
    """The same among what waits for a person's yes: of those with the same names, and of the latest."""
    if draft.intent == "new" or not draft.text:
        return ()
    found = [await records.find(space, memory.name, state=State.WAITING) for memory in memories]
    ids = [handle.id for handles in found for handle in handles]
    ids += await records.list_ids(space, Filter(state=State.WAITING), limit=_LATEST)
    # Nothing that waits is pinned.
    wanted = replace(draft, pinned=False)
    return _all_said(wanted, (await records.get(space, list(dict.fromkeys(ids)))).values(), at=at) if ids else ()


def _all_said(draft: Draft, memories: Iterable[Memory], *, at: datetime) -> tuple[Memory, ...]:
    """Of some memories those that say all of it, one for each entity; or none."""
    when = draft.source.at or at
    known = [memory for memory in memories if memory.holds(when) and _says_the_same(draft, memory)]
    by_entity = {memory.entity: memory for memory in known}
    entities = draft.entities or ("",)
    return tuple(by_entity[entity] for entity in entities) if all(entity in by_entity for entity in entities) else ()


def _says_the_same(draft: Draft, memory: Memory) -> bool:
    return (
        memory.content == draft.text
        and set(draft.tags) <= set(memory.tags)
        and set(draft.observations) <= {observation.text for observation in memory.observations}
        and draft.metadata.items() <= memory.metadata.items()
        and all(getattr(draft, name) in (_DEFAULTS[name], getattr(memory, name)) for name in _ONE_VALUE)
    )
