"""`get_memory_status`: counts of entities by type and tier, and their sizes."""

from collections.abc import Mapping
from typing import cast

from scrubjay.graph.entity import entity_of
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.memory import Json, State, Tier
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore

_NO_LIMIT = 1 << 31
_PAGE = 2_000
_MEGABYTE = 1_000_000
_DIGITS = 4


async def memory_status(*, space: str, store: RecordStore) -> dict[str, Json]:
    """Return counts by type and tier, sizes and versions."""
    statistics = await store.statistics(space)
    tiers = dict(await store.facet_values(space, "tier", state=State.LIVE, limit=len(Tier)))
    size = statistics.details.get("bytes", statistics.stored_bytes)
    return {
        "success": True,
        "total_entities": statistics.memories.get(State.LIVE.value, 0),
        "by_type": await _count_types(space=space, store=store),
        "by_tier": {tier.value: tiers.get(tier.value, 0) for tier in Tier},
        "compression": await _measure_compression(space=space, store=store),
        "versioning": {
            "total_versions": statistics.versions,
            "total_branches": statistics.memories.get(State.BRANCHED.value, 0),
        },
        "database_size_mb": round(float(size) / _MEGABYTE, _DIGITS),
    }


def restrict_to_space(status: Mapping[str, Json]) -> dict[str, Json]:
    """Return the status of the space alone, for callers without access to other spaces."""
    sizes = cast("Mapping[str, int]", status["compression"])
    return {**status, "database_size_mb": round(sizes["total_compressed"] / _MEGABYTE, _DIGITS)}


async def _count_types(*, space: str, store: RecordStore) -> dict[str, Json]:
    """Count the entities of each type, spelled as one of them spells it; facets are all in lower case."""
    kinds = await store.facet_values(space, "kind", state=State.LIVE, limit=_NO_LIMIT)
    examples: dict[str, str] = {}
    for kind, _ in kinds:
        ids = await store.list_ids(space, Filter(kind=kind), limit=1)
        examples |= dict.fromkeys(ids, kind)
    memories = await TolerantReader(store, space=space).get(list(examples))
    spellings = {examples[memory.id]: entity_of(memory).type for memory in memories}
    counts: dict[str, Json] = {}
    for kind, count in kinds:
        name = spellings.get(kind, kind)
        counts[name if name not in counts else kind] = count
    return counts


async def _measure_compression(*, space: str, store: RecordStore) -> dict[str, Json]:
    """Return the original and the stored size of the live entities of a space."""
    ids = await store.list_ids(space, Filter(), limit=_NO_LIMIT)
    total_original = total_stored = count = 0
    ratios = 0.0
    for start in range(0, len(ids), _PAGE):
        for original, stored in (await store.sizes(space, ids[start : start + _PAGE])).values():
            total_original, total_stored, count = total_original + original, total_stored + stored, count + 1
            ratios += stored / original if original else 1.0
    return {
        "avg_ratio": round(ratios / count, _DIGITS) if count else 0.0,
        "total_original": total_original,
        "total_compressed": total_stored,
        "savings_mb": round((total_original - total_stored) / _MEGABYTE, _DIGITS),
    }
