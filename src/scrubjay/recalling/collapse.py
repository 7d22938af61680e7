"""Collapses ranked passages into memories, and the records of one text into one result."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import NamedTuple

from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.decay import gain_by_kind
from scrubjay.model.labels import source_at
from scrubjay.model.memory import Memory, Source, Trust
from scrubjay.model.query import Filter, facets_of
from scrubjay.model.ranking import Weights
from scrubjay.ports import RecordStore
from scrubjay.recalling.fuse import ScoredPassage
from scrubjay.recalling.projects import ProjectOrder
from scrubjay.text.passages import text_of

# At most so many pages are read for one, if others stand for most of the memories.
_MAX_PAGES_READ = 4


class Evidence(NamedTuple):
    """What speaks for a hit, besides its score; a plain tuple, as each hit has one.

    `meaning` is where its cosine lies between `related` (0) and `same` (1) of the embedder; None without a model that
    knows the language. `covered` is the part of the question, by the rarity of its words, that the passage has, and
    `unknown` the part that no passage has. `decides`: the figures of the model were measured, and not estimated, so
    that a hit may be left out for it.
    """

    meaning: float | None
    covered: float
    unknown: float
    decides: bool


class RankedMemory(NamedTuple):
    """A memory with its best passage, and the entities of all records of its text; a plain tuple too."""

    memory: Memory
    best: ScoredPassage
    entities: tuple[str, ...]
    evidence: Evidence | None = None

    def with_best(self, best: ScoredPassage) -> "RankedMemory":
        """Return the same with another best passage; `_replace` would take longer."""
        return RankedMemory(memory=self.memory, best=best, entities=self.entities, evidence=self.evidence)

    @property
    def source(self) -> Source:
        """The source of the best passage."""
        return source_at(self.memory, self.best.passage.observation)

    @property
    def text(self) -> str:
        """The best passage, or the label of a record that is newer than the index."""
        passage = self.best.passage
        if passage.observation is not None and passage.observation >= len(self.memory.observations):
            return self.memory.label
        return text_of(self.memory, passage.observation, passage.start, passage.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arranged:
    """Memories in the order in which they are shown, those that others stand for, and those that are outdated."""

    shown: list[RankedMemory]
    surplus: list[RankedMemory] = field(default_factory=list[RankedMemory])
    outdated: list[RankedMemory] = field(default_factory=list[RankedMemory])


Arrange = Callable[[Sequence[RankedMemory]], Awaitable[Arranged]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Which memories to return, how many, and which are excluded: by id alone, or by the whole record."""

    filter: Filter
    count: int
    now: datetime
    excludes_id: Callable[[str], bool]
    admits: Callable[[Memory], bool]
    projects: ProjectOrder = field(default_factory=ProjectOrder)
    weights: Weights = field(default_factory=Weights)


async def collapse(
    ranking: Iterable[ScoredPassage],
    *,
    request: PageRequest,
    reader: TolerantReader[RecordStore],
    arrange: Arrange | None = None,
) -> Arranged:
    """Return the best memories, each checked against its record, each group once, in the order of `arrange`."""
    arrange = arrange or _keep_order
    arranged = Arranged(shown=[])
    ranked: dict[str, RankedMemory] = {}
    outdated: dict[str, RankedMemory] = {}
    passages: dict[str, list[ScoredPassage]] = {}
    # Reading a record costs more than ranking it: read as many as requested, and more only if some do not pass.
    for ids in _batch_memories(ranking, request, passages):
        lowest = passages[ids[-1]][0].score
        for memory in await reader.get(ids):
            entities = (memory.entity,) if memory.entity else ()
            key = memory.group or memory.id
            if not passes(memory, request.filter, now=request.now, past=True) or not request.admits(memory):
                continue
            best = next((scored for scored in passages[memory.id] if _is_valid(scored, memory, now=request.now)), None)
            if best is None or not memory.holds(request.now):
                former = RankedMemory(memory=memory, best=passages[memory.id][0], entities=entities)
                outdated.setdefault(key, former)
            if best is None:
                # Its passages so far have been superseded; another one may follow further down.
                del passages[memory.id]
            if best is None or not memory.holds(request.now):
                continue
            ranked.setdefault(key, RankedMemory(memory=memory, best=best, entities=entities))
        if len(ranked) >= request.count:
            arranged = await arrange(_by_project(ranked.values(), request))
            if _is_full(arranged, request.count, unread=lowest):
                break
    else:
        arranged = await arrange(_by_project(ranked.values(), request))
    shown = [
        await _add_entities(match, filter=request.filter, reader=reader) for match in arranged.shown[: request.count]
    ]
    return Arranged(shown=shown, surplus=arranged.surplus, outdated=_by_project(outdated.values(), request))


