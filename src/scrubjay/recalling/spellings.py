"""What is asked for by one name is found under its others too: Acme as Acme Corp, a tag as what it stands for."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.model.query import Facet, Filter, facet, tag_facet
from scrubjay.model.rules import COLLECTION, TAGS
from scrubjay.ports import RecordStore
from scrubjay.text.names import spellings_of
from scrubjay.text.tags.spelling import normalize_tag
from scrubjay.text.tags.synonyms import Synonyms, synonyms_from


async def with_spellings(filter: Filter, *, spaces: Sequence[str], store: RecordStore) -> Filter:
    """A filter that takes entities and tags also as the spaces spell them."""
    if not filter.entity and not filter.tags and not filter.any_tags:
        return filter
    also: dict[Facet, tuple[Facet, ...]] = {}
    for space in spaces:
        others = await _others(filter, space=space, store=store)
        asked = [one for several in others.values() for one in several]
        known = await store.known_facets(space, asked, state=filter.state) if asked else {}
        for one, several in others.items():
            found = tuple(other for other in several if other in known)
            also[one] = tuple(dict.fromkeys((*also.get(one, ()), *found)))
    found = {one: several for one, several in also.items() if several}
    return replace(filter, also=found) if found else filter


async def _others(filter: Filter, *, space: str, store: RecordStore) -> dict[Facet, tuple[Facet, ...]]:
    """How each facet that is asked for may be spelled otherwise."""
    others: dict[Facet, tuple[Facet, ...]] = {}
    if filter.entity:
        others[facet("entity", filter.entity)] = tuple(
            facet("entity", spelling) for spelling in spellings_of(filter.entity)
        )
    tags = dict.fromkeys((*filter.tags, *filter.any_tags))
    synonyms = synonyms_from(await store.document(space, COLLECTION, TAGS)) if tags else Synonyms()
    return others | {tag_facet(tag): tuple(map(tag_facet, _written(tag, synonyms))) for tag in tags}


def _written(tag: str, synonyms: Synonyms) -> tuple[str, ...]:
    """What a tag has become when it was written: itself in the usual spelling, or what it stands for alone."""
    plain = normalize_tag(tag.lstrip("# ").lower())
    standing = synonyms.primary(plain)
    return (plain,) if standing is None or standing.keeps_variant else (plain, standing.primary)
