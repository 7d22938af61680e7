"""Third stage: gather candidate passages, by shared words and by near meaning."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from math import isfinite

import numpy as np

from scrubjay import telemetry
from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.passage import (
    AROUND,
    PassageColumns,
    PassageList,
    StoredPassage,
    Vector,
    cosine_similarities,
)
from scrubjay.model.query import Filter
from scrubjay.model.ranking import Ranking
from scrubjay.ports import Embedder, PassageSearcher, RecordStore, VectorStore
from scrubjay.recalling.overlay.overlay import Overlay
from scrubjay.recalling.projects import ProjectOrder
from scrubjay.recalling.query_terms import QueryTerms, expand_terms
from scrubjay.recalling.understand import ParsedQuery

_LEXICAL_LIMIT = 200
DENSE_LIMIT = 64
"""So many passages near in meaning are found, plus two for each requested hit."""
# So many of both are read and ranked, plus two for each requested hit. Twice as many did not improve recall.
_RANKED_LIMIT = 48
# So many spans of days that a question names are searched separately, with some days around each.
_MAX_SPANS = 2
# So many passages of such days, or of the caller's project, are added.
_PART_LIMIT = 32
_DAYS_AROUND = timedelta(days=7)
_RARE_FREQUENCY, _MAX_RARE_TERMS = 500, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSearch:
    """How one space is searched; the overlay has the memories that the question sees differently."""

    space: str
    store: RecordStore
    embedder: Embedder
    index: PassageSearcher
    ranking: Ranking
    overlay: Overlay = field(default_factory=Overlay)


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseMatches:
    """Cosines of passages by number, and the question's vector, to compare other passages in the same way."""

    model: str = ""
    vector: Vector | None = None
    weight: float = 0.0
    cosines: dict[int, float] = field(default_factory=dict[int, float])
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Passages to rank, the passages around them, and the input of the ranking.

    `is_complete`: a deeper search would find no others.
    """

    passages: Sequence[StoredPassage]
    neighbours: Sequence[StoredPassage]
    terms: QueryTerms
    dense: DenseMatches
    # The columns of both, if the store has them ready.
    columns: PassageColumns | None = None
    is_complete: bool = True


async def gather_candidates(
    query: ParsedQuery, *, search: SpaceSearch, deeper: int = 0, numbers: Sequence[int] | None = None
) -> Candidates:
    """Return lexical and dense candidates; the lexical search runs while the question is embedded and searched.

    With `numbers`, exactly these passages are the candidates. `deeper` adds to the limits of all searches.
    """
    is_given = numbers is not None
    searching = asyncio.create_task(_search_dense(query, search=search, limit=0 if is_given else DENSE_LIMIT + deeper))
    try:
        # The model begins, and works while words are searched.
        await asyncio.sleep(0)
        terms, lexical = await _search_lexical(query, search=search, limit=0 if is_given else _LEXICAL_LIMIT + deeper)
        dense = await searching
    finally:
        searching.cancel()
    is_complete = is_given
    if numbers is None:
        question = query.question
        is_partial = len(lexical) >= _LEXICAL_LIMIT + deeper or len(dense.cosines) >= DENSE_LIMIT + deeper
        adds_own = is_partial and bool(question.from_project) and not question.filter.project
        # What is added raises others too.
        is_extended = adds_own or bool(query.spans)
        bounds = _upper_bounds(lexical, dense, limit=None if is_extended else _RANKED_LIMIT + deeper)
        if query.spans:
            bounds = await _add_dated(bounds, query, terms, dense, search=search)
        if adds_own:
            bounds = await _add_own(bounds, query, terms, dense, search=search)
        numbers = sorted(bounds, key=bounds.__getitem__, reverse=True)[: _RANKED_LIMIT + deeper]
        is_complete = (
            len(lexical) < _LEXICAL_LIMIT + deeper
            and len(dense.cosines) < DENSE_LIMIT + deeper
            and len(numbers) < _RANKED_LIMIT + deeper
        )
    with telemetry.stage("recall.passages"):
        passages, neighbours, columns = await _read_passages(numbers, search=search)
    return Candidates(
        passages=passages, neighbours=neighbours, terms=terms, dense=dense, columns=columns, is_complete=is_complete
    )


async def compare_passages(
    dense: DenseMatches, passages: Iterable[StoredPassage], *, search: SpaceSearch
) -> DenseMatches:
    """Add the cosines of passages that the index did not return, with their vectors from the store."""
    if dense.vector is None:
        return dense
    compared = dense.cosines
    missing = {passage.id: passage.hash for passage in passages if passage.hash and passage.id not in compared}
    store: VectorStore = search.store
    vectors = await store.vectors(search.space, dense.model, [*missing.values()]) if missing else {}
    length = len(dense.vector)
    embedded = {
        number: vector
        for number, digest in missing.items()
        if (vector := vectors.get(digest)) is not None and len(vector) == length
    }
    if not embedded:
        return dense
    # Faster than `np.stack`, which looks at each.
    matrix = np.concatenate([*embedded.values()]).reshape(len(embedded), -1)
    cosines: list[float] = cosine_similarities(matrix, dense.vector).tolist()
    valid = dict(zip(embedded, cosines, strict=True))
    if not isfinite(sum(cosines)):
        # A damaged vector has no cosine.
        valid = {number: cosine for number, cosine in valid.items() if isfinite(cosine)}
    return _with_cosines(dense, compared | valid)


async def _search_lexical(
    query: ParsedQuery, *, search: SpaceSearch, limit: int
) -> tuple[QueryTerms, dict[int, float]]:
    with telemetry.stage("recall.lexical"):
        store, space = search.store, search.space
        terms = await expand_terms(
            query, space=space, store=store, ranking=search.ranking, extra=search.overlay.statistics
        )
        if not limit or not search.ranking.uses("words"):
            return terms, {}
        matches = await store.lexical_candidates(space, terms.search_terms, query.question.filter, limit=limit)
        return terms, dict(matches)


async def _search_dense(query: ParsedQuery, *, search: SpaceSearch, limit: int) -> DenseMatches:
    """Embed the question and search by its vector; without a model or an index, words have to do."""
    if not search.ranking.uses("meaning"):
        return DenseMatches()
    try:
        with telemetry.stage("recall.embed"):
            profile = await search.embedder.profile()
            vector = await search.embedder.embed_query(query.text)
    except EmbeddingUnavailable as error:
        return DenseMatches(degraded=(f"searched by words only: {error.message}",))
    dense = DenseMatches(model=profile.model, vector=vector, weight=profile.weight * search.ranking.weights.meaning)
    if not limit:
        return dense
    try:
        with telemetry.stage("recall.dense"):
            matches = await search.index.search(search.space, vector, query.question.filter, limit=limit)
    except IndexUnavailable as error:
        return replace(dense, degraded=(f"searched by words only: {error.message}",))
    return _with_cosines(dense, dict(matches))


def _with_cosines(dense: DenseMatches, cosines: dict[int, float]) -> DenseMatches:
    """Return the same matches with these cosines; `replace` would take longer."""
    return DenseMatches(
        model=dense.model, vector=dense.vector, weight=dense.weight, cosines=cosines, degraded=dense.degraded
    )


def _upper_bounds(lexical: Mapping[int, float], dense: DenseMatches, *, limit: int | None = None) -> dict[int, float]:
    """Return the best possible score of each passage: one that a search misses scores at most as its last match.

    With a `limit`, those that cannot be among so many best ones are left out: the first lexical matches are the best.
    """
    cosines, weight = dense.cosines, dense.weight
    words, meaning = min(lexical.values(), default=0.0), weight * min(cosines.values(), default=0.0)
    if limit is None:
        bounds = {number: score + meaning for number, score in lexical.items()}
    else:
        bounds = {number: score + meaning for number, score in islice(lexical.items(), limit)}
        # In the order of the matches, which decides among equals.
        bounds |= {number: 0.0 for number in islice(lexical, limit, None) if number in cosines}
    bounds |= {number: lexical.get(number, words) + weight * cosine for number, cosine in cosines.items()}
    return bounds


async def _add_dated(
    bounds: dict[int, float], query: ParsedQuery, terms: QueryTerms, dense: DenseMatches, *, search: SpaceSearch
) -> dict[int, float]:
    """Add passages of the days that the question names: among all others they may be missed."""
    criteria = query.question.filter
    extended = dict(bounds)
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    for span in query.spans[:_MAX_SPANS]:
        # Some days more on either side, within the range of datetime.
        since = span.start - _DAYS_AROUND if span.start - first > _DAYS_AROUND else span.start
        until = span.end + _DAYS_AROUND if last - span.end > _DAYS_AROUND else span.end
        dated = replace(
            criteria,
            since=max(since, criteria.since) if criteria.since else since,
            until=min(until, criteria.until) if criteria.until else until,
        )
        matches = await _search_part(dated, _rarest_terms(terms), dense, search=search)
        for number, bound in matches.items():
            extended[number] = max(extended.get(number, 0.0), bound + search.ranking.weights.date)
    return extended


async def _add_own(
    bounds: dict[int, float], query: ParsedQuery, terms: QueryTerms, dense: DenseMatches, *, search: SpaceSearch
) -> dict[int, float]:
    """Add passages of the caller's project: among those of others they may be missed."""
    own = replace(query.question.filter, project=ProjectOrder.of(query.question).project)
    matches = await _search_part(own, terms.search_terms, dense, search=search)
    # They keep their scores where others lose.
    ahead = max(0.0, -search.ranking.weights.foreign)
    return bounds | {number: max(bounds.get(number, 0.0), bound) + ahead for number, bound in matches.items()}


