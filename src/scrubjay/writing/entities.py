"""Whom a memory is about: names as the space spells them, aliases told, suggestions where none are given."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Facet, Filter, facet
from scrubjay.text.naming import bare_name, names_in, phrases_in, spellings_of

__all__ = ["Acquainted", "name_entities"]

_MOST_SUGGESTED = 5
# The spellings of so many names are looked up; a text about more is a list.
_MOST_LOOKED_UP = 20


class Acquainted(Protocol):
    """What is asked of a store."""

    async def known_facets(self, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
        """Which of some facets there are."""
        ...

    async def list_ids(self, space: str, wanted: Filter, *, limit: int, after: str | None = None) -> list[str]:
        """Ids that pass a filter."""
        ...

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """Memories by id."""
        ...


async def name_entities(draft: Draft, *, space: str, store: Acquainted) -> Draft:
    """A draft whose entities are named as the space knows them; without any, those it seems to be about are told."""
    if not draft.entities:
        return await _suggested(draft, space=space, store=store)
    asked = {
        facet("entity", name) for one in draft.entities[:_MOST_LOOKED_UP] for name in (one, *spellings_of(one)) if name
    }
    known = await store.known_facets(space, sorted(asked), state=State.LIVE)
    draft = _united(draft, known)
    spellings = await _spellings(
        [one for one in draft.entities if facet("entity", one) in known], space=space, store=store
    )
    for one in draft.entities:
        spelled = spellings.get(one, one)
        if spelled != one:
            draft = draft.decided("entities", "respelled", f"{one!r} is written {spelled!r} in this space")
        elif facet("entity", one) not in known and (others := _others(one, known)):
            draft = draft.decided("entities", "alias", f"{one!r} may be what this space calls {others[0]!r}")
    named = tuple(dict.fromkeys(spellings.get(one, one) for one in draft.entities))
    return replace(draft, entities=named).decided("entities", "given", f"{len(named)} named")


def _others(name: str, known: Mapping[Facet, int]) -> list[str]:
    return [one for one in spellings_of(name) if facet("entity", one) in known]


def _united(draft: Draft, known: Mapping[Facet, int]) -> Draft:
    """One entity that is given under two names is one: under that which the space knows, else the first."""
    chosen: dict[str, str] = {}
    for one in draft.entities:
        other = chosen.setdefault(bare_name(one), one)
        if other == one:
            continue
        kept = one if facet("entity", one) in known and facet("entity", other) not in known else other
        chosen[bare_name(one)] = kept
        draft = draft.decided("entities", "alias", f"{one!r} and {other!r} are taken for one, {kept!r}")
    return replace(draft, entities=tuple(chosen.values()))


async def _spellings(names: Sequence[str], *, space: str, store: Acquainted) -> dict[str, str]:
    """How the space writes names that it knows."""
    looked_up = names[:_MOST_LOOKED_UP]
    pages = await asyncio.gather(*(store.list_ids(space, Filter(entity=name), limit=1) for name in looked_up))
    found = await store.get(space, [one for page in pages for one in page])
    return {
        name: found[page[0]].entity
        for name, page in zip(looked_up, pages, strict=True)
        # An alias finds others too.
        if page and page[0] in found and facet("entity", found[page[0]].entity) == facet("entity", name)
    }


async def _suggested(draft: Draft, *, space: str, store: Acquainted) -> Draft:
    text = ". ".join(one for one in (draft.title, draft.text, *draft.observations) if one)
    phrases = {facet("entity", phrase): phrase for phrase in reversed(phrases_in(text))}
    counts = await store.known_facets(space, list(phrases), state=State.LIVE) if phrases else {}
    # The longer names first: Acme Corp is not Acme.
    known = [phrases[one] for one in sorted(counts, key=lambda one: (-len(one.split()), -counts[one], one))]
    known = _not_contained(known)[:_MOST_SUGGESTED]
    spellings = await _spellings(known, space=space, store=store)
    found = dict.fromkeys(spellings.get(one, one) for one in known)
    covered = {bare_name(one) for one in found}
    found |= dict.fromkeys(one for one in names_in(text) if bare_name(one) not in covered)
    suggested = tuple(_not_contained(list(found))[:_MOST_SUGGESTED])
    if not suggested:
        return draft.decided("entities", "none")
    return replace(draft, suggested_entities=suggested).decided(
        "entities", "suggested", f"{len(known)} known in this space" if known else "by how they are written"
    )


def _not_contained(names: Sequence[str]) -> list[str]:
    folded = [f" {name.casefold()} " for name in names]
    return [
        name
        for at, name in enumerate(names)
        if not any(folded[at] in other and folded[at] != other for other in folded[:at])
    ]
