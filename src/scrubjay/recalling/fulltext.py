"""`search_text`: memories that contain words, prefixes and phrases, best first, each with a snippet.

The lexical index names the memories with the most matches; the best of them are read and scored by their fields, of
which a title counts more than a text. The cost depends on how many memories have the rarest word, not on their total.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from scrubjay import telemetry
from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.checks import require_integer, wrong_type
from scrubjay.model.draft import Limits
from scrubjay.model.labels import mark_of_all
from scrubjay.model.memory import Memory
from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter, TextHit, TextsFound
from scrubjay.model.requests import SearchTextRequest
from scrubjay.ports import LexicalMatch, RecordStore
from scrubjay.recalling.collapse import passes
from scrubjay.recalling.query_terms import expand_filter, idf
from scrubjay.recalling.substring import find_containing
from scrubjay.recalling.text_cache import TextCaches
from scrubjay.text.clauses import (
    Clause,
    ParsedSearch,
    count_matches,
    find_matches,
    parse_clauses,
    phrase_pattern,
    stems_with_prefix,
)
from scrubjay.text.scripts import WORD, fold
from scrubjay.text.snippets import snippet_of

# The index names so many memories, of which the best are read; of equal ones, the newest.
_MAX_NAMED = 500
_MIN_READ, _MAX_READ = 16, 400
# A prefix stands for so many terms, the most common.
_MAX_PREFIX_TERMS = 128
# The terms of the title and of the tags are in the first characters of a passage.
_HEADER_CHARS = 90
_MIN_USUAL_LENGTH = 20.0
# Of a longer text only the best passage is searched for a snippet.
_MAX_SNIPPET_SOURCE = 50_000
# Longer texts together are scored in a thread.
_THREAD_THRESHOLD = 500_000
_MAX_LABEL = 60
_PARTIAL = "no memory has all of it"
_SATURATION = 1.2
# However long a text is, a word in it counts no less than in one of so many times the usual length.
_MAX_RELATIVE_LENGTH = 5.0
# Words in the order of the query close this share of the gap to a perfect score.
_EQUALS_TITLE, _IN_TITLE, _IN_TEXT = 0.6, 0.3, 0.15


class _FieldWeight(NamedTuple):
    """The weight of a word in a field, the usual length of the field, and the effect of its length."""

    weight: float
    usual_length: float
    length_effect: float


_FIELD_WEIGHTS = {
    "title": _FieldWeight(6.0, 8.0, 0.4),
    "tags": _FieldWeight(3.5, 6.0, 0.2),
    "category": _FieldWeight(3.0, 3.0, 0.2),
    "entity": _FieldWeight(3.0, 3.0, 0.2),
    "observations": _FieldWeight(1.1, 0.0, 0.3),
    "content": _FieldWeight(1.0, 0.0, 0.3),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TermScale:
    """The weight of each clause, higher for rarer ones, and the usual length of texts."""

    weights: tuple[float, ...]
    usual_length: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldScore:
    """The score of a memory from 0 to 1, the fields that match, and which clauses it has."""

    score: float
    fields: tuple[str, ...]
    has_clause: tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """A parsed search in one space: its clauses, and the groups of terms of which one each must match."""

    query: ParsedSearch
    filter: Filter
    groups: tuple[tuple[str, ...], ...]
    # The same terms, and the terms of phrases, as they occur in the terms of a passage.
    padded_groups: tuple[tuple[str, ...], ...]
    phrases: tuple[str, ...]
    scale: TermScale
    now: datetime
    reader: TolerantReader[RecordStore]

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The clauses that must match."""
        return self.query.included


class _Candidate(NamedTuple):
    """A memory that may match: its number of matching groups and phrases, and how to order equal ones."""

    id: str
    match_count: int = 0
    tie_break: tuple[int, int] = (0, 0)
    passage: StoredPassage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScoredMemory:
    memory: Memory
    score: FieldScore


async def search_text(
    request: SearchTextRequest,
    *,
    spaces: Sequence[str],
    now: datetime,
    limits: Limits,
    store: RecordStore,
    text_caches: TextCaches,
) -> TextsFound:
    """Return the memories of some spaces that match a full-text query, best first."""
    _check(request, limits=limits)
    if len(spaces) == 1:
        return await _search_space(request, space=spaces[0], now=now, store=store, text_caches=text_caches)
    count = request.offset + request.limit
    whole = replace(request, offset=0, limit=count)
    results = [
        await _search_space(whole, space=space, now=now, store=store, text_caches=text_caches) for space in spaces
    ]
    # A memory that misses more words than others is no better for being in another space.
    fewest_missing = min((len(hit.missing) for result in results for hit in result.hits), default=0)
    hits = [hit for result in results for hit in result.hits if len(hit.missing) == fewest_missing]
    hits.sort(key=lambda hit: (-hit.score, -hit.updated_at.timestamp(), hit.id))
    degraded = [
        reason for result in results for reason in result.degraded if fewest_missing or not reason.startswith(_PARTIAL)
    ]
    return TextsFound(
        hits=tuple(hits[request.offset : count]),
        more=len(hits) > count or any(result.more for result in results),
        degraded=tuple(dict.fromkeys(degraded)),
        words=results[0].words,
    )


