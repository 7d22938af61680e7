"""Memories near another one by meaning: what `related` suggests."""

from collections.abc import Collection, Sequence
from datetime import datetime

from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.labels import mark_of_all
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Vector
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
        cosines = await _nearest(
            [vectors[digest] for digest in hashes if digest in vectors], least=profile.related,
            limit=_DEPTH * limit + len(related) + 1, space=memory.space, index=index,
        )  # fmt: skip
    except (EmbeddingUnavailable, IndexUnavailable):
        return ()
    best: dict[str, float] = {}
    for passage in await store.stored_passages(memory.space, list(cosines)) if cosines else []:
        best[passage.memory_id] = max(cosines.get(passage.id, 0.0), best.get(passage.memory_id, 0.0))
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


async def _nearest(
    vectors: Sequence[Vector], *, least: float, limit: int, space: str, index: PassageSearcher
) -> dict[int, float]:
    """Return the passages near any of the vectors, each with its largest cosine."""
    cosines: dict[int, float] = {}
    for vector in vectors:
        for number, cosine in await index.search(space, vector, Filter(), limit=limit):
            if cosine >= least:
                cosines[number] = max(cosine, cosines.get(number, cosine))
    return cosines
