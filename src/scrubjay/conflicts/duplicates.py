"""Memories that say the same as wholes, in groups, and their merge into one: by the rules of the write path.

The write path looks back only so far, and two agents may write at once. Here all memories of a space are compared, but
only with those near to them.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from scrubjay.conflicts.clusters import SpaceVectors, group_pairs, load_vectors, near_memories
from scrubjay.conflicts.strategies import merge_pair, move_relations, require_room
from scrubjay.detection.neighbours import MAX_COMPARED, NearbyMemory, ask_reader
from scrubjay.errors import EmbeddingUnavailable, StaleVersion, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader, resolve
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import require_fraction
from scrubjay.model.conflict import DatedStatement, Duplicate, DuplicateGroup, Duplicates
from scrubjay.model.draft import Limits
from scrubjay.model.labels import mark_of_all
from scrubjay.model.memory import Memory, Method, State
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Passage
from scrubjay.model.query import Filter
from scrubjay.model.relation import Relation
from scrubjay.model.requests import DuplicatesRequest
from scrubjay.model.rules import Rules
from scrubjay.model.skill import is_skill
from scrubjay.ports import Commit, Edge, Embedder, PairReader, Profile, RecordStore, Write
from scrubjay.text.claims.pairs import MAX_TEXT
from scrubjay.text.passages import passages_of, text_of
from scrubjay.text.tokens import terms_of
from scrubjay.writing.context import WriteContext
from scrubjay.writing.embed import embed_new, slice_memory
from scrubjay.writing.merge import as_one_statement
from scrubjay.writing.rules import load_rules
from scrubjay.writing.similarity import compare_whole, least_cosine

__all__ = [
    "SameMemories", "duplicates", "find_duplicates", "merge_group", "plan_merge", "without_additions",
    "without_refused",
]  # fmt: skip

# Each memory is compared with its nearest few.
_NEAREST = 6
_PAGE = 400
# So many pairs are compared before the event loop gets a turn, in seconds.
_MAX_TURN = 0.005
_MAX_QUOTED = 500
# A model that finds it less likely than this that two say the same keeps them apart.
_AGREES = 0.5
Pause = Callable[[], Awaitable[None]]
Read = Callable[[Sequence[str]], Awaitable[list[Memory]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SameMemories:
    """Memories that say the same: the one that remains first, and the similarity of each other one to it."""

    memories: tuple[Memory, ...]
    similarities: tuple[float, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the memories."""
        return tuple(memory.id for memory in self.memories)

    @property
    def confidence(self) -> float:
        """The least similarity."""
        return min(self.similarities)

    @property
    def described(self) -> DuplicateGroup:
        """The group, as callers see it."""
        remaining, *others = (
            Duplicate(
                id=memory.id, name=memory.name, version=memory.version, similarity=round(similarity, 4),
                statement=_quote(memory), mark=mark_of_all(memory),
            )
            for memory, similarity in zip(self.memories, (1.0, *self.similarities), strict=True)
        )  # fmt: skip
        return DuplicateGroup(remaining=remaining, others=tuple(others), confidence=round(self.confidence, 4))


async def duplicates(
    request: DuplicatesRequest, *, space: str, origin: Origin, context: WriteContext
) -> Duplicates:  # fmt: skip
    """Return the groups of memories that say the same, and merge them if the request says so."""
    require_fraction(request.threshold, field="threshold")
    store = context.store
    memory = await resolve(store, request.id, space=space) if request.id else None
    rules = (await load_rules(space, default=context.rules, documents=store)).rules
    profile: Profile | None = None
    with suppress(EmbeddingUnavailable):
        profile = await context.embedder.profile()
    groups = [
        group
        for group in await find_duplicates(space, now=origin.at, rules=rules, profile=profile, store=store)
        if group.confidence >= request.threshold and (memory is None or memory.id in group.ids)
    ]
    merged, warnings = 0, list[str]()
    for group in groups[: request.limit if request.merge else 0]:
        try:
            await merge_group(
                group.memories, origin=origin, most_tags=rules.most_tags, limits=context.limits,
                embedder=context.embedder, store=store,
            )  # fmt: skip
            merged += 1
        except (StaleVersion, TooLarge) as error:
            warnings.append(f"{group.memories[0].name} is left as it is: {error.message}")
    return Duplicates(
        groups=tuple(group.described for group in groups[: request.limit]), count=len(groups), merged=merged,
        run=origin.run if merged else "", warnings=tuple(warnings),
    )  # fmt: skip


