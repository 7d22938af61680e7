"""Who might answer: passages that share words with the question, and passages that mean something near it."""

import asyncio
from dataclasses import dataclass

from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.model.passage import StoredPassage, Vector
from scrubjay.model.query import Filter
from scrubjay.ports import Embedder, Profile, RecordStore, TermStatistics
from scrubjay.recalling.search import Searcher
from scrubjay.recalling.understand import Understood

_LEXICAL = 200
_DENSE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Passages to be ranked, with all that ranking needs; `complete` when there are no others to ask for."""

    passages: tuple[StoredPassage, ...]
    statistics: TermStatistics
    query_vector: Vector | None
    vectors: dict[bytes, Vector]
    weight: float
    complete: bool = True
    degraded: tuple[str, ...] = ()


async def gather_candidates(
    asked: Understood, *, space: str, store: RecordStore, embedder: Embedder, index: Searcher, deeper: int = 0
) -> Candidates:
    """Lexical and dense candidates; the words are looked up while the question is embedded."""
    wanted = asked.question.filter
    lexical, statistics, (profile, vector, degraded) = await asyncio.gather(
        store.lexical_candidates(space, asked.terms, wanted, limit=_LEXICAL + deeper),
        store.term_statistics(space, asked.terms, state=wanted.state),
        _embed(asked.text, embedder),
    )
    known = {passage.id: passage for passage in lexical}
    complete = len(lexical) < _LEXICAL + deeper
    if vector is not None and profile is not None:
        near, problem = await _near(vector, wanted, space=space, index=index, limit=_DENSE + deeper)
        degraded = (*degraded, *problem)
        complete = complete and len(near) < _DENSE + deeper
        fresh = [number for number in near if number not in known]
        known |= {passage.id: passage for passage in await store.stored_passages(space, fresh)}
        hashes = [passage.hash for passage in known.values()]
        vectors = await store.vectors(space, profile.model, hashes)
    else:
        vectors = {}
    return Candidates(
        passages=tuple(known.values()),
        statistics=statistics,
        query_vector=vector,
        vectors=vectors,
        weight=profile.weight if profile else 0.0,
        complete=complete,
        degraded=degraded,
    )


async def _embed(text: str, embedder: Embedder) -> tuple[Profile | None, Vector | None, tuple[str, ...]]:
    try:
        profile = await embedder.profile()
        return profile, await embedder.embed_query(text), ()
    except EmbeddingUnavailable as error:
        return None, None, (f"searched by words only: {error.message}",)


async def _near(
    vector: Vector, wanted: Filter, *, space: str, index: Searcher, limit: int
) -> tuple[list[int], tuple[str, ...]]:
    try:
        return [number for number, _ in await index.search(space, vector, wanted, limit=limit)], ()
    except IndexUnavailable as error:
        return [], (f"searched by words only: {error.message}",)
