"""Conflict scans: of a whole space, of one memory, and of drafts that are not stored."""

import asyncio
import heapq
import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice

import numpy as np

from scrubjay import telemetry
from scrubjay.conflicts.listing import describe_conflicts
from scrubjay.conflicts.near_pairs import Matrix, NearPairs, find_near_pairs
from scrubjay.conflicts.repository import delete_obsolete
from scrubjay.detection.candidates import statements_in_passage
from scrubjay.detection.describe import with_subject
from scrubjay.detection.detect import Detection, detect
from scrubjay.detection.neighbours import EmbeddedMemory, ReadCache, ask_reader
from scrubjay.detection.report import describe_detected, drop_known, settle_boilerplate
from scrubjay.errors import EmbeddingUnavailable, InvalidInput
from scrubjay.model.change import Origin
from scrubjay.model.checks import require_fraction, require_integer
from scrubjay.model.conflict import ConflictDetails, ConflictRecord, DatedStatement, PairShares, Scan
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Passage, StoredPassage, Vector
from scrubjay.model.query import Filter
from scrubjay.ports import PairReader, Profile, Progress, RecordStore
from scrubjay.text.claims.relations import relation_keys
from scrubjay.text.claims.statements import statements_of
from scrubjay.workers import offload
from scrubjay.writing.compose import compose
from scrubjay.writing.context import WriteContext
from scrubjay.writing.embed import embed_new, load_vectors, slice_memory
from scrubjay.writing.validate import validate

__all__ = ["SpaceScan", "check_drafts", "load_space", "scan", "scan_memory"]

# Passages below this cosine are about something else; each is compared with the nearest.
_MIN_COSINE = 0.6
_NEAREST = 8
_PAGE = 500
# So many memories are read at once, with their neighbours.
_BATCH = 200
_MAX_STATEMENTS = 200
_STATEMENTS_AT_ONCE = 8
# Of a document `detect` compares only the beginning.
_MAX_CONTENT = 20_000
# So many seconds are computed before the event loop gets a turn.
_MAX_TURN = 0.005
_MAX_DRAFTS = 1_000
_MAX_LISTED = 1_000
# A word of so many passages, or more than the square root of their number, does not show what one is about.
_COMMON = 50
# Of a statement the rarest words are searched for.
_MAX_WORDS = 8
# Of passages with the same relation of the same subject the latest are compared.
_MAX_SAME_RELATION = 8
_MAX_PASSAGES = 200
# A model reads so many pairs of a space, which takes a minute; the rules compare all of them.
_MAX_READ = 10_000