async def find_duplicates(
    space: str,
    *,
    now: datetime,
    rules: Rules,
    profile: Profile | None,
    store: RecordStore,
    pause: Pause | None = None,
    read: Read | None = None,
) -> list[SameMemories]:
    """Return the groups of memories that say the same, the surest first; without a model, those with the same words.

    A memory that a person has pinned, or keeps as a file, is in no group. `read` returns memories as far as they can be
    read.
    """
    read = read or TolerantReader(store, space=space).get
    if profile is None:
        return await _same_words(space, now=now, store=store, pause=pause, read=read)
    space_vectors = await load_vectors(space, Filter(), profile=profile, store=store, pause=pause)
    pairs = await near_memories(space_vectors, least=least_cosine(rules=rules, profile=profile), most=_NEAREST)
    comparison = _Comparison(space_vectors=space_vectors, rules=rules, profile=profile)
    similar: dict[tuple[int, int], float] = {}
    memories: dict[int, Memory] = {}
    for start in range(0, len(pairs), _PAGE):
        page = pairs[start : start + _PAGE]
        missing = {number for pair in page for number in (pair.first, pair.second)} - memories.keys()
        memories |= await _read(sorted(missing), space=space, now=now, store=store, read=read)
        known_pairs = [(pair.first, pair.second) for pair in page if {pair.first, pair.second} <= memories.keys()]
        similar |= await _compare_all(known_pairs, memories, comparison, pause=pause)
    return await asyncio.to_thread(_group_all, similar, memories, comparison)


def _group_all(
    similar: Mapping[tuple[int, int], float], memories: Mapping[int, Memory], comparison: "_Comparison"
) -> list[SameMemories]:
    ordered = sorted(similar, key=lambda pair: (-similar[pair], pair))
    groups = [
        group
        for numbers in group_pairs(ordered)
        if (group := comparison.group([(number, memories[number]) for number in numbers], similar)) is not None
    ]
    return sorted(groups, key=lambda group: (-group.confidence, group.memories[0].id))


async def merge_group(
    group: Sequence[Memory],
    *,
    origin: Origin,
    most_tags: int,
    limits: Limits,
    embedder: Embedder,
    store: RecordStore,
) -> Memory:
    """Merge memories into the first of them, in one commit; raises StaleVersion if one has changed meanwhile."""
    commit = await plan_merge(
        group, origin=origin, most_tags=most_tags, limits=limits, embedder=embedder, store=store,
        message=f"merged {len(group) - 1} memories that say the same",
    )  # fmt: skip
    await store.commit(commit)
    return commit.writes[-1].memory


async def plan_merge(
    group: Sequence[Memory],
    *,
    origin: Origin,
    most_tags: int,
    limits: Limits,
    embedder: Embedder,
    store: RecordStore,
    message: str,
) -> Commit:
    """Return the commit that merges memories into the first of them, which it writes last.

    Nothing is lost: the others become parts of it, with their history, and it has all that they said.
    """
    space = group[0].space
    relations = await store.relations(space, [memory.id for memory in group])
    parts, merged, edges = await asyncio.to_thread(_merge_all, group, relations, at=origin.at, most_tags=most_tags)
    require_room(merged, limits=limits)
    bases = {memory.id: memory.version for memory in group}
    writes = [
        Write(
            memory=replace(memory, version=bases[memory.id] + 1, updated_at=max(origin.at, memory.updated_at)),
            base=bases[memory.id],
            action=Action.MERGED,
            passages=await slice_memory(memory),
            message=message,
        )
        # The names must be free first.
        for memory in (*parts, merged)
    ]
    embedded, _ = await embed_new(
        [(write.memory, write.passages) for write in writes], space=space, vector_store=store, embedder=embedder
    )
    return Commit(space=space, origin=origin, writes=tuple(writes), edges=tuple(edges), embedded=embedded)


