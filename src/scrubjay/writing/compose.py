"""A draft becomes records: one, or one for each entity it is about."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from scrubjay.model.draft import Draft
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory, Observation
from scrubjay.text.slug import add_suffix, slug, slug_of_first_words

_DEFAULT_KIND = "note"


def compose(draft: Draft, *, space: str, now: datetime) -> tuple[Memory, ...]:
    """The records of a draft; several share one group."""
    group = new_id() if len(draft.entities) > 1 else ""
    made = [_record(draft, entity=entity, group=group, space=space, now=now) for entity in draft.entities or ("",)]
    return tuple(_apart(made))


def _apart(memories: Iterable[Memory]) -> Iterator[Memory]:
    """Entities that are spelled alike in a handle, as C and C++ are, must not claim one name."""
    taken: set[str] = set()
    for memory in memories:
        yield replace(memory, name=add_suffix(memory.name, memory.id)) if memory.name in taken else memory
        taken.add(memory.name)


def derived_name(draft: Draft, entity: str) -> str:
    """The handle when none is given: of the title, else of the first words; the entity keeps siblings apart."""
    words = slug(draft.title) or slug_of_first_words(draft.text) or slug_of_first_words(" ".join(draft.observations))
    return slug(f"{words} {entity}") or "memory"


def _record(draft: Draft, *, entity: str, group: str, space: str, now: datetime) -> Memory:
    several = len(draft.entities) > 1
    return Memory(
        id=draft.id if draft.id and not several else new_id(),
        space=space,
        name=(f"{draft.name}-{slug(entity)}" if several else draft.name)
        if draft.name
        else derived_name(draft, entity if several else ""),
        title=draft.title,
        kind=draft.kind or _DEFAULT_KIND,
        category=draft.category,
        project=draft.project,
        scope=draft.scope,
        content=draft.text,
        observations=tuple(Observation(text=observation, recorded_at=now) for observation in draft.observations),
        entity=entity,
        group=group,
        tags=(*draft.tags, *(tag for tag in draft.suggested_tags if tag not in draft.tags)),
        flags=draft.flags,
        pinned=draft.pinned,
        relevance=draft.relevance,
        expires_at=draft.expires_at,
        remind_at=draft.remind_at,
        source=replace(draft.source, session=draft.source.session or draft.session_hint),
        metadata=draft.metadata,
        created_at=now,
        updated_at=now,
        last_confirmed=now,
    )
