"""An entity that is asked for by one of its names is found under the others too: Acme as Acme Corp."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.model.query import Filter, facet
from scrubjay.ports import Lexicon
from scrubjay.text.naming import spellings_of


async def with_spellings(wanted: Filter, *, spaces: Sequence[str], lexicon: Lexicon) -> Filter:
    """A filter that takes an entity also as the spaces spell it."""
    if not wanted.entity:
        return wanted
    others = {facet("entity", one): one for one in spellings_of(wanted.entity)}
    known = [one for space in spaces for one in await lexicon.known_facets(space, list(others), state=wanted.state)]
    return replace(wanted, spellings=tuple(others[one] for one in dict.fromkeys(known))) if known else wanted