def without_additions(group: SameMemories, *, at: datetime, most_tags: int) -> SameMemories | None:
    """Leave out the memories that would add words to the one that remains; None if it is alone then.

    A text made of two has one vector for both, so that neither is found as well as before.
    """
    merged, remaining = group.memories[0], list[tuple[Memory, float]]()
    for memory, similarity in zip(group.memories[1:], group.similarities, strict=True):
        _, whole = merge_pair(merged, memory, at=at, most_tags=most_tags)
        whole = as_one_statement(whole, merged, memory)
        if _texts(whole) in (_texts(merged), _texts(memory)):
            merged = whole
            remaining.append((memory, similarity))
    if not remaining:
        return None
    return SameMemories(
        memories=(group.memories[0], *(memory for memory, _ in remaining)),
        similarities=tuple(similarity for _, similarity in remaining),
    )


async def without_refused(groups: Sequence[SameMemories], *, reader: PairReader | None) -> list[SameMemories]:
    """Leave out the memories of which a model, which reads them beside the one that remains, says something else.

    It refuses and never adds: the rules have found all of them the same. Without a model, these decide alone.
    """
    pairs = [
        (memory.id, sorted((group.memories[0], memory), key=lambda each: each.date))
        for group in groups
        for memory in group.memories[1:]
        if _may_read(group.memories[0], memory)
    ]
    judged = await ask_reader(reader, [(_dated(older), _dated(newer)) for _, (older, newer) in pairs]) or []
    refused = {id_ for (id_, _), shares in zip(pairs, judged, strict=False) if shares.repeats < _AGREES}
    remaining: list[SameMemories] = []
    for group in groups:
        similarities = zip(group.memories[1:], group.similarities, strict=True)
        same = [(memory, similarity) for memory, similarity in similarities if memory.id not in refused]
        if same:
            memories, shares = zip(*same, strict=True)
            remaining.append(SameMemories(memories=(group.memories[0], *memories), similarities=shares))
    return remaining


def _may_read(first: Memory, second: Memory) -> bool:
    """Check whether a model can tell two memories apart: short texts, not the same words in one order."""
    if any(memory.observations or len(memory.content) > MAX_TEXT for memory in (first, second)):
        return False
    return terms_of(first.content) != terms_of(second.content)


def _dated(memory: Memory) -> DatedStatement:
    return DatedStatement(text=memory.content, date=memory.date, subject=memory.entity, project=memory.project)


def _texts(memory: Memory) -> tuple[str, ...]:
    return memory.content.strip(), *(observation.text for observation in memory.observations)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """Compares memories by the rules of the gate."""

    space_vectors: SpaceVectors
    rules: Rules
    profile: Profile

    def similarity(self, first: tuple[int, Memory], second: tuple[int, Memory]) -> float | None:
        """Return how similar two memories are, if one says all that the other does; else None."""
        newer, older = sorted((first, second), key=lambda pair: (pair[1].date, pair[0]), reverse=True)
        passages = {number: passages_of(memory, with_terms=False) for number, memory in (newer, older)}
        # Between texts of one passage there is only one similarity.
        is_short = all(len(own) == 1 for own in passages.values())
        for incoming, stored in ((newer, older),) if is_short else ((newer, older), (older, newer)):
            nearby = self._nearby(incoming[0], stored, passages)
            if nearby is None:
                return None
            similarity = compare_whole(
                incoming[1], passages[incoming[0]], nearby, rules=self.rules, profile=self.profile
            )
            if similarity is not None:
                return similarity
        return None

    def _nearby(
        self, incoming: int, stored: tuple[int, Memory], passages: Mapping[int, Sequence[Passage]]
    ) -> NearbyMemory | None:
        number, memory = stored
        vectors = {each: self.space_vectors.of_memory(each) for each in (incoming, number)}
        # A passage may have no vector yet, and a long text is a document.
        if any(len(rows) != len(passages[each]) or len(rows) > MAX_COMPARED for each, rows in vectors.items()):
            return None
        cosines = vectors[incoming] @ vectors[number].T
        return NearbyMemory(
            memory=memory, is_of_session=False, cosines=tuple(tuple(map(float, row)) for row in cosines),
            texts=tuple(text_of(memory, each.observation, each.start, each.end) for each in passages[number]),
        )  # fmt: skip

    def group(
        self, members: Sequence[tuple[int, Memory]], similar: Mapping[tuple[int, int], float]
    ) -> SameMemories | None:
        """Return the group of those that say the same as the most trusted, oldest memory; None if it is alone.

        A chain of similar memories may end with one that differs from the first.
        """
        first, *others = sorted(members, key=lambda member: _rank(member[1]))
        pairs = [((min(first[0], number), max(first[0], number)), number, memory) for number, memory in others]
        scored = [
            (memory, similar.get(pair) or self.similarity(first, (number, memory))) for pair, number, memory in pairs
        ]
        same = [(memory, similarity) for memory, similarity in scored if similarity is not None]
        if not same:
            return None
        return SameMemories(
            memories=(first[1], *(memory for memory, _ in same)),
            similarities=tuple(similarity for _, similarity in same),
        )