async def _search_part(
    criteria: Filter, terms: Sequence[str], dense: DenseMatches, *, search: SpaceSearch
) -> dict[int, float]:
    """Search a part of the space; return the best possible score of each passage."""
    lexical: Mapping[int, float] = {}
    if search.ranking.uses("words"):
        lexical = dict(await search.store.lexical_candidates(search.space, terms, criteria, limit=_PART_LIMIT))
    nearest = DenseMatches(weight=dense.weight)
    if dense.vector is not None:
        with suppress(IndexUnavailable):
            matches = await search.index.search(search.space, dense.vector, criteria, limit=_PART_LIMIT)
            nearest = replace(nearest, cosines=dict(matches))
    return _upper_bounds(lexical, nearest)


def _rarest_terms(terms: QueryTerms) -> list[str]:
    """Return the terms that few passages have, or else the rarest: the date of each passage is tested."""
    counts = terms.statistics.frequencies
    by_frequency = sorted((term for term in terms.search_terms if counts.get(term)), key=counts.__getitem__)
    rare = [term for term in by_frequency if counts[term] <= _RARE_FREQUENCY]
    return rare[:_MAX_RARE_TERMS] or by_frequency[:1]


async def _read_passages(
    numbers: Sequence[int], *, search: SpaceSearch
) -> tuple[Sequence[StoredPassage], Sequence[StoredPassage], PassageColumns | None]:
    """Return the numbered passages with those of the overlay, the passages around them, and the columns of all."""
    around = AROUND if search.ranking.uses("context") else 0
    stored = await search.store.stored_passages(search.space, numbers, around=around)
    overlay, candidates = search.overlay, set(numbers)
    if isinstance(stored, PassageList) and not overlay.memories:
        searched_count = len(stored.columns.around)
        return stored[:searched_count], stored[searched_count:], stored.columns
    if overlay.memories:
        stored = [passage for passage in stored if passage.memory_id not in overlay.memories]
    overlaid = overlay.passages
    if not around:
        overlaid = tuple(passage._replace(before=(), after=()) for passage in overlaid)
    passages = (*(passage for passage in stored if passage.id in candidates), *overlaid)
    return passages, [passage for passage in stored if passage.id not in candidates], None
