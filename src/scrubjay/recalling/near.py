"""Memories near another one by meaning: what `related` suggests."""

from collections.abc import Collection, Sequence
from datetime import datetime

import numpy as np

from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.labels import mark_of_all
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Vector, cosine_similarities
from scrubjay.model.query import Filter
from scrubjay.model.relation import Suggestion
from scrubjay.ports import Embedder, PassageSearcher, RecordStore
from scrubjay.recalling.collapse import passes
from scrubjay.text.passages import passages_of

# So many passages of the memory are searched for; of a long document these are its beginning.
_MAX_SEARCHES = 4
# Groups, related memories and several passages of one memory take places among the nearest.
_DEPTH = 4


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
        near = await _search(own, limit=_DEPTH * limit + len(related) + 1, space=memory.space, index=index)
    except (EmbeddingUnavailable, IndexUnavailable):
        return ()
    passages = await store.stored_passages(memory.space, near) if near else []
    # The cosines of an index are less exact, and what else is in it may change their last decimals.
    stored = await store.vectors(memory.space, profile.model, [passage.hash for passage in passages])
    best: dict[str, float] = {}
    for passage in passages:
        cosine = _cosine(stored.get(passage.hash), own)
        if cosine >= max(profile.related, best.get(passage.memory_id, 0.0)):
            best[passage.memory_id] = cosine
    ranked = sorted(best, key=lambda memory_id: (-best[memory_id], memory_id))
    others = await TolerantReader(store, space=memory.space).get(ranked)
    groups = {memory.group} - {""}
    suggestions: list[Suggestion] = []
    for other in sorted(others, key=lambda each: ranked.index(each.id)):
        if other.id in (memory.id, *related) or other.group in groups or not passes(other, Filter(), now=now):
            continue
        groups |= {other.group} - {""}
        suggestions.append(
            Suggestion(
                id=other.id, name=other.name, title=other.title, kind=other.kind, similarity=round(best[other.id], 3),
                mark=mark_of_all(other),
            )
        )  # fmt: skip
    return tuple(suggestions[:limit])


async def _search(vectors: Sequence[Vector], *, limit: int, space: str, index: PassageSearcher) -> list[int]:
    """Return the passages nearest to any of the vectors."""
    hits = [hit for vector in vectors for hit in await index.search(space, vector, Filter(), limit=limit)]
    return list(dict.fromkeys(number for number, _ in hits))


def _cosine(vector: Vector | None, own: Sequence[Vector]) -> float:
    """Return the cosine of a vector and the nearest of some others; 0 without one."""
    return 0.0 if vector is None else float(cosine_similarities(np.stack(own), vector).max())