async def _compare_all(
    pairs: Sequence[tuple[int, int]],
    memories: Mapping[int, Memory],
    comparison: _Comparison,
    *,
    pause: Pause | None,
) -> dict[tuple[int, int], float]:
    similar: dict[tuple[int, int], float] = {}
    began = time.monotonic()
    for first, second in pairs:
        similarity = comparison.similarity((first, memories[first]), (second, memories[second]))
        if similarity is not None:
            similar[first, second] = similarity
        if time.monotonic() - began > _MAX_TURN:
            await (pause() if pause is not None else asyncio.sleep(0))
            began = time.monotonic()
    return similar


async def _read(
    numbers: Sequence[int], *, space: str, now: datetime, store: RecordStore, read: Read
) -> dict[int, Memory]:
    """Read memories by their numbers, as far as they may be merged."""
    passages = [number * PASSAGES_PER_MEMORY for number in numbers]
    ids = {
        passage.memory_id: passage.id // PASSAGES_PER_MEMORY for passage in await store.stored_passages(space, passages)
    }
    memories = await read(list(ids))
    return {ids[memory.id]: memory for memory in memories if _may_merge(memory, now)}


async def _same_words(
    space: str, *, now: datetime, store: RecordStore, pause: Pause | None, read: Read
) -> list[SameMemories]:
    by_words: dict[tuple[str, ...], list[Memory]] = {}
    after: str | None = None
    while ids := await store.list_ids(space, Filter(), limit=_PAGE, after=after):
        for memory in await read(ids):
            if _may_merge(memory, now):
                by_words.setdefault(_words(memory), []).append(memory)
        after = ids[-1]
        if pause is not None:
            await pause()
    groups = [sorted(group, key=_rank) for group in by_words.values() if len(group) > 1]
    return [SameMemories(memories=tuple(group), similarities=(1.0,) * (len(group) - 1)) for group in groups]


def _words(memory: Memory) -> tuple[str, ...]:
    texts = (memory.content, *(observation.text for observation in memory.observations))
    folded = (" ".join(text.split()).casefold() for text in texts)
    return (memory.entity.casefold(), memory.project, memory.scope, *folded)


def _may_merge(memory: Memory, now: datetime) -> bool:
    """Check that a memory is in force, and was not chosen by a person to be as it is."""
    is_chosen = memory.pinned or bool(memory.group) or memory.source.method is Method.FILE or is_skill(memory)
    return memory.state is State.LIVE and memory.holds(now) and not is_chosen


def _rank(memory: Memory) -> tuple[int, datetime, str]:
    """Return the order in which memories of a group would remain: the most trusted, then the oldest."""
    others = [trust for trust in type(memory.source.trust) if trust.outranks(memory.source.trust)]
    return len(others), memory.created_at, memory.id


def _merge_all(
    group: Sequence[Memory], relations: Iterable[Relation], *, at: datetime, most_tags: int
) -> tuple[list[Memory], Memory, list[Edge]]:
    merged, parts, edges = group[0], list[Memory](), list[Edge]()
    current = {relation.key: relation for relation in relations}
    for memory in group[1:]:
        part, whole = merge_pair(merged, memory, at=at, most_tags=most_tags)
        merged = as_one_statement(whole, merged, memory)
        parts.append(part)
        for edge in move_relations(current.values(), memory.id, merged.id):
            edges.append(edge)
            current.pop(edge.relation.key, None)
            if edge.present:
                current[edge.relation.key] = edge.relation
    return parts, merged, edges


def _quote(memory: Memory) -> str:
    text = memory.content or "; ".join(observation.text for observation in memory.observations[:20]) or memory.label
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}\u2026"
