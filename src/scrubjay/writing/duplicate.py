"""The same thing said twice is stored once."""

from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory
from scrubjay.ports import Records


async def exact_duplicates(draft: Draft, *, space: str, records: Records) -> tuple[Memory, ...]:
    """The live memories that already say all that the draft says, one for each of its entities; or none."""
    if draft.intent == "new" or not draft.text:
        return ()
    ids = await records.same_content(space, draft.text)
    if not ids:
        return ()
    known = [memory for memory in (await records.get(space, ids)).values() if _says_the_same(draft, memory)]
    by_entity = {memory.entity: memory for memory in known}
    entities = draft.entities or ("",)
    return tuple(by_entity[entity] for entity in entities) if all(one in by_entity for one in entities) else ()


def _says_the_same(draft: Draft, memory: Memory) -> bool:
    return (
        memory.content == draft.text
        and set(draft.tags) <= set(memory.tags)
        and set(draft.observations) <= {one.text for one in memory.observations}
        and draft.metadata.items() <= memory.metadata.items()
        and all(
            getattr(draft, name) in ("", getattr(memory, name))
            for name in ("title", "kind", "category", "project", "scope")
        )
        and (not draft.name or draft.name == memory.name)
        and (not draft.pinned or memory.pinned)
        and draft.expires_at in (None, memory.expires_at)
        and draft.remind_at in (None, memory.remind_at)
    )
