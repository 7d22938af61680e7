"""What is told of a memory that was found: one line of it, where it comes from, and why it is there."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.lookup.branches import branch_of
from scrubjay.lookup.references import SoundReader
from scrubjay.model.memory import Memory
from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter, Question
from scrubjay.model.results import Hit, Neighbour
from scrubjay.ports import Neighbours
from scrubjay.recalling.collapse import Found, passes
from scrubjay.recalling.fuse import Scored
from scrubjay.text.passages import slices, text_of

# Below this a part of a score is not worth telling.
_WORTH_TELLING = 0.005
# Records of one text stand side by side, and some are expired: then neighbours are looked for so much farther off.
_DEPTHS = (1, 4, 24)


def hit_of(
    found: Found, question: Question, *, now: datetime, terms: Sequence[str] = (), added: Sequence[str] = ()
) -> Hit:
    """A found memory as it is told."""
    memory, best = found.memory, found.best
    return Hit(
        id=memory.id,
        name=memory.name,
        title=memory.title,
        passage=passage_of(found, now=now),
        score=round(best.score, 4),
        date=memory.date,
        entities=found.entities,
        source=memory.source,
        trust=memory.source.trust.value,
        space=memory.space,
        why=(*_why(best, memory, terms), *added) if question.explain else (),
        memory=memory if question.detail == "full" else None,
        branch=branch_of(memory),
    )


def passage_of(found: Found, *, now: datetime) -> str:
    """The words of a found memory's best passage."""
    return _passage_text(found.memory, found.best.passage, now=now)


def pinned_hits(memories: Sequence[Memory], question: Question, *, now: datetime) -> list[Hit]:
    """Memories that come with every answer, each group once."""
    groups: dict[str, list[Memory]] = {}
    for memory in memories:
        groups.setdefault(memory.group or memory.id, []).append(memory)
    return [
        hit_of(Found(memory=several[0], best=unasked(several[0]), entities=_entities(several)), question, now=now)
        for several in groups.values()
    ]


def unasked(memory: Memory) -> Scored:
    """A memory found without a question: shown from its beginning."""
    start, end = next(slices(memory.content))
    passage = StoredPassage(id=0, memory_id=memory.id, observation=None, start=start, end=end, hash=b"", terms="")
    return Scored(passage, score=0.0)


async def with_neighbours(hits: Sequence[Hit], *, each: int, now: datetime, reader: SoundReader) -> list[Hit]:
    """The hits of one space with what was said before and after them in their sessions."""
    told: dict[str, tuple[Neighbour, ...]] = {}
    for deeper in (each * step for step in _DEPTHS):
        ids = [hit.id for hit in hits if hit.id not in told]
        beside = await reader.store.session_neighbours(reader.space, ids, each=deeper)
        named = dict.fromkeys(other for one in beside.values() for other in (*one.before, *one.after))
        memories = {memory.id: memory for memory in await reader.get([*ids, *named])}
        for id_ in ids:
            sides = beside.get(id_, Neighbours())
            before, after = _sides(memories.get(id_), sides, memories, now=now)
            has_all = _is_enough(before, sides.before, each, deeper) and _is_enough(after, sides.after, each, deeper)
            if has_all or deeper == each * _DEPTHS[-1]:
                told[id_] = _neighbours(before[:each], after[:each], now=now)
        if len(told) == len(hits):
            break
    return [replace(hit, around=told[hit.id]) for hit in hits]


def _is_enough(kept: Sequence[Memory], named: Sequence[str], each: int, asked: int) -> bool:
    return len(kept) >= each or len(named) < asked


def _sides(
    hit: Memory | None, beside: Neighbours, memories: Mapping[str, Memory], *, now: datetime
) -> tuple[list[Memory], list[Memory]]:
    """Who stands before and after a hit, nearest first, each text once."""
    sides: tuple[list[Memory], list[Memory]] = ([], [])
    seen = {hit.group or hit.id} if hit else set[str]()
    for side, ids in zip(sides, (beside.before, beside.after), strict=True):
        for memory in (memories[id_] for id_ in ids if id_ in memories):
            key = memory.group or memory.id
            if key not in seen and passes(memory, Filter(state=memory.state), now=now):
                seen.add(key)
                side.append(memory)
    return sides


def _neighbours(before: Sequence[Memory], after: Sequence[Memory], *, now: datetime) -> tuple[Neighbour, ...]:
    placed = [(-place, memory) for place, memory in enumerate(before, start=1)][::-1]
    placed += list(enumerate(after, start=1))
    return tuple(
        Neighbour(
            id=memory.id,
            name=memory.name,
            passage=_passage_text(memory, unasked(memory).passage, now=now),
            date=memory.date,
            place=place,
        )
        for place, memory in placed
    )


def _entities(memories: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(memory.entity for memory in memories if memory.entity)


def _passage_text(memory: Memory, passage: StoredPassage, *, now: datetime) -> str:
    if passage.observation is not None and passage.observation >= len(memory.observations):
        return memory.label  # The record is newer than the index.
    if passage.observation is None and not memory.content.strip():
        return "; ".join(one.text for one in memory.current_observations(now)) or memory.label
    return text_of(memory, passage.observation, passage.start, passage.end).strip()


def _why(best: Scored, memory: Memory, terms: Sequence[str]) -> tuple[str, ...]:
    has = set(best.passage.terms.split())
    matched = ", ".join(term for term in terms if term in has)
    told = [f"words {best.words:.2f}: {matched or 'none'}"]
    told += _parts(context=best.context, pairs=best.pairs, phrases=best.phrases)
    told.append(f"meaning {best.meaning:.2f}: cosine {best.cosine:.3f}")
    told += _parts(reply=best.reply, date=best.date, name=best.name, manner=best.manner, standing=best.standing)
    if best.rerank is not None:
        told.append(f"reranked by {best.rerank:.2f}")
    if best.passage.observation is not None:
        told.append(f"observation {best.passage.observation + 1} of {len(memory.observations)}")
    if memory.pinned:
        told.append("pinned")
    if memory.trunk:
        told.append(f"on branch {memory.branch}")
    return tuple(told)


def _parts(**parts: float) -> list[str]:
    return [f"{name} {value:+.2f}" for name, value in parts.items() if abs(value) >= _WORTH_TELLING]
