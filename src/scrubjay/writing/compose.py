"""A draft becomes records: one, or one for each of its entities."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.model.draft import Draft
from scrubjay.model.fact import EXTRACTION
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory, Observation, Source
from scrubjay.text.opening import read_opening
from scrubjay.text.slug import add_suffix, name_of_statement, slug, slug_of_subject, whole_slug

_DEFAULT_KIND = "note"
_NO_NAME = "memory"


def compose(draft: Draft, *, space: str, now: datetime) -> tuple[Memory, ...]:
    """Return the records of a draft; several share one group."""
    return tuple(_records(draft, space=space, now=now))


def join_group(composed: Sequence[Memory], stored: Sequence[Memory]) -> tuple[tuple[Memory, ...], tuple[Memory, ...]]:
    """Return the records of the entities for which the text is not stored yet, in the group of those that are.

    The others come second. The group is theirs, or the new one if they have none.
    """
    entities = {memory.entity for memory in stored}
    group = next((memory.group for memory in stored if memory.group), "")
    missing = tuple(
        replace(memory, group=group) if group else memory for memory in composed if memory.entity not in entities
    )
    return missing, tuple(stored)


def derive_name(title: str, text: str, observations: Sequence[str] = (), *, entity: str = "") -> str:
    """Derive a name from the title, or else the words of the text; the entity keeps records of one group apart."""
    words = whole_slug(title) or slug_of_subject(text) or slug_of_subject(" ".join(observations))
    if not (about := slug(entity)):
        return words or _NO_NAME
    others = [word for word in words.split("-") if word not in about.split("-")]
    return whole_slug(" ".join((*others, about)))


def _records(draft: Draft, *, space: str, now: datetime) -> Iterator[Memory]:
    group = new_id() if len(draft.entities) > 1 else ""
    taken: set[str] = set()
    for entity in draft.entities or ("",):
        memory = _record(draft, entity=entity, group=group, space=space, now=now)
        # Entities such as C and C++ have one spelling in a name.
        yield replace(memory, name=add_suffix(memory.name, memory.id)) if memory.name in taken else memory
        taken.add(memory.name)


def _record(draft: Draft, *, entity: str, group: str, space: str, now: datetime) -> Memory:
    is_several = len(draft.entities) > 1
    if draft.name:
        name = f"{draft.name}-{slug(entity)}" if is_several else draft.name
    elif draft.source.tool == EXTRACTION:
        # The name that a fact has before it is stored, so that both ways to store it mean one memory.
        name = name_of_statement(draft.text)
    else:
        about = entity if is_several else ""
        name = derive_name(draft.title, draft.text, draft.observations, entity=about)
    return Memory(
        id=draft.id if draft.id and not is_several else new_id(),
        space=space,
        name=name,
        title=draft.title,
        kind=draft.kind or _DEFAULT_KIND,
        category=draft.category,
        project=draft.project,
        scope=draft.scope,
        content=draft.text,
        observations=tuple(Observation(text=text, recorded_at=now) for text in draft.observations),
        entity=entity,
        group=group,
        tags=(*draft.tags, *(tag for tag in draft.suggested_tags if tag not in draft.tags)),
        flags=draft.flags,
        pinned=draft.pinned,
        relevance=draft.relevance,
        expires_at=draft.expires_at,
        remind_at=draft.remind_at,
        source=_source(draft, now=now),
        metadata=draft.metadata,
        created_at=now,
        updated_at=now,
        last_confirmed=now,
    )


def _source(draft: Draft, *, now: datetime) -> Source:
    """Return the source, with the date that the text begins with unless the caller gave one.

    Lines of a chat, with their speakers, are one conversation a day. A date to come is an appointment.
    """
    source = draft.source
    if draft.session_hint and not source.session:
        source = replace(source, session=draft.session_hint)
    opening = read_opening(draft.text)
    if opening.at is None or source.at is not None or opening.at > now:
        return source
    is_line = bool(opening.speaker) and not source.session and not source.conversation
    return replace(source, at=opening.at, conversation=f"{opening.at:%Y-%m-%d}" if is_line else source.conversation)
