"""Notes by their words, and on request by their meaning too."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.engine import Engine
from scrubjay.lookup.references import SoundReader
from scrubjay.model.checks import require_integer
from scrubjay.model.draft import Caller
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.query import Filter, Question, SearchText, TextHit, TextsFound
from scrubjay.model.results import Hit
from scrubjay.notes.requests import NoteSearch
from scrubjay.notes.results import NoteHit, NotesFound
from scrubjay.recalling.fulltext import has_any
from scrubjay.text.clauses import parse_clauses

__all__ = ["search"]

# What is found by its meaning alone counts half as much as what has every word, and adds a little to what has.
_MEANT, _MEANT_TOO = 0.5, 0.3
_PLENTY = 1_000_000


async def search(asked: NoteSearch, *, engine: Engine, who: Caller, offset: int = 0) -> NotesFound:
    """The notes that have all the words, or the most of them; with `semantic` also those that mean something near.

    So many of the best as `offset` says are passed over: they were told before.
    """
    words = SearchText(
        query=asked.query, filter=Filter(category=asked.category, tags=asked.tags), limit=asked.limit, offset=offset
    )
    who = replace(who, also=())
    if not asked.semantic:
        found = await engine.search_text(words, who=who)
        return NotesFound(results=tuple(map(_told, found.hits)), more=found.more, degraded=found.degraded)
    end = offset + require_integer(asked.limit, field="limit")
    count = min(end, engine.limits.results)
    found = await engine.search_text(replace(words, limit=count, offset=0), who=who)
    if not found.words:
        return NotesFound(results=tuple(map(_told, found.hits[offset:])), more=found.more, degraded=found.degraded)
    question = Question(query=found.words, filter=words.filter, limit=count, max_tokens=_PLENTY)
    meant = await engine.recall(question, who=who)
    results = await _merged(found, meant.hits, unwanted=asked.query, engine=engine, space=who.space)
    return NotesFound(
        results=tuple(results[offset:end]),
        more=found.more or bool(meant.cursor) or len(results) > end,
        degraded=(*found.degraded, *meant.degraded),
    )


async def _merged(
    found: TextsFound, meant: Sequence[Hit], *, unwanted: str, engine: Engine, space: str
) -> list[NoteHit]:
    """Both together, best first; who is found in both ways is told once."""
    most = max((hit.score for hit in meant), default=0.0) or 1.0
    near = {hit.id: max(0.0, hit.score / most) for hit in meant}
    worded = [
        _told(hit, more=near[hit.id]) if hit.id in near else _told(hit) for hit in found.hits
    ]  # fmt: skip
    has_words = {hit.id for hit in found.hits}
    others = {hit.id: hit for hit in meant if hit.id not in has_words}
    read = await SoundReader(engine.store, space=space).get(list(others))
    refused = parse_clauses(unwanted).excluded
    by_meaning = [
        NoteHit(
            id=memory.id, title=memory.label, score=round(_MEANT * near[memory.id], 4),
            snippet=others[memory.id].passage, category=memory.category, tags=memory.tags,
            updated_at=memory.updated_at, matched=("meaning",),
        )
        for memory in read
        if not has_any(memory, refused, now=engine.clock.now())
    ]  # fmt: skip
    return sorted([*worded, *by_meaning], key=lambda one: -one.score)


def _told(hit: TextHit, *, more: float | None = None) -> NoteHit:
    score = hit.score if more is None else hit.score + (1 - hit.score) * _MEANT_TOO * more
    matched = ("attachment",) if hit.kind == ATTACHMENT else hit.matched
    return NoteHit(
        id=hit.id,
        title=hit.title,
        score=round(score, 4),
        snippet=hit.snippet,
        category=hit.category,
        tags=hit.tags,
        updated_at=hit.updated_at,
        matched=matched if more is None else (*matched, "meaning"),
    )
