"""The tags of a space and what stands for them: listed, changed, tried out."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.errors import StaleVersion
from scrubjay.model.checks import require_integer
from scrubjay.model.document import Document
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.memory import State
from scrubjay.model.query import facet
from scrubjay.model.rules import COLLECTION, TAGS, Rules
from scrubjay.model.tags import TagCount, TagPreview, TagTable
from scrubjay.ports import Embedder, RecordStore
from scrubjay.text.tags.synonyms import Synonyms, builtin_synonyms, synonyms_from
from scrubjay.writing import validate
from scrubjay.writing.tags import normalised

__all__ = ["Synonyms", "add", "preview", "read", "remove", "synonyms_from", "table"]

_MOST_TAGS = 5_000
_AT_ONCE = 500
_TRIES = 5


async def read(space: str, *, store: RecordStore) -> Synonyms:
    """The synonyms that hold in a space."""
    return synonyms_from(await store.document(space, COLLECTION, TAGS))


async def table(space: str, *, store: RecordStore, limit: int) -> TagTable:
    """The tags of a space, the most used first, and its synonyms."""
    require_integer(limit, field="limit", most=_MOST_TAGS)
    return await _listed(await read(space, store=store), space=space, store=store, limit=limit)


async def add(
    tag: str, variants: Sequence[str], *, space: str, store: RecordStore, now: datetime, limit: int = 200
) -> TagTable:
    """Let some variants stand for a tag in a space; raises InvalidInput for a circle or a chain."""
    primary = validate.label(tag, field="tag", limits=Limits())
    others = _labels(variants)
    changed = await _change(lambda known: known.add(primary, others), space=space, store=store, now=now)
    return await _listed(changed, space=space, store=store, limit=limit)


async def remove(
    variants: Sequence[str], *, space: str, store: RecordStore, now: datetime, limit: int = 200
) -> TagTable:
    """Let some variants stand for themselves in a space; raises InvalidInput for one that does already."""
    others = _labels(variants)
    changed = await _change(lambda known: known.remove(others), space=space, store=store, now=now)
    return await _listed(changed, space=space, store=store, limit=limit)


async def preview(
    tags: Sequence[str], *, text: str, space: str, rules: Rules, store: RecordStore, embedder: Embedder
) -> TagPreview:
    """What would become of some tags, and of which the text would be given besides."""
    limits = Limits()
    given = validate.tags(tags, limits=limits)
    draft = Draft(text=validate.text(text, field="text", limit=limits.text_bytes), tags=given)
    synonyms = await read(space, store=store)
    found = await normalised(draft, space=space, rules=rules, synonyms=synonyms, store=store, embedder=embedder)
    return replace(found, before=tuple(tags))


def _labels(variants: Sequence[str]) -> tuple[str, ...]:
    given = validate.texts(variants, field="variants", limit=_AT_ONCE, limits=Limits())
    return tuple(validate.label(one, field="variants", limits=Limits()) for one in given)


async def _change(
    change: Callable[[Synonyms], Synonyms], *, space: str, store: RecordStore, now: datetime, tries: int = _TRIES
) -> Synonyms:
    document = await store.document(space, COLLECTION, TAGS)
    changed = change(synonyms_from(document))
    filed = Document(space=space, collection=COLLECTION, key=TAGS, value=changed.as_json, at=now)
    try:
        await store.put_document(filed, base=document.version if document else None)
    except StaleVersion:
        # Somebody else changed them in between: once more, from what they are now.
        if tries <= 1:
            raise
        return await _change(change, space=space, store=store, now=now, tries=tries - 1)
    return changed


async def _listed(synonyms: Synonyms, *, space: str, store: RecordStore, limit: int) -> TagTable:
    labels = await store.labels(space, "tag", prefix="", limit=_MOST_TAGS)
    counts: dict[str, int] = {}
    for start in range(0, len(labels), _AT_ONCE):
        facets = [facet("tag", label) for label in labels[start : start + _AT_ONCE]]
        counts |= await store.known_facets(space, facets, state=State.LIVE)
    found = [TagCount(tag=label, memories=counts.get(facet("tag", label), 0)) for label in labels]
    ranked = sorted(found, key=lambda one: (-one.memories, one.tag))
    return TagTable(
        tags=tuple(ranked[:limit]),
        synonyms=synonyms.entries,
        built_in=builtin_synonyms(),
        off=synonyms.off,
        more=len(labels) > limit,
    )
