"""Who might answer: passages that share words with the question, and passages that mean something near it."""

import asyncio
import heapq
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from scrubjay import telemetry
from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.model.passage import StoredPassage, Vector, cosine_similarities
from scrubjay.model.query import Filter
from scrubjay.model.ranking import Ranking
from scrubjay.ports import Embedder, RecordStore, VectorStore
from scrubjay.recalling.overlay.overlay import Overlay
from scrubjay.recalling.query_terms import QueryTerms, seek
from scrubjay.recalling.search import Searcher
from scrubjay.recalling.understand import Understood
from scrubjay.text.dates.spans import DateSpan

_LEXICAL = 200
_DENSE = 64
# So many of both are read and ranked, and two more for each hit that is asked for; each with so many neighbours on
# either side. With twice as many, no more was found.
_RANKED = 48
AROUND = 4
# Of the days that a question names so many are searched for apart, with some days around them.
_MOST_SPANS = 2
_DATED = 32
_ROUGHLY = timedelta(days=3)
_RARE, _MOST_RARE = 500, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Where one space is searched, and how; `aside` has what is told otherwise than the space has it."""

    space: str
    store: RecordStore
    embedder: Embedder
    index: Searcher
    ranking: Ranking
    aside: Overlay = field(default_factory=Overlay)


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """Passages by meaning, and what is needed to compare others in the same way."""

    model: str = ""
    vector: Vector | None = None
    weight: float = 0.0
    cosines: dict[int, float] = field(default_factory=dict[int, float])
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Passages to be ranked, those beside them, and all that ranking needs.

    `complete`: there are no others to ask for.
    """

    passages: tuple[StoredPassage, ...]
    beside: tuple[StoredPassage, ...]
    sought: QueryTerms
    near: Near
    complete: bool = True


async def gather_candidates(
    asked: Understood, *, library: Library, deeper: int = 0, among: Sequence[int] | None = None
) -> Candidates:
    """Lexical and dense candidates; the words are looked up while the question is embedded and searched.

    `among` are the numbers of the only passages in question: then all of them are candidates.
    """
    wanted, ranking = asked.question.filter, library.ranking
    (sought, lexical), near = await asyncio.gather(
        _look_up(asked, wanted, library=library, limit=0 if among is not None else _LEXICAL + deeper),
        _near(asked.text, wanted, library=library, limit=0 if among is not None else _DENSE + deeper),
    )
    complete = among is not None or (len(lexical) < _LEXICAL + deeper and len(near.cosines) < _DENSE + deeper)
    hopes = _hopes(lexical, near)
    if among is None and asked.spans:
        hopes = await _with_dated(hopes, asked, sought, near, library=library)
    numbers = among if among is not None else heapq.nlargest(_RANKED + deeper, hopes, key=hopes.__getitem__)
    with telemetry.stage("recall.passages"):
        around = AROUND if ranking.uses("context") else 0
        found = await library.store.stored_passages(library.space, numbers, around=around)
        asked_for, told = set(numbers), library.aside.told
        if told:
            found = [one for one in found if one.memory_id not in told]
        passages = tuple(one for one in found if one.id in asked_for) + _aside(library, around=around)
        beside = tuple(one for one in found if one.id not in asked_for)
        near = await compare(near, passages, library=library)
    complete = complete and (among is not None or len(numbers) < _RANKED + deeper)
    return Candidates(passages=passages, beside=beside, sought=sought, near=near, complete=complete)


def _aside(library: Library, *, around: int) -> tuple[StoredPassage, ...]:
    passages = library.aside.passages
    return passages if around else tuple(passage._replace(before=(), after=()) for passage in passages)


