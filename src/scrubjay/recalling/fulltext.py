"""`search_text`: memories that have words, beginnings of words and phrases, best first, with the place where they do.

The lexical index names those that have the most of it; the best of them are read and scored by their fields. What it
takes depends on how many have the rarest of what is looked for, not on how many memories there are.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from scrubjay import telemetry
from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.lookup.references import SoundReader
from scrubjay.model.checks import require_integer, wrong_type
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Memory
from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter, SearchText, TextHit, TextsFound
from scrubjay.ports import LexicalMatch, RecordStore
from scrubjay.recalling.collapse import passes
from scrubjay.recalling.field_scores import Fit, Scale, fit_of, has_any
from scrubjay.recalling.query_terms import idf
from scrubjay.recalling.spellings import with_spellings
from scrubjay.recalling.substring import contained
from scrubjay.recalling.text_cache import TextCaches
from scrubjay.text.clauses import Clause, ParsedSearch, parse_clauses, stems_with_prefix
from scrubjay.text.matching import find_matches
from scrubjay.text.snippets import snippet_of

__all__ = ["search_text"]

# So many memories are asked for by their words, of which the best are read; of those that have more, the newest.
_NAMED = 500
_READ, _MOST_READ = 16, 400
# A beginning stands for so many terms, the most common.
_MOST_TERMS = 128
# The first terms of a passage, here in characters, are those of the title and of tags.
_HEADER = 90
_LEAST_USUAL = 20.0
# Of a longer text only the passage that has the most is searched for what to show.
_LONGEST_SHOWN = 50_000
# Longer texts together are looked through where they hold nobody up.
_MUCH = 500_000
_LONGEST_LABEL = 60
_PARTLY = "no memory has all of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """One search on its way: what is looked for, in which groups of terms, and where."""

    looked: ParsedSearch
    wanted: Filter
    groups: tuple[tuple[str, ...], ...]
    # The same, and the terms of phrases one after the other, as they stand among those of a passage.
    words: tuple[tuple[str, ...], ...]
    phrases: tuple[str, ...]
    scale: Scale
    now: datetime
    reader: SoundReader

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """What is wanted."""
        return self.looked.included


class _Candidate(NamedTuple):
    """A memory that may have it: of how many groups and phrases by the index, and what speaks for it besides."""

    id: str
    has: int = 0
    hope: tuple[int, int] = (0, 0)
    passage: StoredPassage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    memory: Memory
    fit: Fit


async def search_text(
    asked: SearchText,
    *,
    spaces: Sequence[str],
    now: datetime,
    limits: Limits,
    store: RecordStore,
    text_caches: TextCaches,
) -> TextsFound:
    """The memories of some spaces that have what is looked for, best first."""
    _check(asked, limits=limits)
    if len(spaces) == 1:
        return await _search(asked, space=spaces[0], now=now, store=store, text_caches=text_caches)
    count = asked.offset + asked.limit
    whole = replace(asked, offset=0, limit=count)
    found = [await _search(whole, space=space, now=now, store=store, text_caches=text_caches) for space in spaces]
    # Who has less of it than others is no better for having it elsewhere.
    least = min((len(hit.missing) for one in found for hit in one.hits), default=0)
    hits = [hit for one in found for hit in one.hits if len(hit.missing) == least]
    hits.sort(key=lambda hit: (-hit.score, -hit.updated_at.timestamp(), hit.id))
    told = [why for one in found for why in one.degraded if least or not why.startswith(_PARTLY)]
    return TextsFound(
        hits=tuple(hits[asked.offset : count]),
        more=len(hits) > count or any(one.more for one in found),
        degraded=tuple(dict.fromkeys(told)),
        words=found[0].words,
    )


async def _search(
    asked: SearchText, *, space: str, now: datetime, store: RecordStore, text_caches: TextCaches
) -> TextsFound:
    looked = parse_clauses(asked.query)
    wanted = await with_spellings(asked.filter, spaces=(space,), store=store)
    reader = SoundReader(store, space=space)
    if not looked.included:
        if looked.excluded:
            raise InvalidInput(
                "the query says only what must not be there", hint="Add a word that is wanted", field="query"
            )
        return await _latest(asked, wanted, now=now, reader=reader)
    with telemetry.stage("search.terms"):
        groups, scale = await _weighed(looked.included, wanted, reader=reader)
    search = _Search(
        looked=looked,
        wanted=wanted,
        groups=groups,
        words=tuple(tuple(f" {term} " for term in group) for group in groups),
        phrases=tuple(f" {' '.join(one.running)} " for one in looked.included if len(one.running) > 1),
        scale=scale,
        now=now,
        reader=reader,
    )
    with telemetry.stage("search.candidates"):
        candidates = await _candidates(search, text_caches=text_caches)
    with telemetry.stage("search.rank"):
        count = asked.offset + asked.limit
        found = await _ranked(search, candidates, count=count)
    with telemetry.stage("search.show"):
        shown = {candidate.id: candidate.passage for candidate in candidates}
        page = found[asked.offset : count]
        hits = tuple(_hit(one, search.clauses, shown.get(one.memory.id), now=search.now) for one in page)
    return TextsFound(
        hits=hits,
        more=len(found) > count,
        degraded=(*_passed_over(looked), *_partly(found), *reader.problems.values()),
        words=looked.words,
    )


def _check(asked: SearchText, *, limits: Limits) -> None:
    if not isinstance(asked.query, str):
        raise wrong_type("query", "a text", asked.query)
    size = len(asked.query.encode("utf-8", "replace"))
    if size > limits.query_bytes:
        raise TooLarge(
            f"query has {size:,} bytes; the limit is {limits.query_bytes:,}",
            hint="Look for a few words",
            field="query",
            limit=limits.query_bytes,
        )
    require_integer(asked.limit, field="limit", most=limits.results)
    require_integer(asked.offset, field="offset", least=0, most=limits.results)


async def _weighed(
    clauses: Sequence[Clause], filter: Filter, *, reader: SoundReader
) -> tuple[tuple[tuple[str, ...], ...], Scale]:
    """The groups of terms of which one each must be there, and what each clause tells."""
    store, space, state = reader.store, reader.space, filter.state
    begun = {
        clause.folded: await store.terms_with_prefix(space, clause.folded, state=state, limit=_MOST_TERMS)
        for clause in clauses
        if clause.is_beginning
    }
    forms = {one: stems_with_prefix(one) for one in begun}
    plain = [term for clause in clauses for term in clause.terms] + [
        one for several in forms.values() for one in several
    ]
    known = await store.term_statistics(space, list(dict.fromkeys(plain)), state=state)
    frequencies: Mapping[str, int] = {**known.frequencies, **dict(one for several in begun.values() for one in several)}
    groups: dict[tuple[str, ...], None] = {}
    worth: list[float] = []
    for clause in clauses:
        own: list[tuple[str, ...]] = [(term,) for term in clause.terms]
        if clause.is_beginning:
            terms = (*(term for term, _ in begun[clause.folded]), *forms[clause.folded])
            own.append(tuple(dict.fromkeys(term for term in terms if frequencies.get(term))))
        groups |= dict.fromkeys(group for group in own if group)
        having = [sum(frequencies.get(term, 0) for term in group) for group in own]
        worth.append(idf(known.passages, max(1, min(known.passages, *having))) if having and known.passages else 1.0)
    usual = max(_LEAST_USUAL, known.total_length / max(1, known.passages))
    return tuple(groups), Scale(worth=tuple(worth), usual=usual)


async def _candidates(search: _Search, *, text_caches: TextCaches) -> list[_Candidate]:
    """Memories that may have it, the likeliest first."""
    reader = search.reader
    if not search.groups:
        is_lost = all(clause.terms or clause.is_beginning for clause in search.clauses)
        return [] if is_lost else await _containing(search, text_caches=text_caches)
    named = await reader.store.memories_matching(reader.space, search.groups, search.wanted, limit=_NAMED)
    stored = await reader.store.stored_passages(reader.space, [one.passage for one in named])
    passages = {one.id: one for one in stored}
    found = [_candidate(one, passages[one.passage], search) for one in named if one.passage in passages]
    found.sort(key=lambda one: (one.has, one.hope), reverse=True)
    if len(named) < _NAMED:
        return found
    # Whoever is called just so is among the best, however many newer ones have the same words.
    called = await reader.store.find(reader.space, search.looked.words, state=search.wanted.state)
    first = {one.id for one in called}
    return [*(_Candidate(id=one, has=found[0].has) for one in first), *(one for one in found if one.id not in first)]


def _candidate(one: LexicalMatch, passage: StoredPassage, search: _Search) -> _Candidate:
    """What a memory may be worth by the passage that has the most of it."""
    header = f" {passage.terms[:_HEADER]} "
    hope = sum(any(word in header for word in group) for group in search.words)
    phrases = sum(phrase in f" {passage.terms} " for phrase in search.phrases)
    # Of those that are as good, the newest first: it has the higher number.
    return _Candidate(id=passage.memory_id, has=one.groups + phrases, hope=(hope, passage.id), passage=passage)


async def _containing(search: _Search, *, text_caches: TextCaches) -> list[_Candidate]:
    """Words that no index has, since every text has them: the texts themselves are looked through."""
    text = min((clause.text for clause in search.clauses if not clause.terms), key=len)
    found = await contained(
        text, state=search.wanted.state, space=search.reader.space, store=search.reader.store, text_caches=text_caches
    )
    return [_Candidate(id=id_) for id_ in reversed(found.ids)]


async def _ranked(search: _Search, candidates: Sequence[_Candidate], *, count: int) -> list[_Scored]:
    """The best of the candidates: those that have all, or else those that have the most; and one more than wanted."""
    found: list[_Scored] = []
    best: list[_Scored] = []
    most, size = max(_MOST_READ, 2 * count), _READ + 2 * count
    for start in range(0, min(len(candidates), most), size):
        # Who has less of it by the index than those that were found is no better than they.
        if len(best) > count or (best and candidates[start].has < candidates[0].has):
            break
        memories = await search.reader.get([candidate.id for candidate in candidates[start : start + size]])
        is_much = sum(len(memory.content) for memory in memories) > _MUCH
        found += await asyncio.to_thread(_fitting, search, memories) if is_much else _fitting(search, memories)
        has_most = max((sum(one.fit.has) for one in found), default=0)
        best = [one for one in found if sum(one.fit.has) == has_most]
    return sorted(best, key=lambda one: (-round(one.fit.score, 4), -one.memory.updated_at.timestamp(), one.memory.id))


def _fitting(search: _Search, memories: Sequence[Memory]) -> list[_Scored]:
    found: list[_Scored] = []
    now, unwanted = search.now, search.looked.excluded
    for memory in memories:
        if passes(memory, search.wanted, now=now) and not has_any(memory, unwanted, now=now):
            fit = fit_of(memory, search.clauses, search.scale, now=now)
            found += [_Scored(memory=memory, fit=fit)] if any(fit.has) else []
    return found


def _hit(one: _Scored, clauses: Sequence[Clause], passage: StoredPassage | None, *, now: datetime) -> TextHit:
    memory = one.memory
    return TextHit(
        id=memory.id,
        name=memory.name,
        title=memory.label,
        score=round(one.fit.score, 4),
        snippet=_snippet(memory, clauses, passage, now=now),
        updated_at=memory.updated_at,
        matched=one.fit.fields,
        missing=tuple(clause.text for clause, has in zip(clauses, one.fit.has, strict=True) if not has),
        kind=memory.kind,
        category=memory.category,
        tags=memory.tags,
        space=memory.space,
    )


def _snippet(memory: Memory, clauses: Sequence[Clause], passage: StoredPassage | None, *, now: datetime) -> str:
    """Where it stands in the content, or else in an observation that holds; or how the memory begins."""
    content = memory.content
    if len(content) > _LONGEST_SHOWN:
        is_there = passage is not None and passage.observation is None
        content = content[passage.start : passage.end] if is_there and passage else content[:_LONGEST_SHOWN]
    places = find_matches(content, clauses)
    if places:
        return snippet_of(content, places)
    holding = [one.text[:_LONGEST_SHOWN] for one in memory.current_observations(now)]
    told = [(text, found) for text in holding if (found := find_matches(text, clauses))]
    if told:
        return snippet_of(*max(told, key=lambda one: len({place.clause for place in one[1]})))
    return snippet_of(content or "; ".join(holding), ())


async def _latest(asked: SearchText, filter: Filter, *, now: datetime, reader: SoundReader) -> TextsFound:
    """Without a word: what was changed last."""
    count = asked.offset + asked.limit
    found: list[Memory] = []
    after: str | None = None
    while len(found) <= count and (
        page := await reader.store.list_ids(reader.space, filter, limit=count + 1, after=after)
    ):
        found += [memory for memory in await reader.get(page) if passes(memory, filter, now=now)]
        after = page[-1]
    nothing = Fit(score=0.0, fields=(), has=())
    hits = tuple(_hit(_Scored(memory=one, fit=nothing), (), None, now=now) for one in found[asked.offset : count])
    told = "there is no word in the query: these were changed last"
    return TextsFound(hits=hits, more=len(found) > count, degraded=(told, *reader.problems.values()))


def _passed_over(looked: ParsedSearch) -> tuple[str, ...]:
    told: list[str] = []
    if looked.ignored:
        words = ", ".join(one[:_LONGEST_LABEL] for one in looked.ignored[:8])
        told.append(f"passed over, since nearly every text has them: {words} (put them into quotes to look for them)")
    if looked.too_many:
        told.append(f"only the first {len(looked.included)} words are looked for")
    return tuple(told)


def _partly(found: Sequence[_Scored]) -> tuple[str, ...]:
    """That nothing has all of what is looked for, if so."""
    if not found or all(found[0].fit.has):
        return ()
    has = found[0].fit.has
    return (f"{_PARTLY}: these have {sum(has)} of {len(has)}",)