async def _keep_order(ranked: Sequence[RankedMemory]) -> Arranged:
    return Arranged(shown=list(ranked))


def _by_relevance(ranked: Iterable[RankedMemory], request: PageRequest) -> list[RankedMemory]:
    """Return the memories, best first, with the difference that the kinds of memories make to their relevance."""
    weight = request.weights.relevance
    rescored: list[RankedMemory] = []
    for match in ranked:
        best = match.best
        # What was not scored, such as a list of the latest, has no standing.
        added = weight * gain_by_kind(match.memory, request.now) if best.standing else 0.0
        if added:
            best = best._replace(score=best.score + added, standing=best.standing + added)
            match = match.with_best(best)  # noqa: PLW2901 - the same memory, in another place
        rescored.append(match)
    return sorted(rescored, key=lambda match: -match.best.score)


def _by_project(ranked: Iterable[RankedMemory], request: PageRequest) -> list[RankedMemory]:
    """Return the memories, best first, with what their kinds and their projects add to their scores."""
    matches = _by_relevance(ranked, request)
    scores = request.projects.scores([match.memory for match in matches], request.weights)
    if not any(scores.values()):
        return matches
    rescored: list[RankedMemory] = []
    for match in matches:
        score = scores[match.memory.project]
        # What calls another project its own counts even less.
        score *= 2 if request.projects.means_another(match.memory, match.text) else 1
        best = match.best._replace(score=match.best.score + score, project=score)
        rescored.append(match.with_best(best))
    return sorted(rescored, key=lambda match: -match.best.score)


def _is_full(arranged: Arranged, count: int, *, unread: float) -> bool:
    """Check whether enough was read for a page: what was not read scores at most `unread`.

    Where documents answer, look further for what contradicts them.
    """
    read = len(arranged.shown) + len(arranged.surplus)
    if read >= _MAX_PAGES_READ * count:
        return True
    if any(match.best.score < unread for match in arranged.shown[:count]):
        return False
    has_document = any(match.source.trust is Trust.DOCUMENT for match in arranged.shown[:count])
    return len(arranged.shown) >= count and (not has_document or read > count)


def passes(memory: Memory, filter: Filter, *, now: datetime, past: bool = False) -> bool:
    """Return whether a record passes a filter now; the indexes may lag behind it for a moment.

    With `past`, also a record that was superseded.
    """
    holds = memory.holds(now) or (
        past and memory.valid_until is not None and replace(memory, valid_until=None).holds(now)
    )
    if memory.state is not filter.state or not holds:
        return False
    if filter.since is not None and memory.date < filter.since:
        return False
    if filter.until is not None and memory.date >= filter.until:
        return False
    groups = filter.facet_groups
    if not groups:
        return True
    facets = set(facets_of(memory))
    return all(facets.intersection(group) for group in groups)


def _batch_memories(
    scored: Iterable[ScoredPassage], request: PageRequest, passages: dict[str, list[ScoredPassage]]
) -> Iterator[list[str]]:
    """Yield ids of memories in the order of their best passages; `passages` collects the passages of each."""
    batch: list[str] = []
    for passage in scored:
        memory_id = passage.passage.memory_id
        if memory_id in passages:
            passages[memory_id].append(passage)
            continue
        passages[memory_id] = [passage]
        if not request.excludes_id(memory_id):
            batch.append(memory_id)
        if len(batch) == request.count:
            yield batch
            batch = []
    if batch:
        yield batch


def _is_valid(scored: ScoredPassage, memory: Memory, *, now: datetime) -> bool:
    """Return whether a passage is not of a superseded observation; unknown ones of a newer record count as valid."""
    number = scored.passage.observation
    return number is None or number >= len(memory.observations) or memory.observations[number].holds(now)


async def _add_entities(match: RankedMemory, *, filter: Filter, reader: TolerantReader[RecordStore]) -> RankedMemory:
    if not match.memory.group or filter.entity:
        return match
    siblings = await reader.get(await reader.store.members(reader.space, match.memory.group))
    entities = tuple(memory.entity for memory in siblings if memory.state is match.memory.state)
    return match._replace(entities=entities)
