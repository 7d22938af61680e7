"""Renders ranked memories as hits: one passage, the source, and why each was found."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.lookup.branches import branch_of
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.decay import as_shown
from scrubjay.model.labels import mark, mark_of, source_at
from scrubjay.model.memory import Flag, Memory
from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter
from scrubjay.model.requests import RecallRequest
from scrubjay.model.results import Hit, Neighbour, Recalled
from scrubjay.ports import Neighbours, RecordStore
from scrubjay.recalling.collapse import RankedMemory, passes
from scrubjay.recalling.fuse import ScoredPassage
from scrubjay.recalling.projects import ProjectOrder
from scrubjay.text.passages import slices, text_of

# Smaller parts of a score are left out of the explanation.
_MIN_EXPLAINED = 0.005
# Records of one text are adjacent and some neighbours have expired: then look this many times further.
_NEIGHBOUR_DEPTHS = (1, 4, 24)


def render_hit(
    match: RankedMemory,
    question: RecallRequest,
    *,
    now: datetime,
    projects: ProjectOrder,
    terms: Sequence[str] = (),
    expansions: Sequence[str] = (),
    score: float = 0.0,
    weak: bool = False,
) -> Hit:
    """Return a ranked memory as a hit; `terms` and `expansions` of the question explain it."""
    memory, best = match.memory, match.best
    source = source_at(memory, best.passage.observation)
    return Hit(
        id=memory.id,
        name=memory.name,
        title=memory.title,
        passage=best_passage_text(match, now=now),
        score=score,
        date=memory.date,
        entities=match.entities,
        source=source,
        trust=source.trust.value,
        space=memory.space,
        why=(*_explain(best, memory, terms), *expansions) if question.explain else (),
        memory=memory if question.detail == "full" else None,
        branch=branch_of(memory),
        mark=mark(source, memory.flags),
        suspicious=Flag.SUSPICIOUS in memory.flags,
        project=projects.mark(memory),
        weak=weak,
    )


def best_passage_text(match: RankedMemory, *, now: datetime) -> str:
    """Return the text of the best passage of a ranked memory."""
    return _passage_text(match.memory, match.best.passage, now=now)


def render_pinned(
    memories: Sequence[Memory], question: RecallRequest, *, now: datetime, projects: ProjectOrder
) -> list[Hit]:
    """Return pinned memories as hits, each group once."""
    groups: dict[str, list[Memory]] = {}
    for memory in memories:
        groups.setdefault(memory.group or memory.id, []).append(memory)
    matches = [
        RankedMemory(
            memory=group[0],
            best=first_passage(group[0]),
            entities=tuple(memory.entity for memory in group if memory.entity),
        )
        for group in groups.values()
    ]
    return [render_hit(match, question, now=now, projects=projects) for match in matches]


def first_passage(memory: Memory) -> ScoredPassage:
    """Return the beginning of a memory, for one that no query has found."""
    start, end = next(slices(memory.content))
    passage = StoredPassage(id=0, memory_id=memory.id, observation=None, start=start, end=end, hash=b"", terms="")
    return ScoredPassage(passage, score=0.0)


def with_relevance(answer: Recalled, *, at: datetime) -> Recalled:
    """Return an answer whose whole memories, if it has any, show their relevance at a moment."""
    if not any(hit.memory is not None for hit in (*answer.pinned, *answer.hits)):
        return answer
    pinned, hits = (
        tuple(replace(hit, memory=as_shown(hit.memory, at)) if hit.memory is not None else hit for hit in part)
        for part in (answer.pinned, answer.hits)
    )
    return replace(answer, pinned=pinned, hits=hits)


async def add_neighbours(
    hits: Sequence[Hit], *, each: int, now: datetime, reader: TolerantReader[RecordStore]
) -> list[Hit]:
    """Return the hits of one space with the memories before and after each in its session."""
    around: dict[str, tuple[Neighbour, ...]] = {}
    for depth in (each * step for step in _NEIGHBOUR_DEPTHS):
        ids = [hit.id for hit in hits if hit.id not in around]
        neighbours = await reader.store.session_neighbours(reader.space, ids, each=depth)
        neighbour_ids = dict.fromkeys(id_ for sides in neighbours.values() for id_ in (*sides.before, *sides.after))
        memories = {memory.id: memory for memory in await reader.get([*ids, *neighbour_ids])}
        for hit_id in ids:
            sides = neighbours.get(hit_id, Neighbours())
            before, after = _select_neighbours(memories.get(hit_id), sides, memories, now=now)
            is_complete = (len(before) >= each or len(sides.before) < depth) and (
                len(after) >= each or len(sides.after) < depth
            )
            if is_complete or depth == each * _NEIGHBOUR_DEPTHS[-1]:
                around[hit_id] = _render_neighbours(before[:each], after[:each], now=now)
        if len(around) == len(hits):
            break
    return [replace(hit, around=around[hit.id]) for hit in hits]


def _select_neighbours(
    hit: Memory | None, neighbours: Neighbours, memories: Mapping[str, Memory], *, now: datetime
) -> tuple[list[Memory], list[Memory]]:
    """Return the valid memories before and after a hit, nearest first, each text once."""
    sides: tuple[list[Memory], list[Memory]] = ([], [])
    seen = {hit.group or hit.id} if hit else set[str]()
    for side, ids in zip(sides, (neighbours.before, neighbours.after), strict=True):
        for memory in (memories[memory_id] for memory_id in ids if memory_id in memories):
            key = memory.group or memory.id
            if key not in seen and passes(memory, Filter(state=memory.state), now=now):
                seen.add(key)
                side.append(memory)
    return sides


def _render_neighbours(before: Sequence[Memory], after: Sequence[Memory], *, now: datetime) -> tuple[Neighbour, ...]:
    placed = [(-place, memory) for place, memory in enumerate(before, start=1)][::-1]
    placed += list(enumerate(after, start=1))
    return tuple(
        Neighbour(
            id=memory.id,
            name=memory.name,
            passage=_passage_text(memory, first_passage(memory).passage, now=now),
            date=memory.date,
            place=place,
            mark=mark_of(memory),
        )
        for place, memory in placed
    )


def _passage_text(memory: Memory, passage: StoredPassage, *, now: datetime) -> str:
    if passage.observation is not None and passage.observation >= len(memory.observations):
        return memory.label  # The record is newer than the index.
    if passage.observation is None and not memory.content.strip():
        return "; ".join(observation.text for observation in memory.current_observations(now)) or memory.label
    return text_of(memory, passage.observation, passage.start, passage.end).strip()


def _explain(best: ScoredPassage, memory: Memory, terms: Sequence[str]) -> tuple[str, ...]:
    passage_terms = set(best.passage.terms.split())
    matched = ", ".join(term for term in terms if term in passage_terms)
    reasons = [f"words {best.words:.2f}: {matched or 'none'}"]
    reasons += _explain_parts(context=best.context, pairs=best.pairs, phrases=best.phrases)
    reasons.append(f"meaning {best.meaning:.2f}: cosine {best.cosine:.3f}")
    reasons += _explain_parts(
        reply=best.reply, date=best.date, name=best.name, manner=best.manner, standing=best.standing,
        project=best.project,
    )  # fmt: skip
    if best.answers is not None:
        reasons.append(f"reader {best.reader:+.2f}: answers {best.answers:+.2f}")
    reasons += _explain_parts(sum=best.score)
    if best.rerank is not None:
        reasons.append(f"reranked by {best.rerank:.2f}")
    if best.passage.observation is not None:
        reasons.append(f"observation {best.passage.observation + 1} of {len(memory.observations)}")
    if memory.pinned:
        reasons.append("pinned")
    if memory.trunk:
        reasons.append(f"on branch {memory.branch}")
    return tuple(reasons)


def _explain_parts(**parts: float) -> list[str]:
    return [f"{name} {value:+.2f}" for name, value in parts.items() if abs(value) >= _MIN_EXPLAINED]
