"""The entities of a draft: spelled as the space spells them, with aliases reported, or suggested from the text."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from weakref import WeakKeyDictionary

from scrubjay.lazy import dataclass
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Facet, Filter, facet
from scrubjay.ports import RecordStore
from scrubjay.text.empty_words import EMPTY_WORDS
from scrubjay.text.names import bare_name, names_in, phrases_in, spellings_of
from scrubjay.text.scripts import fold
from scrubjay.writing.tags import is_day

__all__ = ["EntityLookup", "look_up_entities", "name_entities"]

_MAX_SUGGESTED = 5
_ABBREVIATION = re.compile("[A-Z0-9]{1,5}s?")
# A text about more entities is a list.
_MAX_LOOKED_UP = 20
# A name has a hundred other spellings.
_CACHED_NAMES = 256
_CACHED_MEMORIES = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityLookup:
    """What a space has for the names in a draft: the number of memories of each, and the spelling in use.

    `names` are those to suggest for a draft without entities.
    """

    counts: Mapping[Facet, int]
    spellings: Mapping[str, str]
    names: tuple[str, ...] = ()


# A memory of an entity, by its space and the entity as spelled there; the one used last at the end.
_MemoryByEntity = dict[tuple[str, str], str]
_memories: WeakKeyDictionary[RecordStore, _MemoryByEntity] = WeakKeyDictionary()


async def look_up_entities(draft: Draft, *, space: str, store: RecordStore) -> EntityLookup:
    """Look up the entities of a draft; without any, the phrases of its text that may be names."""
    if not draft.entities:
        return await _look_up_phrases(_text(draft), space=space, store=store)
    names = draft.entities[:_MAX_LOOKED_UP]
    # The other spellings of a name matter only if the space does not have the name.
    facets = [facet("entity", name) for name in names if name]
    counts, confirmed = await _read_known(facets, names, space=space, store=store)
    others = sorted({other for name in names if facet("entity", name) not in counts for other in _facets(name)})
    if others:
        counts = {**counts, **await store.known_facets(space, others, state=State.LIVE)}
    existing = [entity for entity in _unite_aliases(draft, counts).entities if facet("entity", entity) in counts]
    return EntityLookup(counts=counts, spellings=await _spellings(existing, confirmed, space=space, store=store))


def name_entities(draft: Draft, lookup: EntityLookup) -> Draft:
    """Spell the entities of a draft as the space does; without any, suggest some."""
    if not draft.entities:
        return _suggest(draft, lookup)
    counts, spellings = lookup.counts, lookup.spellings
    draft = _unite_aliases(draft, counts)
    for entity in draft.entities:
        spelling = spellings.get(entity, entity)
        if spelling != entity:
            draft = draft.with_decision("entities", "respelled", f"{entity!r} is written {spelling!r} in this space")
        elif facet("entity", entity) not in counts:
            alias = next((other for other in spellings_of(entity) if facet("entity", other) in counts), "")
            if alias:
                draft = draft.with_decision("entities", "alias", f"{entity!r} may be what this space calls {alias!r}")
    entities = tuple(dict.fromkeys(spellings.get(entity, entity) for entity in draft.entities))
    return draft.with_fields(entities=entities).with_decision("entities", "given", f"{len(entities)} named")


async def _look_up_phrases(text: str, *, space: str, store: RecordStore) -> EntityLookup:
    phrases = {facet("entity", phrase): phrase for phrase in reversed(phrases_in(text))}
    if not phrases:
        return EntityLookup(counts={}, spellings={})
    counts, confirmed = await _read_known(list(phrases), phrases.values(), space=space, store=store)
    # The longer names first: Acme Corp is not Acme.
    ordered = sorted(counts, key=lambda entity: (-len(entity.split()), -counts[entity], entity))
    names = _drop_contained([phrases[entity] for entity in ordered])[:_MAX_SUGGESTED]
    spellings = await _spellings(names, confirmed, space=space, store=store)
    return EntityLookup(counts=counts, spellings=spellings, names=tuple(names))


@lru_cache(maxsize=_CACHED_NAMES)
def _facets(name: str) -> tuple[Facet, ...]:
    return tuple(facet("entity", spelling) for spelling in (name, *spellings_of(name)) if spelling)


def _unite_aliases(draft: Draft, counts: Mapping[Facet, int]) -> Draft:
    """Unite two names of one entity under the one that the space has, else the first."""
    chosen: dict[str, str] = {}
    for entity in draft.entities:
        other = chosen.setdefault(bare_name(entity), entity)
        if other == entity:
            continue
        name = entity if facet("entity", entity) in counts and facet("entity", other) not in counts else other
        chosen[bare_name(entity)] = name
        draft = draft.with_decision("entities", "alias", f"{entity!r} and {other!r} are treated as one, {name!r}")
    entities = tuple(chosen.values())
    return draft if entities == draft.entities else draft.with_fields(entities=entities)


async def _spellings(
    names: Sequence[str], confirmed: frozenset[str], *, space: str, store: RecordStore
) -> dict[str, str]:
    """Return how the space spells names; a confirmed name is spelled as it is."""
    names = names[:_MAX_LOOKED_UP]
    spellings = {name: name for name in names if name in confirmed}
    unsure = [name for name in names if name not in confirmed]
    if not unsure:
        return spellings
    pages = await asyncio.gather(*(store.list_ids(space, Filter(entity=name), limit=1) for name in unsure))
    memories = await store.get(space, [memory_id for page in pages for memory_id in page])
    for name, page in zip(unsure, pages, strict=True):
        memory = memories.get(page[0]) if page else None
        # The filter matches aliases too.
        if memory is not None and facet("entity", memory.entity) == facet("entity", name):
            spellings[name] = memory.entity
            _cache(memory, space=space, store=store)
    return spellings


async def _read_known(
    facets: Sequence[Facet], names: Iterable[str], *, space: str, store: RecordStore
) -> tuple[Mapping[Facet, int], frozenset[str]]:
    """Return how many memories have each facet, and the names that are confirmed."""
    by_entity = _memories.get(store, {})
    cached = [(name, memory_id) for name in names if (memory_id := by_entity.get((space, name))) is not None]
    if not cached:
        return await store.known_facets(space, facets, state=State.LIVE), frozenset()
    reads = (
        store.known_facets(space, facets, state=State.LIVE),
        _confirm_names(cached[:_MAX_LOOKED_UP], space=space, store=store),
    )
    # With a remote store each is a round trip, so that both run at once; a local one answers sooner than a task starts.
    return (await reads[0], await reads[1]) if store.is_local else await asyncio.gather(*reads)


async def _confirm_names(cached: Sequence[tuple[str, str]], *, space: str, store: RecordStore) -> frozenset[str]:
    """Return the names of which the cached memory is live and still has this very spelling."""
    memories = await store.get(space, [memory_id for _, memory_id in cached])
    confirmed = [
        memory
        for name, memory_id in cached
        if (memory := memories.get(memory_id)) is not None and memory.entity == name and memory.state is State.LIVE
    ]
    for memory in confirmed:
        _cache(memory, space=space, store=store)
    return frozenset(memory.entity for memory in confirmed)


def _cache(memory: Memory, *, space: str, store: RecordStore) -> None:
    by_entity = _memories.setdefault(store, {})
    by_entity.pop((space, memory.entity), None)
    by_entity[space, memory.entity] = memory.id
    while len(by_entity) > _CACHED_MEMORIES:
        by_entity.pop(next(iter(by_entity)), None)


def _suggest(draft: Draft, lookup: EntityLookup) -> Draft:
    names = dict.fromkeys(lookup.spellings.get(name, name) for name in lookup.names)
    covered = {bare_name(name) for name in names}
    written = filter(None, map(_hint, names_in(_text(draft))))
    names |= dict.fromkeys(name for name in written if bare_name(name) not in covered)
    suggested = tuple(_drop_contained(list(names))[:_MAX_SUGGESTED])
    if not suggested:
        return draft.with_decision("entities", "none")
    why = f"{len(lookup.names)} known in this space" if lookup.names else "by how they are written"
    return draft.with_fields(suggested_entities=suggested).with_decision("entities", "suggested", why)


def _hint(name: str) -> str:
    """Return a name without an article or a day before it; none for what mostly is none: CET, the API, Friday's."""
    words = name.split(" ")
    while words and (fold(words[0]) in EMPTY_WORDS or is_day(words[0])):
        words = words[1:]
    is_noun = len(words) == 1 and name != words[0]
    return "" if is_noun or all(map(_ABBREVIATION.fullmatch, words)) else " ".join(words)


def _text(draft: Draft) -> str:
    return ". ".join(text for text in (draft.title, draft.text, *draft.observations) if text)


def _drop_contained(names: Sequence[str]) -> list[str]:
    """Drop the names that are part of an earlier one."""
    folded = [f" {name.casefold()} " for name in names]
    return [
        name
        for at, name in enumerate(names)
        if not any(folded[at] in other and folded[at] != other for other in folded[:at])
    ]
