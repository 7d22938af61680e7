"""`get_memory_status`: how many entities there are of what sort, and what they take up."""

from collections.abc import Mapping
from typing import cast

from scrubjay.graph.entity import entity_of
from scrubjay.lookup.references import SoundReader
from scrubjay.model.memory import Json, State, Tier
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore

_ALL = 1 << 31
_PAGE = 2_000
_MEGABYTE = 1_000_000
_DIGITS = 4


async def memory_status(*, space: str, store: RecordStore) -> dict[str, Json]:
    """Counts by type and tier, sizes, versions."""
    found = await store.statistics(space)
    tiers = dict(await store.facet_values(space, "tier", state=State.LIVE, limit=len(Tier)))
    size = found.details.get("bytes", found.stored_bytes)
    return {
        "success": True,
        "total_entities": found.memories.get(State.LIVE.value, 0),
        "by_type": await _by_type(space=space, store=store),
        "by_tier": {tier.value: tiers.get(tier.value, 0) for tier in Tier},
        "compression": await _compression(space=space, store=store),
        "versioning": {
            "total_versions": found.versions,
            "total_branches": found.memories.get(State.BRANCHED.value, 0),
        },
        "database_size_mb": round(float(size) / _MEGABYTE, _DIGITS),
    }


def of_space(status: Mapping[str, Json]) -> dict[str, Json]:
    """What it tells of the space alone, for those to whom others are not open."""
    sizes = cast("Mapping[str, int]", status["compression"])
    return {**status, "database_size_mb": round(sizes["total_compressed"] / _MEGABYTE, _DIGITS)}


async def _by_type(*, space: str, store: RecordStore) -> dict[str, Json]:
    """How many entities there are of each type, as one of them spells it; facets are all in lower case."""
    kinds = await store.facet_values(space, "kind", state=State.LIVE, limit=_ALL)
    examples: dict[str, str] = {}
    for kind, _ in kinds:
        ids = await store.list_ids(space, Filter(kind=kind), limit=1)
        examples |= dict.fromkeys(ids, kind)
    memories = await SoundReader(store, space=space).get(list(examples))
    spelled = {examples[memory.id]: entity_of(memory).type for memory in memories}
    found: dict[str, Json] = {}
    for kind, count in kinds:
        name = spelled.get(kind, kind)
        found[name if name not in found else kind] = count
    return found


async def _compression(*, space: str, store: RecordStore) -> dict[str, Json]:
    """What the live entities of a space say, and in how much room they are kept."""
    ids = await store.list_ids(space, Filter(), limit=_ALL)
    said = stored = 0
    ratios = 0.0
    count = 0
    for first in range(0, len(ids), _PAGE):
        for plain, kept in (await store.sizes(space, ids[first : first + _PAGE])).values():
            said, stored, count = said + plain, stored + kept, count + 1
            ratios += kept / plain if plain else 1.0
    return {
        "avg_ratio": round(ratios / count, _DIGITS) if count else 0.0,
        "total_original": said,
        "total_compressed": stored,
        "savings_mb": round((said - stored) / _MEGABYTE, _DIGITS),
    }