def has_any(memory: Memory, clauses: Sequence[Clause], *, now: datetime) -> bool:
    """Return whether a memory matches one of some clauses."""
    return bool(clauses) and any(
        any(count_matches(text, clauses)[0]) for text in _field_texts(memory, now=now).values()
    )


def score_fields(memory: Memory, clauses: Sequence[Clause], scale: TermScale, *, now: datetime) -> FieldScore:
    """Score a memory by BM25 over all of its fields."""
    texts = _field_texts(memory, now=now)
    weighted_counts = [0.0] * len(clauses)
    fields: list[str] = []
    for name, text in texts.items():
        counts, length = count_matches(text, clauses)
        if any(counts):
            fields.append(name)
            field = _FIELD_WEIGHTS[name]
            relative_length = min(_MAX_RELATIVE_LENGTH, length / (field.usual_length or scale.usual_length))
            weight = field.weight / (1 - field.length_effect + field.length_effect * relative_length)
            weighted_counts = [total + weight * count for total, count in zip(weighted_counts, counts, strict=True)]
    parts = (
        weight * count / (_SATURATION + count) for weight, count in zip(scale.weights, weighted_counts, strict=True)
    )
    score = sum(parts) / (sum(scale.weights) or 1.0)
    if all(weighted_counts):
        score += (1 - score) * _order_bonus(texts, clauses)
    return FieldScore(score=score, fields=tuple(fields), has_clause=tuple(count > 0 for count in weighted_counts))


async def _search_space(
    request: SearchTextRequest, *, space: str, now: datetime, store: RecordStore, text_caches: TextCaches
) -> TextsFound:
    query = parse_clauses(request.query)
    expanded = await expand_filter(request.filter, spaces=(space,), store=store)
    reader = TolerantReader(store, space=space)
    if not query.included:
        if query.excluded:
            raise InvalidInput("the query only excludes words", hint="Add a word to search for", field="query")
        return await _list_latest(request, expanded, now=now, reader=reader)
    with telemetry.stage("search.terms"):
        groups, scale = await _weigh_clauses(query.included, expanded, reader=reader)
    search = _Search(
        query=query,
        filter=expanded,
        groups=groups,
        padded_groups=tuple(tuple(f" {term} " for term in group) for group in groups),
        phrases=tuple(f" {' '.join(clause.running)} " for clause in query.included if len(clause.running) > 1),
        scale=scale,
        now=now,
        reader=reader,
    )
    with telemetry.stage("search.candidates"):
        candidates = await _find_candidates(search, text_caches=text_caches)
    with telemetry.stage("search.rank"):
        count = request.offset + request.limit
        ranked = await _rank(search, candidates, count=count)
    with telemetry.stage("search.show"):
        passages = {candidate.id: candidate.passage for candidate in candidates}
        page = ranked[request.offset : count]
        hits = tuple(_render_hit(match, search.clauses, passages.get(match.memory.id), now=now) for match in page)
    return TextsFound(
        hits=hits,
        more=len(ranked) > count,
        degraded=(*_describe_ignored(query), *_describe_partial(ranked), *reader.problems.values()),
        words=query.words,
    )


def _check(request: SearchTextRequest, *, limits: Limits) -> None:
    if not isinstance(request.query, str):
        raise wrong_type("query", "a text", request.query)
    size = len(request.query.encode("utf-8", "replace"))
    if size > limits.query_bytes:
        raise TooLarge(
            f"query has {size:,} bytes; the limit is {limits.query_bytes:,}",
            hint="Search for a few words",
            field="query",
            limit=limits.query_bytes,
        )
    require_integer(request.limit, field="limit", most=limits.results)
    require_integer(request.offset, field="offset", least=0, most=limits.results)