async def scan(
    *, limit: int, space: str, origin: Origin, context: WriteContext, progress: Progress | None = None
) -> Scan:
    """Check every memory of a space for conflicts, and store those found."""
    require_integer(limit, field="limit", least=0, most=_MAX_LISTED)
    profile = await _profile(context)
    await delete_obsolete(space=space, store=context.store)
    with telemetry.stage("conflicts.survey"):
        space_scan = await load_space(space, profile=profile, store=context.store)
    space_scan.pairs = context.pairs
    numbers = sorted({passage // PASSAGES_PER_MEMORY for passage in space_scan.passages})
    listed: list[ConflictRecord] = []
    types: Counter[str] = Counter()
    for start in range(0, len(numbers), _BATCH):
        batch = numbers[start : start + _BATCH]
        with telemetry.stage("conflicts.compare"):
            detected = await _compare_batch(batch, space_scan, profile=profile, origin=origin)
        new = await _store_new(detected, space=space, origin=origin, store=context.store)
        types.update(conflict.type.value for conflict in new)
        listed += new[: max(0, limit - len(listed))]
        if progress is not None:
            progress(start + len(batch), len(numbers))
    return Scan(
        memories=len(numbers),
        found=(await describe_conflicts(listed, now=origin.at, space=space, store=context.store))[:limit],
        count=types.total(),
        by_type=dict(types),
    )


async def scan_memory(memory_id: str, *, space: str, origin: Origin, context: WriteContext) -> int | None:
    """Check all statements of a live memory, store the conflicts found, and count them.

    None if there is no such memory.
    """
    memory = (await context.store.get(space, [memory_id])).get(memory_id)
    if memory is None or memory.state is not State.LIVE:
        return None
    profile, passages = await _profile(context), await slice_memory(memory)
    hashes = [passage.hash for passage in passages]
    vectors = await context.store.vectors(space, profile.model, hashes) if profile else {}
    written = EmbeddedMemory(memory=memory, passages=passages, vectors=vectors, profile=profile)
    cache = ReadCache(store=context.store, index=context.index, pairs=context.pairs)
    with telemetry.stage("conflicts.compare"):
        detected = [
            await detect(written, before=before, source=cache, origin=origin)
            for before in await offload(memory.characters, _split_statements, memory)
        ]
    return len(await _store_new(detected, space=space, origin=origin, store=context.store))


async def check_drafts(
    drafts: Sequence[Draft], *, threshold: float, space: str, origin: Origin, context: WriteContext
) -> tuple[tuple[ConflictDetails, ...], ...]:
    """Return for each draft the conflicts that it would have if it were stored; store nothing."""
    require_fraction(threshold, field="threshold")
    if len(drafts) > _MAX_DRAFTS:
        raise InvalidInput(f"{len(drafts):,} drafts at once; the limit is {_MAX_DRAFTS:,}", field="drafts")
    return tuple(
        [
            await _check_draft(draft, threshold=threshold, space=space, origin=origin, context=context)
            for draft in drafts
        ]
    )


async def load_space(space: str, *, profile: Profile | None, store: RecordStore) -> "SpaceScan":
    """Read all passages of a space, and find those near to each other."""
    numbers = sorted(await store.matching_passages(space, Filter()))
    passages = {
        passage.id: passage
        for start in range(0, len(numbers), _PAGE)
        for passage in await store.stored_passages(space, numbers[start : start + _PAGE])
    }
    rows, vectors = await _load_vectors(passages, profile=profile, store=store)

    def arrange() -> SpaceScan:
        pairs = find_near_pairs(vectors, least=_MIN_COSINE, most=_NEAREST)
        return SpaceScan(
            space=space,
            store=store,
            passages=passages,
            rows={number: row for row, number in enumerate(rows)},
            embeddings=vectors,
            near=_older_neighbours(pairs, rows),
        )

    # It takes a while, and only computes.
    return await asyncio.to_thread(arrange)


@dataclass(kw_only=True)
class SpaceScan:
    """A whole space in memory, as a `NeighbourSource`: read once, and each pair compared once.

    It returns only memories that are older than the selected one.
    """

    space: str
    store: RecordStore
    passages: Mapping[int, StoredPassage]
    rows: Mapping[int, int]
    embeddings: Matrix
    near: Mapping[int, Sequence[tuple[int, float]]]
    pairs: PairReader | None = None
    memories: dict[str, Memory] = field(default_factory=dict[str, Memory])
    _postings: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    _same_entity: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    # The passages of a relation, however common their words are: filled as memories are compared, the oldest first.
    _relations: dict[str, deque[int]] = field(default_factory=dict[str, deque[int]])
    _selected: int = 0
    _read: int = 0
    _number_by_vector: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def __post_init__(self) -> None:
        """Index the words."""
        postings: defaultdict[str, list[int]] = defaultdict(list)
        for number, passage in self.passages.items():
            for term in set(passage.terms.split()):
                postings[term].append(number)
        common = max(_COMMON, math.isqrt(len(self.passages)))
        self._postings = {term: numbers for term, numbers in postings.items() if len(numbers) <= common}

    def neighbours(self, number: int) -> Iterator[str]:
        """Return the memories near to the passages of one."""
        for passage in self.passages_of(number):
            yield from (self.passages[other].memory_id for other, _ in self.near.get(passage.id, ()))

    def passages_of(self, number: int) -> Iterator[StoredPassage]:
        """Return the passages of a memory, by its number in the store."""
        first = number * PASSAGES_PER_MEMORY
        while (passage := self.passages.get(first)) is not None:
            yield passage
            first += 1

    def select(self, number: int) -> tuple[tuple[Passage, ...], dict[bytes, Vector]]:
        """Select the memory that the next reads are about; return its passages and their vectors."""
        self._selected = number
        stored = list(self.passages_of(number))
        vectors = {
            passage.hash: self.embeddings[self.rows[passage.id]] for passage in stored if passage.id in self.rows
        }
        self._number_by_vector = {
            vectors[passage.hash].tobytes(): passage.id for passage in stored if passage.hash in vectors
        }
        passages = tuple(
            Passage(
                ordinal=passage.id % PASSAGES_PER_MEMORY, observation=passage.observation, start=passage.start,
                end=passage.end, hash=passage.hash, terms=(),
            )
            for passage in stored
        )  # fmt: skip
        return passages, vectors

    def same_relation(self, statement: str, *, memory: Memory) -> list[int]:
        """Return the latest older passages with the same relation of the same subject, the last first."""
        keys = relation_keys(with_subject(statement, memory))
        return list(dict.fromkeys(number for key in keys for number in reversed(self._relations.get(key, ()))))

    @property
    def has_pair_model(self) -> bool:
        """Whether `judge` has a model to ask: it reads only so many pairs of a whole space."""
        return self.pairs is not None and self._read < _MAX_READ

    async def judge(self, pairs: Sequence[tuple[DatedStatement, DatedStatement]]) -> list[PairShares]:
        """Return what a model says of two statements each; if it cannot, it is not asked again."""
        self._read += len(pairs)
        judged = await ask_reader(self.pairs, pairs)
        if judged is None:
            self.pairs = None
        return judged or []

    def related_memories(self, number: int, memory: Memory, *, now: datetime) -> Iterator[str]:
        """Return the older memories with the same relations as one."""
        for _, keys in self._relation_keys(number, memory, now=now):
            yield from (self.passages[other].memory_id for key in keys for other in self._relations.get(key, ()))

    def add_relations(self, number: int, memory: Memory, *, now: datetime) -> None:
        """Make a memory known by its relations to all that come after it."""
        for passage, keys in self._relation_keys(number, memory, now=now):
            for key in keys:
                numbers = self._relations.setdefault(key, deque(maxlen=_MAX_SAME_RELATION))
                if passage not in numbers:
                    numbers.append(passage)

    def _relation_keys(self, number: int, memory: Memory, *, now: datetime) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Return the passages of a memory, each with the relations of its statements."""
        for passage in islice(self.passages_of(number), _MAX_PASSAGES):
            for statement in statements_in_passage(memory, passage, now=now):
                if keys := relation_keys(with_subject(statement.text, memory)):
                    yield passage.id, keys

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return the older passages near to a vector of the selected memory."""
        del space, filter
        return list(self.near.get(self._number_by_vector.get(vector.tobytes(), -1), ()))[:limit]

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        """Return the older passages with the most of the rare terms."""
        del space, filter
        lists = sorted((self._postings[term] for term in set(terms) if term in self._postings), key=len)[:_MAX_WORDS]
        own = self._selected * PASSAGES_PER_MEMORY
        weights: defaultdict[int, float] = defaultdict(float)
        for numbers in lists:
            weight = math.log(1 + len(self.passages) / len(numbers))
            for number in numbers:
                if number < own:
                    weights[number] += weight
        return heapq.nlargest(limit, weights.items(), key=lambda pair: pair[1])

    async def stored_passages(self, space: str, ids: Sequence[int]) -> list[StoredPassage]:
        """Return passages by number."""
        del space
        return [self.passages[number] for number in ids if number in self.passages]

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories that exist, by id."""
        missing = [memory_id for memory_id in ids if memory_id not in self.memories]
        self.memories |= await self.store.get(space, missing) if missing else {}
        return {memory_id: self.memories[memory_id] for memory_id in ids if memory_id in self.memories}

    async def list_ids(self, space: str, filter: Filter, *, limit: int) -> list[str]:
        """Return the older ones among the latest memories of an entity; read each entity once."""
        key = filter.entity.casefold()
        if key not in self._same_entity:
            self._same_entity[key] = await self.store.list_ids(space, filter, limit=limit)
        own = next(self.passages_of(self._selected)).memory_id
        # Ids are in the order of their creation.
        return [memory_id for memory_id in self._same_entity[key] if memory_id < own]


async def _store_new(
    detected: Sequence[Detection], *, space: str, origin: Origin, store: RecordStore
) -> tuple[ConflictRecord, ...]:
    """Store the conflicts that are new, and settle those of statements that have turned out to be boilerplate."""
    boilerplate = frozenset(place for detection in detected for place in detection.boilerplate)
    by_id = {conflict.id: conflict for detection in detected for conflict in detection.conflicts}
    conflicts = [
        conflict
        for conflict in by_id.values()
        if not {(conflict.memory, conflict.statement), (conflict.other, conflict.against)} <= boilerplate
    ]
    new = await drop_known(conflicts, space=space, store=store)
    settled = await settle_boilerplate(boilerplate, space=space, origin=origin, store=store)
    documents = [conflict.document(at=origin.at) for conflict in (*new, *settled)]
    documents += [conflict.resolution_document(at=origin.at) for conflict in settled]
    if documents:
        await store.import_documents(space, documents, renew=False)
    return new


async def _check_draft(
    draft: Draft, *, threshold: float, space: str, origin: Origin, context: WriteContext
) -> tuple[ConflictDetails, ...]:
    store, embedder = context.store, context.embedder
    by_statement: dict[tuple[str, str], ConflictDetails] = {}
    for memory in compose(validate(draft, limits=context.limits), space=space, now=origin.at):
        passages = await slice_memory(memory)
        embedded, _ = await embed_new([(memory, passages)], space=space, vector_store=store, embedder=embedder)
        written = await load_vectors(memory, passages, embedded, vector_store=store, embedder=embedder)
        cache = ReadCache(store=store, index=context.index, pairs=context.pairs)
        detected = await detect(written, source=cache, origin=origin)
        others = await cache.get(space, [conflict.other for conflict in detected.conflicts])
        size = memory.characters + sum([other.characters for other in others.values()])
        described = await offload(
            size, describe_detected, detected.conflicts, memory, others, statements=detected.statements
        )  # fmt: skip
        for conflict, details in described:
            if details is not None and details.confidence >= threshold:
                # One text under several entities has each conflict once.
                by_statement.setdefault((conflict.other, conflict.against or conflict.statement), details)
    return tuple(by_statement.values())


async def _profile(context: WriteContext) -> Profile | None:
    with suppress(EmbeddingUnavailable):
        return await context.embedder.profile()
    return None


async def _load_vectors(
    numbers: Collection[int], *, profile: Profile | None, store: RecordStore
) -> tuple[list[int], Matrix]:
    """Return the numbers of the passages that have a vector, and their vectors."""
    memories = sorted({number // PASSAGES_PER_MEMORY for number in numbers}) if profile else []
    rows: list[int] = []
    pages: list[Matrix] = [np.empty((0, profile.dimension if profile else 1), np.float32)]
    for start in range(0, len(memories), _PAGE):
        page = await store.points_of(profile.model if profile else "", memories[start : start + _PAGE])
        points = [point for point in page if point.id in numbers]
        rows += [point.id for point in points]
        pages += [np.stack([point.vector for point in points])] if points else []
    return rows, np.concatenate(pages)


def _older_neighbours(pairs: NearPairs, numbers: Sequence[int]) -> dict[int, list[tuple[int, float]]]:
    """Return for each passage the older near ones of other memories, the nearest first."""
    neighbours: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    by_row = np.asarray(numbers, dtype=np.int64)
    first, second = by_row[pairs.first], by_row[pairs.second]
    later, older = np.maximum(first, second), np.minimum(first, second)
    differ = later // PASSAGES_PER_MEMORY != older // PASSAGES_PER_MEMORY
    for number, other, cosine in zip(
        later[differ].tolist(), older[differ].tolist(), pairs.cosine[differ].tolist(), strict=True
    ):
        neighbours[number].append((other, cosine))
    return {number: sorted(others, key=lambda pair: -pair[1]) for number, others in neighbours.items()}


async def _compare_batch(
    batch: Sequence[int], space_scan: SpaceScan, *, profile: Profile | None, origin: Origin
) -> list[Detection]:
    """Return the conflicts of some memories with older ones."""
    ids = {number: next(space_scan.passages_of(number)).memory_id for number in batch}
    neighbours = {neighbour for number in batch for neighbour in space_scan.neighbours(number)}
    space_scan.memories = await space_scan.store.get(
        space_scan.space, [*ids.values(), *(neighbours - set(ids.values()))]
    )
    live = [
        (number, memory)
        for number, memory_id in ids.items()
        if (memory := space_scan.memories.get(memory_id)) is not None and memory.state is State.LIVE
    ]
    # The memories of the same relations are read at once too, not one by one.
    size = sum([memory.characters for _, memory in live])
    related = await offload(size, _related_memories, live, space_scan, now=origin.at)
    await space_scan.get(space_scan.space, related)
    detected: list[Detection] = []
    began = time.monotonic()
    for number, memory in live:
        passages, vectors = space_scan.select(number)
        written = EmbeddedMemory(memory=memory, passages=passages, vectors=vectors, profile=profile)
        detected += [
            await detect(written, before=before, source=space_scan, origin=origin)
            for before in await offload(memory.characters, _split_statements, memory)
        ]
        await offload(memory.characters, space_scan.add_relations, number, memory, now=origin.at)
        if time.monotonic() - began > _MAX_TURN:
            # Give other tasks a turn.
            await asyncio.sleep(0)
            began = time.monotonic()
    return detected


def _related_memories(live: Sequence[tuple[int, Memory]], space_scan: SpaceScan, *, now: datetime) -> list[str]:
    related = (space_scan.related_memories(number, memory, now=now) for number, memory in live)
    return list(dict.fromkeys(memory_id for ids in related for memory_id in ids))


def _split_statements(memory: Memory) -> list[Memory | None]:
    """Return a long memory as it would be without each few of its statements: `detect` compares only so many."""
    sentences = statements_of(memory.content[:_MAX_CONTENT])
    count = len(sentences) + len(memory.observations)
    if count <= _STATEMENTS_AT_ONCE:
        return [None]
    parts: list[Memory | None] = []
    # Of very many the latest.
    for start in range(max(0, count - _MAX_STATEMENTS), count, _STATEMENTS_AT_ONCE):
        end = start + _STATEMENTS_AT_ONCE
        first, last = max(0, start - len(sentences)), max(0, end - len(sentences))
        without = replace(
            memory,
            content="\n\n".join((*sentences[:start], *sentences[end:])),
            observations=(*memory.observations[:first], *memory.observations[last:]),
        )
        parts.append(without)
    return parts
