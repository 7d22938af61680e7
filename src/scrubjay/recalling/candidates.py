"""Who might answer: passages that share words with the question, and passages that mean something near it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.model.passage import StoredPassage, Vector, cosines_of
from scrubjay.model.query import Filter
from scrubjay.ports import Embedder, Lexicon, Profile, RecordStore, TermStatistics, VectorShelf
from scrubjay.recalling.search import Searcher
from scrubjay.recalling.understand import Understood

_LEXICAL = 96
_DENSE = 64
# So many passages that only their words brought are also compared by meaning; the rest rank below them anyway.
_COMPARED = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Passages to be ranked, with all that ranking needs; `complete` when there are no others to ask for."""

    passages: tuple[StoredPassage, ...]
    statistics: TermStatistics
    cosines: dict[int, float]
    weight: float
    complete: bool = True
    degraded: tuple[str, ...] = ()


async def gather_candidates(
    asked: Understood, *, space: str, store: RecordStore, embedder: Embedder, index: Searcher, deeper: int = 0
) -> Candidates:
    """Lexical and dense candidates; the words are looked up while the question is embedded."""
    wanted = asked.question.filter
    # Two readings at once would only quarrel over the interpreter; the model works beside it.
    (statistics, lexical), (profile, vector, degraded) = await asyncio.gather(
        _look_up(asked.terms, wanted, space=space, lexicon=store, limit=_LEXICAL + deeper),
        _embed(asked.text, embedder),
    )
    known = {passage.id: passage for passage in lexical}
    complete = len(lexical) < _LEXICAL + deeper
    cosines: dict[int, float] = {}
    if vector is not None and profile is not None:
        cosines, problem = await _near(vector, wanted, space=space, index=index, limit=_DENSE + deeper)
        degraded = (*degraded, *problem)
        complete = complete and len(cosines) < _DENSE + deeper
        fresh = [number for number in cosines if number not in known]
        far = [passage for passage in lexical if passage.id not in cosines][: _COMPARED + deeper]
        known |= {passage.id: passage for passage in await store.stored_passages(space, fresh)}
        cosines |= await _compare(vector, far, model=profile.model, space=space, shelf=store)
    return Candidates(
        passages=tuple(known.values()),
        statistics=statistics,
        cosines=cosines,
        weight=profile.weight if profile else 0.0,
        complete=complete,
        degraded=degraded,
    )


async def _look_up(
    terms: Sequence[str], wanted: Filter, *, space: str, lexicon: Lexicon, limit: int
) -> tuple[TermStatistics, list[StoredPassage]]:
    statistics = await lexicon.term_statistics(space, terms, state=wanted.state)
    return statistics, await lexicon.lexical_candidates(space, terms, wanted, limit=limit)


async def _embed(text: str, embedder: Embedder) -> tuple[Profile | None, Vector | None, tuple[str, ...]]:
    try:
        profile = await embedder.profile()
        return profile, await embedder.embed_query(text), ()
    except EmbeddingUnavailable as error:
        return None, None, (f"searched by words only: {error.message}",)


async def _near(
    vector: Vector, wanted: Filter, *, space: str, index: Searcher, limit: int
) -> tuple[dict[int, float], tuple[str, ...]]:
    try:
        return dict(await index.search(space, vector, wanted, limit=limit)), ()
    except IndexUnavailable as error:
        return {}, (f"searched by words only: {error.message}",)


async def _compare(
    vector: Vector, passages: Sequence[StoredPassage], *, model: str, space: str, shelf: VectorShelf
) -> dict[int, float]:
    """How near passages are that the index did not name: their vectors are read from the store."""
    if not passages:
        return {}
    vectors = await shelf.vectors(space, model, [passage.hash for passage in passages])
    embedded = [passage for passage in passages if passage.hash in vectors]
    if not embedded:
        return {}
    matrix = np.stack([vectors[passage.hash] for passage in embedded])
    return dict(zip((passage.id for passage in embedded), cosines_of(matrix, vector).tolist(), strict=True))