async def compare(near: Near, passages: Iterable[StoredPassage], *, library: Library) -> Near:
    """How near passages are that the index did not name: their vectors are read from the store."""
    if near.vector is None:
        return near
    far = list(
        {passage.id: passage for passage in passages if passage.hash and passage.id not in near.cosines}.values()
    )
    context: VectorStore = library.store
    vectors = await context.vectors(library.space, near.model, [passage.hash for passage in far]) if far else {}
    embedded = [passage for passage in far if passage.hash in vectors]
    if not embedded:
        return near
    matrix = np.stack([vectors[passage.hash] for passage in embedded])
    cosines = cosine_similarities(matrix, near.vector).tolist()
    return replace(near, cosines=near.cosines | dict(zip((one.id for one in embedded), cosines, strict=True)))


async def _look_up(
    asked: Understood, filter: Filter, *, library: Library, limit: int
) -> tuple[QueryTerms, dict[int, float]]:
    with telemetry.stage("recall.lexical"):
        store, space = library.store, library.space
        counted = library.aside.counted
        sought = await seek(asked, space=space, store=store, ranking=library.ranking, beside=counted)
        if not limit or not library.ranking.uses("words"):
            return sought, {}
        return sought, dict(await store.lexical_candidates(space, sought.terms, filter, limit=limit))


async def _near(text: str, filter: Filter, *, library: Library, limit: int) -> Near:
    """Embedded, then searched by meaning; without a model or an index, words must do."""
    if not library.ranking.uses("meaning"):
        return Near()
    try:
        with telemetry.stage("recall.embed"):
            profile = await library.embedder.profile()
            vector = await library.embedder.embed_query(text)
    except EmbeddingUnavailable as error:
        return Near(degraded=(f"searched by words only: {error.message}",))
    near = Near(model=profile.model, vector=vector, weight=profile.weight * library.ranking.weights.meaning)
    if not limit:
        return near
    try:
        with telemetry.stage("recall.dense"):
            return replace(near, cosines=dict(await library.index.search(library.space, vector, filter, limit=limit)))
    except IndexUnavailable as error:
        return replace(near, degraded=(f"searched by words only: {error.message}",))


def _hopes(lexical: Mapping[int, float], near: Near) -> dict[int, float]:
    """What each may score at best: what a list does not name is at most as good as the last that it names."""
    words, meaning = min(lexical.values(), default=0.0), min(near.cosines.values(), default=0.0)
    return {
        number: lexical.get(number, words) + near.weight * near.cosines.get(number, meaning)
        for number in dict.fromkeys([*lexical, *near.cosines])
    }


def _roughly(span: DateSpan) -> tuple[datetime, datetime]:
    """Some days more on either side, as far as there are any."""
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    since = span.start - _ROUGHLY if span.start - first > _ROUGHLY else span.start
    return since, span.end + _ROUGHLY if last - span.end > _ROUGHLY else span.end


def _rarest(sought: QueryTerms) -> list[str]:
    """The terms that few passages have, or the one that the fewest have: the date of each of them is looked at."""
    counts = sought.statistics.frequencies
    terms = sorted((term for term in sought.terms if counts.get(term)), key=counts.__getitem__)
    few = [term for term in terms if counts[term] <= _RARE]
    return few[:_MOST_RARE] or terms[:1]


async def _with_dated(
    hopes: dict[int, float], asked: Understood, sought: QueryTerms, near: Near, *, library: Library
) -> dict[int, float]:
    """Beside these, those of the days that the question names: among all the others they may not be found."""
    store, space, wanted = library.store, library.space, asked.question.filter
    found = dict(hopes)
    for span in asked.spans[:_MOST_SPANS]:
        since, until = _roughly(span)
        then = replace(
            wanted,
            since=max(since, wanted.since) if wanted.since else since,
            until=min(until, wanted.until) if wanted.until else until,
        )
        if library.ranking.uses("words"):
            lexical = dict(await store.lexical_candidates(space, _rarest(sought), then, limit=_DATED))
        else:
            lexical = {}
        dense = Near(weight=near.weight)
        if near.vector is not None:
            with suppress(IndexUnavailable):
                dense = replace(dense, cosines=dict(await library.index.search(space, near.vector, then, limit=_DATED)))
        for number, hope in _hopes(lexical, dense).items():
            found[number] = max(found.get(number, 0.0), hope + library.ranking.weights.date)
    return found
