"""`search_nodes`: entities by name and type, as written or nearly, and then by what they say."""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from heapq import nlargest

from scrubjay.graph.entity import entity_of
from scrubjay.graph.labels import APART, Labels
from scrubjay.graph.node_json import node_json
from scrubjay.graph.records import ratio
from scrubjay.lookup.branches import COLLECTION, branch_id, presented
from scrubjay.lookup.references import SoundReader
from scrubjay.model.checks import require_integer, require_text
from scrubjay.model.memory import MAIN, Json, Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.results import Recalled
from scrubjay.ports import RecordStore
from scrubjay.recalling.text_cache import TextCaches, TextView, scan

MOST_RESULTS = 10_000
# To know which of those with one type are read most, all must be read.
_MOST_ORDERED = 500
# So many of what is always included come with an answer, the oldest first.
_MOST_PINNED = 20
_PAGE = 500
# Shorter words are too close to each other for a slip to be told from another word.
_SHORTEST = 4
_JOINTS = re.compile(r"[-_\s]+")
_NEVER = datetime.min.replace(tzinfo=UTC)


def _labels(memory: Memory) -> str:
    entity = entity_of(memory)
    return APART.join(dict.fromkeys(form for text in (entity.name, entity.type) for form in _forms(text)))


_NODES = TextView(Filter(), _labels)


async def search_nodes(
    query: str, *, limit: int, meant: Recalled, now: datetime, space: str, store: RecordStore, text_caches: TextCaches
) -> dict[str, Json]:
    """Entities by name and type, then those that a recall has found by meaning; what is always included comes first.

    The first `always_included` of the results are there for that reason, and come on top of the limit. Without a query
    all entities, the most often read first.
    """
    require_text(query, field="query")
    require_integer(limit, field="limit", most=MOST_RESULTS)
    reader = SoundReader(store, space=space)
    pinned = [one for one in await reader.get(await store.pinned(space)) if one.state is State.LIVE]
    named = await _named(query, limit=limit + len(pinned), space=space, store=store, text_caches=text_caches)
    found: dict[str, Memory] = {}
    for ids in named:
        if len(found) < limit + len(pinned):
            # Of very many the newest are put in order.
            most = max(limit + len(pinned), _MOST_ORDERED) if query.strip() else MOST_RESULTS
            newest = nlargest(most, ids)
            some = [one for one in await _read(newest, reader=reader) if one.state is State.LIVE]
            found |= {one.id: one for one in sorted(some, key=_seldom)}
    for hit in meant.hits if query.strip() else ():
        if hit.memory is not None:
            found.setdefault(hit.id, hit.memory)
    # What is always included has places of its own: those that have none are found as the others are.
    first = {one.id: one for one in pinned[:_MOST_PINNED]}
    shown = [*first.values(), *[one for one in found.values() if one.id not in first][:limit]]
    results = await _told(shown, now=now, space=space, store=store)
    told: dict[str, Json] = {"success": True, "query": query, "count": len(results), "results": results}
    told["always_included"] = len(first)
    if len(pinned) > len(first):
        told["note"] = f"{len(pinned) - len(first):,} more are always included and have no room: unpin some"
    return told


async def _named(
    query: str, *, limit: int, space: str, store: RecordStore, text_caches: TextCaches
) -> Sequence[Collection[str]]:
    """Ids of entities whose name or type is like a query, in classes: the same, part of it, nearly."""
    kept = await text_caches.container(_NODES, make=Labels, space=space, store=store)
    if kept is None:
        kept = Labels()
        async for memory_id, text in scan(_NODES, reader=SoundReader(store, space=space)):
            kept.put(memory_id, text)
    return _classes(query, kept, limit=limit)


def _classes(query: str, labels: Labels, *, limit: int) -> Sequence[Collection[str]]:
    sought = [form for form in _forms(query) if form]
    if not sought:
        return (labels.ids,)
    same = set[str]().union(*map(labels.same, sought))
    part = set[str]().union(*map(labels.containing, sought)) - same
    if len(same) + len(part) >= limit or len(sought[-1]) < _SHORTEST:
        return same, part
    return same, part, labels.nearly(sought[-1], but=same | part, limit=limit)


def _forms(text: str) -> tuple[str, ...]:
    """A label in lower case, as written and with blanks for what joins its words."""
    lower = " ".join(text.lower().split())
    return tuple(dict.fromkeys((lower, _JOINTS.sub(" ", lower).strip())))


def _seldom(memory: Memory) -> tuple[int, float, str]:
    last = memory.last_accessed or _NEVER
    return -memory.access_count, -(last - _NEVER).total_seconds(), memory.id


async def _read(ids: Sequence[str], *, reader: SoundReader) -> list[Memory]:
    found: list[Memory] = []
    for first in range(0, len(ids), _PAGE):
        found += await reader.get(ids[first : first + _PAGE])
    return found


async def _told(memories: Iterable[Memory], *, now: datetime, space: str, store: RecordStore) -> list[Json]:
    shown = list(memories)
    ids = [one.id for one in shown]
    sizes = await store.sizes(space, ids) if shown else {}
    documents = await store.documents_about(space, COLLECTION, ids, limit=len(ids)) if shown else []
    current = {document.key: str(document.value.get("current") or MAIN) for document in documents}
    switched = {one.id: current[one.id] for one in shown if current.get(one.id, MAIN) != MAIN}
    lines = await store.get(space, [branch_id(*item) for item in switched.items()]) if switched else {}
    told: list[Json] = []
    for one in shown:
        line = lines.get(branch_id(one.id, switched[one.id])) if one.id in switched else None
        # A branch that is gone since counts for none.
        line = line if line and line.state is State.BRANCHED else None
        seen = one if line is None else presented(line)
        branch = line.branch if line else MAIN
        known = node_json(seen, compression=ratio(sizes.get(one.id)), branch=branch, now=now)
        told.append(known | _reading(one, now=now) if line is not None else known)
    return told


def _reading(memory: Memory, *, now: datetime) -> dict[str, Json]:
    """How often a memory was read is counted for all of its branches together."""
    known = node_json(memory, compression=1.0, branch=MAIN, now=now)
    return {name: known[name] for name in ("accessed", "access_count")}
