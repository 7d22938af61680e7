"""Who might answer: passages that share words with the question, and passages that mean something near it."""

import asyncio
import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scrubjay import telemetry
from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.model.passage import StoredPassage, Vector, cosines_of
from scrubjay.model.query import Filter
from scrubjay.ports import Embedder, Lexicon, RecordStore, TermStatistics, VectorShelf
from scrubjay.recalling.search import Searcher
from scrubjay.recalling.understand import Understood

_LEXICAL = 200
_DENSE = 48
# So many of both are read and ranked.
_RANKED = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Passages to be ranked, with all that ranking needs; `complete` when there are no others to ask for."""

    passages: tuple[StoredPassage, ...]
    statistics: TermStatistics
    cosines: dict[int, float]
    weight: float
    complete: bool = True
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Near:
    """Passages by meaning, and what is needed to compare others in the same way."""

    model: str = ""
    vector: Vector | None = None
    weight: float = 0.0
    cosines: dict[int, float] = field(default_factory=dict[int, float])
    degraded: tuple[str, ...] = ()


async def gather_candidates(
    asked: Understood, *, space: str, store: RecordStore, embedder: Embedder, index: Searcher, deeper: int = 0
) -> Candidates:
    """Lexical and dense candidates; the words are looked up while the question is embedded and searched."""
    wanted = asked.question.filter
    (statistics, lexical), near = await asyncio.gather(
        _look_up(asked.terms, wanted, space=space, lexicon=store, limit=_LEXICAL + deeper),
        _near(asked.text, wanted, space=space, embedder=embedder, index=index, limit=_DENSE + deeper),
    )
    numbers = _promising(lexical, near, limit=_RANKED + deeper)
    with telemetry.stage("recall.passages"):
        passages = await store.stored_passages(space, numbers)
        far = [passage for passage in passages if passage.id not in near.cosines]
        cosines = near.cosines | await _compare(near, far, space=space, shelf=store)
    complete = (
        len(lexical) < _LEXICAL + deeper and len(near.cosines) < _DENSE + deeper and len(numbers) < _RANKED + deeper
    )
    return Candidates(
        passages=tuple(passages),
        statistics=statistics,
        cosines=cosines,
        weight=near.weight,
        complete=complete,
        degraded=near.degraded,
    )


async def _look_up(
    terms: Sequence[str], wanted: Filter, *, space: str, lexicon: Lexicon, limit: int
) -> tuple[TermStatistics, dict[int, float]]:
    with telemetry.stage("recall.lexical"):
        statistics = await lexicon.term_statistics(space, terms, state=wanted.state)
        return statistics, dict(await lexicon.lexical_candidates(space, terms, wanted, limit=limit))


async def _near(text: str, wanted: Filter, *, space: str, embedder: Embedder, index: Searcher, limit: int) -> _Near:
    """Embedded, then searched by meaning; without a model or an index, words must do."""
    try:
        with telemetry.stage("recall.embed"):
            profile = await embedder.profile()
            vector = await embedder.embed_query(text)
    except EmbeddingUnavailable as error:
        return _Near(degraded=(f"searched by words only: {error.message}",))
    near = _Near(model=profile.model, vector=vector, weight=profile.weight)
    try:
        with telemetry.stage("recall.dense"):
            return replace(near, cosines=dict(await index.search(space, vector, wanted, limit=limit)))
    except IndexUnavailable as error:
        return replace(near, degraded=(f"searched by words only: {error.message}",))


def _promising(lexical: dict[int, float], near: _Near, *, limit: int) -> list[int]:
    """Those that may score best: what a list does not name is at most as good as the last that it names."""
    words, meaning = min(lexical.values(), default=0.0), min(near.cosines.values(), default=0.0)
    hopes = {
        number: lexical.get(number, words) + near.weight * near.cosines.get(number, meaning)
        for number in dict.fromkeys([*lexical, *near.cosines])
    }
    return heapq.nlargest(limit, hopes, key=hopes.__getitem__)


async def _compare(
    near: _Near, passages: Sequence[StoredPassage], *, space: str, shelf: VectorShelf
) -> dict[int, float]:
    """How near passages are that the index did not name: their vectors are read from the store."""
    if near.vector is None or not passages:
        return {}
    vectors = await shelf.vectors(space, near.model, [passage.hash for passage in passages])
    embedded = [passage for passage in passages if passage.hash in vectors]
    if not embedded:
        return {}
    matrix = np.stack([vectors[passage.hash] for passage in embedded])
    return dict(zip((passage.id for passage in embedded), cosines_of(matrix, near.vector).tolist(), strict=True))
