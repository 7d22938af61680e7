"""Whom a memory is about: names as the space spells them, aliases told, suggestions where none are given."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol
from weakref import WeakKeyDictionary

from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Facet, Filter, facet
from scrubjay.text.names import bare_name, names_in, phrases_in, spellings_of

__all__ = ["Acquaintance", "Acquainted", "acquaint", "name_entities"]

_MOST_SUGGESTED = 5
# The spellings of so many names are looked up; a text about more is a list.
_MOST_LOOKED_UP = 20
# A name has a hundred other spellings.
_SPELT_NAMES = 256
_MOST_BEARERS = 4_096


class Acquainted(Protocol):
    """What is asked of a store."""

    async def known_facets(self, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
        """Which of some facets there are."""
        ...

    async def list_ids(self, space: str, filter: Filter, *, limit: int, after: str | None = None) -> list[str]:
        """Ids that pass a filter."""
        ...

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """Memories by id."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquaintance:
    """What a space knows of the names in a draft: how many memories have each, and how it spells those it knows.

    `names` are those to suggest, where a draft names none itself.
    """

    known: Mapping[Facet, int]
    spellings: Mapping[str, str]
    names: tuple[str, ...] = ()


# A memory that has a name, by its space and the name as it is written there; the one asked for last at the end.
_Bearers = dict[tuple[str, str], str]
_bearers: WeakKeyDictionary[Acquainted, _Bearers] = WeakKeyDictionary()


async def acquaint(draft: Draft, *, space: str, store: Acquainted) -> Acquaintance:
    """Look up the names of a draft; without any, what in its text may be one."""
    if not draft.entities:
        return await _acquaint_with_text(_text(draft), space=space, store=store)
    given = draft.entities[:_MOST_LOOKED_UP]
    asked = sorted({facet for name in given for facet in _facets(name)})
    known, borne = await asyncio.gather(
        store.known_facets(space, asked, state=State.LIVE), _borne(given, space=space, store=store)
    )
    names = [entity for entity in _united(draft, known).entities if facet("entity", entity) in known]
    return Acquaintance(known=known, spellings=await _spellings(names, borne, space=space, store=store))


def name_entities(draft: Draft, acquaintance: Acquaintance) -> Draft:
    """A draft whose entities are named as the space knows them; without any, those it seems to be about are told."""
    if not draft.entities:
        return _suggested(draft, acquaintance)
    known, spellings = acquaintance.known, acquaintance.spellings
    draft = _united(draft, known)
    for one in draft.entities:
        spelled = spellings.get(one, one)
        if spelled != one:
            draft = draft.with_decision("entities", "respelled", f"{one!r} is written {spelled!r} in this space")
        elif facet("entity", one) not in known and (others := _others(one, known)):
            draft = draft.with_decision("entities", "alias", f"{one!r} may be what this space calls {others[0]!r}")
    named = tuple(dict.fromkeys(spellings.get(entity, entity) for entity in draft.entities))
    return replace(draft, entities=named).with_decision("entities", "given", f"{len(named)} named")


async def _acquaint_with_text(text: str, *, space: str, store: Acquainted) -> Acquaintance:
    phrases = {facet("entity", phrase): phrase for phrase in reversed(phrases_in(text))}
    if not phrases:
        return Acquaintance(known={}, spellings={})
    known, borne = await asyncio.gather(
        store.known_facets(space, list(phrases), state=State.LIVE), _borne(phrases.values(), space=space, store=store)
    )
    # The longer names first: Acme Corp is not Acme.
    names = [phrases[one] for one in sorted(known, key=lambda one: (-len(one.split()), -known[one], one))]
    names = _not_contained(names)[:_MOST_SUGGESTED]
    spellings = await _spellings(names, borne, space=space, store=store)
    return Acquaintance(known=known, spellings=spellings, names=tuple(names))


