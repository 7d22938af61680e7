"""Memories near another one by meaning: what `related` suggests."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import numpy as np

from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.labels import mark_of_all
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Vector, cosine_similarities
from scrubjay.model.query import Filter
from scrubjay.model.relation import Suggestion
from scrubjay.ports import Embedder, PassageSearcher, Profile, RecordStore
from scrubjay.recalling.collapse import passes
from scrubjay.text.passages import passages_of

# So many passages of the memory are searched for; of a long document these are its beginning.
_MAX_SEARCHES = 4
# Groups, related memories and several passages of one memory take places among the nearest: so many times the limit.
_DEPTHS = (4, 16, 64)


async def suggest(
    memory: Memory,
    *,
    related: Collection[str],
    limit: int,
    now: datetime,
    store: RecordStore,
    index: PassageSearcher,
    embedder: Embedder,
) -> tuple[Suggestion, ...]:
    """Return the memories nearest to one by meaning, without those that are related to it; none without a model."""
    try:
        profile = await embedder.profile()
        hashes = [passage.hash for passage in passages_of(memory, with_terms=False)[:_MAX_SEARCHES]]
        vectors = await store.vectors(memory.space, profile.model, hashes)
        own = [vectors[digest] for digest in hashes if digest in vectors]
        suggestions: list[Suggestion] = []
        for depth in _DEPTHS:
            most = depth * limit + len(related) + 1
            near, is_complete = await _search(own, least=profile.related, limit=most, space=memory.space, index=index)
            best = await _best(near, own, space=memory.space, profile=profile, store=store)
            suggestions = await _suggestions(memory, best, related=related, now=now, store=store)
            # More than are returned: which of them are the first is decided by their exact order.
            if is_complete or len(suggestions) >= 2 * limit:
                break
    except (EmbeddingUnavailable, IndexUnavailable):
        return ()
    return tuple(suggestions[:limit])


async def _best(
    near: Sequence[int], own: Sequence[Vector], *, space: str, profile: Profile, store: RecordStore
) -> dict[str, float]:
    """Return the memories of passages with their cosines, the nearest first."""
    passages = await store.stored_passages(space, near) if near else []
    # The cosines of an index are less exact, and what else is in it may change their last decimals.
    stored = await store.vectors(space, profile.model, [passage.hash for passage in passages])
    best: dict[str, float] = {}
    for passage in passages:
        cosine = _cosine(stored.get(passage.hash), own)
        if cosine >= max(profile.related, best.get(passage.memory_id, 0.0)):
            best[passage.memory_id] = cosine
    return dict(sorted(best.items(), key=lambda item: (-item[1], item[0])))


async def _suggestions(
    memory: Memory, best: Mapping[str, float], *, related: Collection[str], now: datetime, store: RecordStore
) -> list[Suggestion]:
    """Return what may be suggested of some memories, the best first, one of each group."""
    others = {other.id: other for other in await TolerantReader(store, space=memory.space).get(list(best))}
    groups = {memory.group} - {""}
    suggestions: list[Suggestion] = []
    for other in (others[memory_id] for memory_id in best if memory_id in others):
        if other.id in (memory.id, *related) or other.group in groups or not passes(other, Filter(), now=now):
            continue
        groups |= {other.group} - {""}
        suggestions.append(
            Suggestion(
                id=other.id, name=other.name, title=other.title, kind=other.kind, similarity=round(best[other.id], 3),
                mark=mark_of_all(other),
            )
        )  # fmt: skip
    return suggestions


async def _search(
    vectors: Sequence[Vector], *, least: float, limit: int, space: str, index: PassageSearcher
) -> tuple[list[int], bool]:
    """Return the passages nearest to any of the vectors, and whether all that are near enough are among them."""
    hit_lists = [await index.search(space, vector, Filter(), limit=limit) for vector in vectors]
    is_complete = all(len(hits) < limit or hits[-1][1] < least for hits in hit_lists)
    return list(dict.fromkeys(number for hits in hit_lists for number, _ in hits)), is_complete


def _cosine(vector: Vector | None, own: Sequence[Vector]) -> float:
    """Return the cosine of a vector and the nearest of some others; 0 without one."""
    return 0.0 if vector is None else float(cosine_similarities(np.stack(own), vector).max())
