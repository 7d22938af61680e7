"""`recall`: a question goes through the stages and comes back as an answer that fits its budget."""

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay import telemetry
from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Limits
from scrubjay.model.given import require_text
from scrubjay.model.memory import Memory
from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter, Question
from scrubjay.model.results import Hit, Recalled
from scrubjay.ports import Embedder, RecordStore
from scrubjay.recalling.answers import Answers, key_of
from scrubjay.recalling.budget import fit
from scrubjay.recalling.candidates import gather_candidates
from scrubjay.recalling.collapse import Found, collapse, passes
from scrubjay.recalling.fuse import Scored, fuse
from scrubjay.recalling.search import Searcher
from scrubjay.recalling.understand import Understood, understand
from scrubjay.references import SoundReader
from scrubjay.text.passages import slices, text_of

# How much deeper each further look goes when candidates turn out to be few memories.
_DEPTHS = (1, 10, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """What the read path works with."""

    store: RecordStore
    embedder: Embedder
    index: Searcher
    limits: Limits
    answers: Answers = field(default_factory=Answers)


async def recall(question: Question, *, cursor: str, spaces: Sequence[str], now: datetime, shelf: Shelf) -> Recalled:
    """The memories that answer a question best, of all the spaces; without a question, the most recent."""
    with telemetry.stage("recall.understand"):
        asked = understand(question, limits=shelf.limits)
        offset = _offset(cursor, question, spaces)
        # Asked before anything is looked up: what is committed meanwhile makes the answer one of the past.
        places = tuple([await shelf.store.last_place(space) for space in spaces])
    key = key_of(question, spaces=spaces, cursor=cursor)
    known = None if key is None else shelf.answers.get(key, places=places, now=now)
    telemetry.count("recall_cache", result="miss" if known is None else "hit")
    if known is not None:
        return known
    answer, told = await _answer(asked, spaces=spaces, offset=offset, now=now, shelf=shelf)
    if key is not None and not answer.degraded:
        shelf.answers.put(key, answer, places=places, now=now, told=told)
    return answer


async def _answer(
    asked: Understood, *, spaces: Sequence[str], offset: int, now: datetime, shelf: Shelf
) -> tuple[Recalled, list[Memory]]:
    """The answer, and the memories that it tells of."""
    question = asked.question
    readers = [SoundReader(shelf.store, space=space) for space in spaces]
    with telemetry.stage("recall.pinned"):
        pinned = [memory for reader in readers for memory in await _pinned(now=now, reader=reader)]
        # Pinned memories come with the first page, and are among the hits of none.
        first, spent = fit([] if offset else _pinned_hits(pinned, question), max_tokens=question.max_tokens)
    skip = frozenset(memory.id for memory in pinned)
    wanted = _Wanted(asked=asked, count=offset + question.limit + 1, skip=skip, now=now)
    look = _search if asked.text else _recent
    found, degraded = _merged([await look(wanted, reader=reader, shelf=shelf) for reader in readers])
    with telemetry.stage("recall.budget"):
        page = [_hit(one, question, asked.terms) for one in found[offset : offset + question.limit]]
        hits, cost = fit(page, max_tokens=question.max_tokens - spent)
    if page and not hits:
        degraded = (*degraded, "max_tokens leaves no room for a hit: ask with more")
    more = len(found) > offset + len(hits)
    answer = Recalled(
        hits=tuple(hits),
        pinned=tuple(first),
        cursor=_cursor(question, spaces, offset + len(hits)) if more and hits else "",
        tokens=spent + cost,
        degraded=(*degraded, *(problem for reader in readers for problem in reader.problems.values())),
    )
    return answer, [*pinned, *(one.memory for one in found)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """How many memories a page needs, and which are there already."""

    asked: Understood
    count: int
    skip: frozenset[str]
    now: datetime


_Part = tuple[list[Found], tuple[str, ...]]
"""What one space has, best first, and what could not be used."""


def _merged(parts: Sequence[_Part]) -> _Part:
    """What several spaces have, best first: by score, and without a question by when it was last changed."""
    if len(parts) == 1:
        return parts[0]
    found = [one for part, _ in parts for one in part]
    found.sort(key=lambda one: (one.best.score, one.memory.updated_at), reverse=True)
    return found, tuple(dict.fromkeys(why for _, degraded in parts for why in degraded))


async def _search(wanted: _Wanted, *, reader: SoundReader, shelf: Shelf) -> _Part:
    found: list[Found] = []
    degraded: tuple[str, ...] = ()
    # Long texts, groups, pinned memories and earlier pages use up candidates: ask for so many more, and for many
    # more still if that was not enough.
    for deeper in (step * (2 * wanted.count + len(wanted.skip)) for step in _DEPTHS):
        candidates = await gather_candidates(
            wanted.asked,
            space=reader.space,
            store=shelf.store,
            embedder=shelf.embedder,
            index=shelf.index,
            deeper=deeper,
        )
        with telemetry.stage("recall.fuse"):
            scored = fuse(candidates, wanted.asked.terms)
        found, degraded = await _collapse(scored, wanted, reader), candidates.degraded
        if len(found) >= wanted.count or candidates.complete:
            break
    return found, degraded


async def _recent(wanted: _Wanted, *, reader: SoundReader, shelf: Shelf) -> _Part:
    limit = 2 * wanted.count + len(wanted.skip)
    scored: list[Scored] = []
    found: list[Found] = []
    after: str | None = None
    while len(found) < wanted.count:
        ids = await shelf.store.list_ids(reader.space, wanted.asked.question.filter, limit=limit, after=after)
        if not ids:
            break
        scored += [_whole(memory) for memory in await reader.get(ids)]
        found = await _collapse(scored, wanted, reader)
        after = ids[-1]
    return found, ()


async def _collapse(scored: list[Scored], wanted: _Wanted, reader: SoundReader) -> list[Found]:
    with telemetry.stage("recall.collapse"):
        return await collapse(
            scored,
            wanted=wanted.asked.question.filter,
            count=wanted.count,
            now=wanted.now,
            skip=wanted.skip,
            reader=reader,
        )


async def _pinned(*, now: datetime, reader: SoundReader) -> list[Memory]:
    memories = await reader.get(await reader.store.pinned(reader.space))
    return [memory for memory in memories if passes(memory, Filter(), now=now)]


def _pinned_hits(memories: Sequence[Memory], question: Question) -> list[Hit]:
    groups: dict[str, list[Memory]] = {}
    for memory in memories:
        groups.setdefault(memory.group or memory.id, []).append(memory)
    return [
        _hit(Found(memory=several[0], best=_whole(several[0]), entities=_entities(several)), question, ())
        for several in groups.values()
    ]


def _entities(memories: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(memory.entity for memory in memories if memory.entity)


def _whole(memory: Memory) -> Scored:
    """A memory found without a question: shown from its beginning."""
    first = next(slices(memory.content))
    passage = StoredPassage(
        id=0, memory_id=memory.id, observation=None, start=first[0], end=first[1], hash=b"", terms=()
    )
    return Scored(passage, score=0.0, lexical=0.0, cosine=0.0)


def _hit(found: Found, question: Question, terms: Sequence[str]) -> Hit:
    memory, best = found.memory, found.best
    return Hit(
        id=memory.id,
        name=memory.name,
        title=memory.title,
        passage=_passage_text(memory, best),
        score=round(best.score, 4),
        date=memory.date,
        entities=found.entities,
        source=memory.source,
        trust=memory.source.trust.value,
        space=memory.space,
        why=_why(best, memory, terms) if question.explain else (),
        memory=memory if question.detail == "full" else None,
    )


def _passage_text(memory: Memory, best: Scored) -> str:
    passage = best.passage
    if passage.observation is not None and passage.observation >= len(memory.observations):
        return memory.label  # The record is newer than the index.
    if passage.observation is None and not memory.content.strip() and memory.observations:
        return "; ".join(one.text for one in memory.observations)
    return text_of(memory, passage.observation, passage.start, passage.end).strip()


def _why(best: Scored, memory: Memory, terms: Sequence[str]) -> tuple[str, ...]:
    matched = ", ".join(term for term in terms if term in best.passage.terms)
    told = [f"words {best.lexical:.2f}: {matched or 'none'}", f"meaning {best.cosine:.3f}"]
    if best.passage.observation is not None:
        told.append(f"observation {best.passage.observation + 1} of {len(memory.observations)}")
    if memory.pinned:
        told.append("pinned")
    return tuple(told)


def _cursor(question: Question, spaces: Sequence[str], offset: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([offset, _fingerprint(question, spaces)]).encode()).decode()


def _offset(cursor: str, question: Question, spaces: Sequence[str]) -> int:
    if not require_text(cursor, field="cursor"):
        return 0
    foreign = InvalidInput(
        "the cursor does not belong to this question", hint="Ask again without a cursor", field="cursor"
    )
    try:
        offset, fingerprint = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, TypeError, binascii.Error, UnicodeError):
        raise foreign from None
    if fingerprint != _fingerprint(question, spaces) or not isinstance(offset, int) or offset < 0:
        raise foreign
    return offset


def _fingerprint(question: Question, spaces: Sequence[str]) -> str:
    asked: Sequence[object] = (question.query, question.filter, tuple(spaces))
    return hashlib.sha256(repr(asked).encode("utf-8", "replace")).hexdigest()[:12]