async def _weigh_clauses(
    clauses: Sequence[Clause], filter: Filter, *, reader: TolerantReader[RecordStore]
) -> tuple[tuple[tuple[str, ...], ...], TermScale]:
    """Return the groups of terms of which one each must match, and the weight of each clause."""
    store, space, state = reader.store, reader.space, filter.state
    by_prefix = {
        clause.folded: await store.terms_with_prefix(space, clause.folded, state=state, limit=_MAX_PREFIX_TERMS)
        for clause in clauses
        if clause.is_beginning
    }
    stems = {prefix: stems_with_prefix(prefix) for prefix in by_prefix}
    terms = [term for clause in clauses for term in clause.terms] + [
        stem for prefix_stems in stems.values() for stem in prefix_stems
    ]
    statistics = await store.term_statistics(space, list(dict.fromkeys(terms)), state=state)
    frequencies: Mapping[str, int] = {
        **statistics.frequencies,
        **{term: count for counted in by_prefix.values() for term, count in counted},
    }
    groups: dict[tuple[str, ...], None] = {}
    weights: list[float] = []
    for clause in clauses:
        own: list[tuple[str, ...]] = [(term,) for term in clause.terms]
        if clause.is_beginning:
            beginning = (*(term for term, _ in by_prefix[clause.folded]), *stems[clause.folded])
            own.append(tuple(dict.fromkeys(term for term in beginning if frequencies.get(term))))
        groups |= dict.fromkeys(group for group in own if group)
        counts = [sum(frequencies.get(term, 0) for term in group) for group in own]
        passages = statistics.passages
        weights.append(idf(passages, max(1, min(passages, *counts))) if counts and passages else 1.0)
    usual = max(_MIN_USUAL_LENGTH, statistics.total_length / max(1, statistics.passages))
    return tuple(groups), TermScale(weights=tuple(weights), usual_length=usual)


async def _find_candidates(search: _Search, *, text_caches: TextCaches) -> list[_Candidate]:
    """Return memories that may match, the likeliest first."""
    store, space = search.reader.store, search.reader.space
    if not search.groups:
        is_hopeless = all(clause.terms or clause.is_beginning for clause in search.clauses)
        return [] if is_hopeless else await _scan_texts(search, text_caches=text_caches)
    matches = await store.memories_matching(space, search.groups, search.filter, limit=_MAX_NAMED)
    stored = await store.stored_passages(space, [match.passage for match in matches])
    passages = {passage.id: passage for passage in stored}
    candidates = [_candidate(match, passages[match.passage], search) for match in matches if match.passage in passages]
    candidates.sort(key=lambda candidate: (candidate.match_count, candidate.tie_break), reverse=True)
    if len(matches) < _MAX_NAMED:
        return candidates
    # A memory with exactly this name is among the best, however many newer ones have the same words.
    handles = await store.find(space, search.query.words, state=search.filter.state)
    named = {handle.id for handle in handles}
    return [
        *(_Candidate(id=memory_id, match_count=candidates[0].match_count) for memory_id in named),
        *(candidate for candidate in candidates if candidate.id not in named),
    ]


def _candidate(match: LexicalMatch, passage: StoredPassage, search: _Search) -> _Candidate:
    """Estimate a memory by its passage with the most matches."""
    header = f" {passage.terms[:_HEADER_CHARS]} "
    header_matches = sum(any(term in header for term in group) for group in search.padded_groups)
    phrases = sum(phrase in f" {passage.terms} " for phrase in search.phrases)
    # Of equal ones the newest comes first: it has the higher number.
    return _Candidate(
        id=passage.memory_id,
        match_count=match.groups + phrases,
        tie_break=(header_matches, passage.id),
        passage=passage,
    )


async def _scan_texts(search: _Search, *, text_caches: TextCaches) -> list[_Candidate]:
    """Search the texts themselves for words that every text has and therefore no index."""
    text = min((clause.text for clause in search.clauses if not clause.terms), key=len)
    matches = await find_containing(
        text, state=search.filter.state, space=search.reader.space, store=search.reader.store, text_caches=text_caches
    )
    return [_Candidate(id=memory_id) for memory_id in reversed(matches.ids)]


async def _rank(search: _Search, candidates: Sequence[_Candidate], *, count: int) -> list[_ScoredMemory]:
    """Return the best candidates: those that have all clauses, or else the most; and one more than requested."""
    scored: list[_ScoredMemory] = []
    best: list[_ScoredMemory] = []
    limit, size = max(_MAX_READ, 2 * count), _MIN_READ + 2 * count
    for start in range(0, min(len(candidates), limit), size):
        # A candidate with fewer matches in the index than the best ones is no better than they are.
        if len(best) > count or (best and candidates[start].match_count < candidates[0].match_count):
            break
        memories = await search.reader.get([candidate.id for candidate in candidates[start : start + size]])
        is_long = sum(len(memory.content) for memory in memories) > _THREAD_THRESHOLD
        scored += await asyncio.to_thread(_score, search, memories) if is_long else _score(search, memories)
        most = max((sum(match.score.has_clause) for match in scored), default=0)
        best = [match for match in scored if sum(match.score.has_clause) == most]
    return sorted(
        best,
        key=lambda match: (-round(match.score.score, 4), -match.memory.updated_at.timestamp(), match.memory.id),
    )


