"""The tag table of a space: list it, add and remove synonyms, preview their effect."""

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
from scrubjay.text.screening.secrets import require_no_secret
from scrubjay.text.tags.synonyms import Synonyms, builtin_synonyms, synonyms_from
from scrubjay.writing import validate
from scrubjay.writing.tags import SpaceTags, preview_tags

__all__ = ["add", "load", "preview", "remove", "table"]

_MAX_TAGS = 5_000
_BATCH = 500
_MAX_ATTEMPTS = 5


async def load(space: str, *, store: RecordStore) -> Synonyms:
    """Return the synonyms in force in a space."""
    return synonyms_from(await store.document(space, COLLECTION, TAGS))


async def table(space: str, *, store: RecordStore, limit: int) -> TagTable:
    """Return the tags of a space, the most used first, and its synonyms."""
    require_integer(limit, field="limit", most=_MAX_TAGS)
    return await _table(await load(space, store=store), space=space, store=store, limit=limit)


async def add(
    tag: str, variants: Sequence[str], *, space: str, store: RecordStore, now: datetime, limit: int = 200
) -> TagTable:
    """Make variants synonyms of a tag; raises InvalidInput for a circle or a chain."""
    primary = validate.label(tag, field="tag", limits=Limits())
    labels = _labels(variants)
    for name in (primary, *labels):
        require_no_secret(name, field="tag")
    synonyms = await _change(lambda synonyms: synonyms.add(primary, labels), space=space, store=store, now=now)
    return await _table(synonyms, space=space, store=store, limit=limit)


async def remove(
    variants: Sequence[str], *, space: str, store: RecordStore, now: datetime, limit: int = 200
) -> TagTable:
    """Make variants tags of their own again; raises InvalidInput for one that is."""
    labels = _labels(variants)
    synonyms = await _change(lambda synonyms: synonyms.remove(labels), space=space, store=store, now=now)
    return await _table(synonyms, space=space, store=store, limit=limit)


async def preview(
    tags: Sequence[str], *, text: str, space: str, rules: Rules, store: RecordStore, embedder: Embedder
) -> TagPreview:
    """Return what would become of tags, and the suggestions for a text; nothing is stored."""
    limits = Limits()
    checked = validate.tags(tags, limits=limits)
    draft = Draft(text=validate.text(text, field="text", limit=limits.text_bytes), tags=checked)
    synonyms = await load(space, store=store)
    space_tags = SpaceTags(space=space, synonyms=synonyms, store=store, embedder=embedder)
    return replace(await preview_tags(draft, rules=rules, tags=space_tags), before=tuple(tags))


def _labels(variants: Sequence[str]) -> tuple[str, ...]:
    texts = validate.texts(variants, field="variants", limit=_BATCH, limits=Limits())
    return tuple(validate.label(text, field="variants", limits=Limits()) for text in texts)


async def _change(change: Callable[[Synonyms], Synonyms], *, space: str, store: RecordStore, now: datetime) -> Synonyms:
    for attempt in range(_MAX_ATTEMPTS):
        stored = await store.document(space, COLLECTION, TAGS)
        synonyms = change(synonyms_from(stored))
        document = Document(space=space, collection=COLLECTION, key=TAGS, value=synonyms.as_json, at=now)
        try:
            await store.put_document(document, base=stored.version if stored else None)
        except StaleVersion:
            # Another caller changed them meanwhile.
            if attempt == _MAX_ATTEMPTS - 1:
                raise
            continue
        return synonyms
    raise AssertionError  # pragma: no cover - the last attempt returns or raises


async def _table(synonyms: Synonyms, *, space: str, store: RecordStore, limit: int) -> TagTable:
    labels = await store.labels(space, "tag", prefix="", limit=_MAX_TAGS)
    counts: dict[str, int] = {}
    for start in range(0, len(labels), _BATCH):
        facets = [facet("tag", label) for label in labels[start : start + _BATCH]]
        counts |= await store.known_facets(space, facets, state=State.LIVE)
    tags = [TagCount(tag=label, memories=counts.get(facet("tag", label), 0)) for label in labels]
    ranked = sorted(tags, key=lambda tag: (-tag.memories, tag.tag))
    return TagTable(
        tags=tuple(ranked[:limit]),
        synonyms=synonyms.entries,
        built_in=builtin_synonyms(),
        off=synonyms.off,
        more=len(labels) > limit,
    )