@lru_cache(maxsize=_SPELT_NAMES)
def _facets(name: str) -> tuple[Facet, ...]:
    return tuple(facet("entity", one) for one in (name, *spellings_of(name)) if one)


def _others(name: str, known: Mapping[Facet, int]) -> list[str]:
    return [spelling for spelling in spellings_of(name) if facet("entity", spelling) in known]


def _united(draft: Draft, known: Mapping[Facet, int]) -> Draft:
    """One entity that is given under two names is one: under that which the space knows, else the first."""
    chosen: dict[str, str] = {}
    for entity in draft.entities:
        other = chosen.setdefault(bare_name(entity), entity)
        if other == entity:
            continue
        kept = entity if facet("entity", entity) in known and facet("entity", other) not in known else other
        chosen[bare_name(entity)] = kept
        draft = draft.with_decision("entities", "alias", f"{entity!r} and {other!r} are taken for one, {kept!r}")
    return replace(draft, entities=tuple(chosen.values()))


async def _spellings(names: Sequence[str], borne: frozenset[str], *, space: str, store: Acquainted) -> dict[str, str]:
    """How the space writes names that it knows; what is borne just so is written so."""
    spellings = {name: name for name in names[:_MOST_LOOKED_UP] if name in borne}
    unsure = [name for name in names[:_MOST_LOOKED_UP] if name not in borne]
    if not unsure:
        return spellings
    pages = await asyncio.gather(*(store.list_ids(space, Filter(entity=name), limit=1) for name in unsure))
    found = await store.get(space, [one for page in pages for one in page])
    for name, page in zip(unsure, pages, strict=True):
        memory = found.get(page[0]) if page else None
        # An alias finds others too.
        if memory is not None and facet("entity", memory.entity) == facet("entity", name):
            spellings[name] = memory.entity
            _note(memory, space=space, store=store)
    return spellings


async def _borne(names: Iterable[str], *, space: str, store: Acquainted) -> frozenset[str]:
    """Which names a memory was seen to have, written just so, and still has."""
    bearers = _bearers.get(store, {})
    seen = [(name, its) for name in names if (its := bearers.get((space, name))) is not None][:_MOST_LOOKED_UP]
    if not seen:
        return frozenset()
    found = await store.get(space, [its for _, its in seen])
    borne = [found[its] for name, its in seen if its in found and found[its].entity == name]
    borne = [memory for memory in borne if memory.state is State.LIVE]
    for memory in borne:
        _note(memory, space=space, store=store)
    return frozenset(memory.entity for memory in borne)


def _note(memory: Memory, *, space: str, store: Acquainted) -> None:
    bearers = _bearers.setdefault(store, {})
    bearers.pop((space, memory.entity), None)
    bearers[space, memory.entity] = memory.id
    while len(bearers) > _MOST_BEARERS:
        bearers.pop(next(iter(bearers)), None)


def _suggested(draft: Draft, acquaintance: Acquaintance) -> Draft:
    known, spellings = acquaintance.names, acquaintance.spellings
    found = dict.fromkeys(spellings.get(one, one) for one in known)
    covered = {bare_name(one) for one in found}
    found |= dict.fromkeys(name for name in names_in(_text(draft)) if bare_name(name) not in covered)
    suggested = tuple(_not_contained(list(found))[:_MOST_SUGGESTED])
    if not suggested:
        return draft.with_decision("entities", "none")
    return replace(draft, suggested_entities=suggested).with_decision(
        "entities", "suggested", f"{len(known)} known in this space" if known else "by how they are written"
    )


def _text(draft: Draft) -> str:
    return ". ".join(one for one in (draft.title, draft.text, *draft.observations) if one)


def _not_contained(names: Sequence[str]) -> list[str]:
    folded = [f" {name.casefold()} " for name in names]
    return [
        name
        for at, name in enumerate(names)
        if not any(folded[at] in other and folded[at] != other for other in folded[:at])
    ]