def _score(search: _Search, memories: Sequence[Memory]) -> list[_ScoredMemory]:
    scored: list[_ScoredMemory] = []
    now, unwanted = search.now, search.query.excluded
    for memory in memories:
        if passes(memory, search.filter, now=now) and not has_any(memory, unwanted, now=now):
            score = score_fields(memory, search.clauses, search.scale, now=now)
            scored += [_ScoredMemory(memory=memory, score=score)] if any(score.has_clause) else []
    return scored


def _field_texts(memory: Memory, *, now: datetime) -> Mapping[str, str]:
    texts = {
        "title": memory.title or memory.name,
        "tags": "\n".join(memory.tags),
        "category": memory.category,
        "entity": memory.entity,
        "observations": "\n".join(observation.text for observation in memory.current_observations(now)),
        "content": memory.content,
    }
    return {name: text for name, text in texts.items() if text}


def _order_bonus(texts: Mapping[str, str], clauses: Sequence[Clause]) -> float:
    """Return the bonus for words in the order of the query."""
    words = WORD.findall(fold(" ".join(clause.text.rstrip("*") for clause in clauses)).replace("_", " "))
    title = fold(texts.get("title", ""))
    if WORD.findall(title.replace("_", " ")) == words:
        return _EQUALS_TITLE
    pattern = phrase_pattern(words) if len(words) > 1 else None
    if pattern is None:
        return 0.0
    if pattern.search(title):
        return _IN_TITLE
    return _IN_TEXT if pattern.search(fold(texts.get("content", ""))) else 0.0


def _render_hit(
    match: _ScoredMemory, clauses: Sequence[Clause], passage: StoredPassage | None, *, now: datetime
) -> TextHit:
    memory, score = match.memory, match.score
    return TextHit(
        id=memory.id,
        name=memory.name,
        title=memory.label,
        score=round(score.score, 4),
        snippet=_snippet(memory, clauses, passage, now=now),
        updated_at=memory.updated_at,
        matched=score.fields,
        missing=tuple(clause.text for clause, has in zip(clauses, score.has_clause, strict=True) if not has),
        kind=memory.kind,
        category=memory.category,
        tags=memory.tags,
        space=memory.space,
        mark=mark_of_all(memory),
    )


def _snippet(memory: Memory, clauses: Sequence[Clause], passage: StoredPassage | None, *, now: datetime) -> str:
    """Return the match in the content, or else in a current observation, or else the beginning of the memory."""
    content = memory.content
    if len(content) > _MAX_SNIPPET_SOURCE:
        is_in_content = passage is not None and passage.observation is None
        content = content[passage.start : passage.end] if is_in_content and passage else content[:_MAX_SNIPPET_SOURCE]
    places = find_matches(content, clauses)
    if places:
        return snippet_of(content, places)
    texts = [observation.text[:_MAX_SNIPPET_SOURCE] for observation in memory.current_observations(now)]
    matches = [(text, places) for text in texts if (places := find_matches(text, clauses))]
    if matches:
        return snippet_of(*max(matches, key=lambda match: len({place.clause for place in match[1]})))
    return snippet_of(content or "; ".join(texts), ())


async def _list_latest(
    request: SearchTextRequest, filter: Filter, *, now: datetime, reader: TolerantReader[RecordStore]
) -> TextsFound:
    """Return the memories that were changed last, for a query without words."""
    count = request.offset + request.limit
    memories: list[Memory] = []
    after: str | None = None
    while len(memories) <= count and (
        page := await reader.store.list_ids(reader.space, filter, limit=count + 1, after=after)
    ):
        memories += [memory for memory in await reader.get(page) if passes(memory, filter, now=now)]
        after = page[-1]
    unscored = FieldScore(score=0.0, fields=(), has_clause=())
    hits = tuple(
        _render_hit(_ScoredMemory(memory=memory, score=unscored), (), None, now=now)
        for memory in memories[request.offset : count]
    )
    reason = "the query has no words: these memories were changed last"
    return TextsFound(hits=hits, more=len(memories) > count, degraded=(reason, *reader.problems.values()))


def _describe_ignored(query: ParsedSearch) -> list[str]:
    reasons: list[str] = []
    if query.ignored:
        words = ", ".join(word[:_MAX_LABEL] for word in query.ignored[:8])
        reasons.append(f"ignored, since nearly every text has them: {words} (put them in quotes to search for them)")
    if query.too_many:
        reasons.append(f"only the first {len(query.included)} words are searched for")
    return reasons


def _describe_partial(ranked: Sequence[_ScoredMemory]) -> list[str]:
    """Report if no memory has all clauses."""
    if not ranked or all(ranked[0].score.has_clause):
        return []
    has_clause = ranked[0].score.has_clause
    return [f"{_PARTIAL}: these have {sum(has_clause)} of {len(has_clause)}"]
