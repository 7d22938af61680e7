"""The stored memories near a text that is being written: by meaning, and by session."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import field
from datetime import datetime
from typing import Any, Protocol, TypeVar

import numpy as np

from scrubjay import telemetry
from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.conflict import DatedStatement, PairShares
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Passage, StoredPassage, Vector
from scrubjay.model.query import Filter
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import BatchSearcher, PairReader, PassageSearcher, Profile, RecordStore
from scrubjay.text.passages import text_of

__all__ = [
    "MAX_COMPARED", "EmbeddedMemory", "NearbyMemory", "NeighbourSource", "ReadCache", "ask_reader", "find_neighbours",
]  # fmt: skip

T = TypeVar("T")
U = TypeVar("U")
# A longer text is a document: it is not compared as a whole.
MAX_COMPARED = 12
_NEAREST = 8
_MAX_SESSION_MEMORIES = 8
_MAX_PASSAGES = 64
_ALL = Filter()
_Scored = list[tuple[int, float]]


class NeighbourSource(Protocol):
    """The reads that conflict detection needs: of a store with its index, or of a whole space in memory."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> _Scored:
        """Return (passage number, cosine), best first."""
        ...

    async def lexical_candidates(self, space: str, terms: Sequence[str], filter: Filter, *, limit: int) -> _Scored:
        """Return (passage number, weight) of passages that have some of the terms, best first."""
        ...

    async def stored_passages(self, space: str, ids: Sequence[int]) -> list[StoredPassage]:
        """Return passages by number."""
        ...

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories that exist, by id."""
        ...

    async def list_ids(self, space: str, filter: Filter, *, limit: int) -> list[str]:
        """Return the ids that pass a filter, most recently updated first."""
        ...

    def same_relation(self, statement: str, *, memory: Memory) -> Sequence[int]:
        """Return the passages known to state the same relation of the same subject, however common their words."""
        ...

    @property
    def has_pair_model(self) -> bool:
        """Whether `judge` has a model to ask."""
        ...

    async def judge(self, pairs: Sequence[tuple[DatedStatement, DatedStatement]]) -> list[PairShares]:
        """Return what a model says of two statements each, the later one second; nothing if it cannot."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCache:
    """Store and index as one write reads them: the gate and the conflict check ask for the same neighbours.

    It never expires. Use a new one for each attempt.
    """

    store: RecordStore
    index: PassageSearcher
    pairs: PairReader | None = None
    _searches: dict[tuple[str, bytes, int], asyncio.Future[_Scored]] = field(
        default_factory=dict[tuple[str, bytes, int], "asyncio.Future[_Scored]"], init=False
    )
    _memories: dict[str, Memory | None] = field(default_factory=dict[str, Memory | None], init=False)
    _passages: dict[int, StoredPassage | None] = field(default_factory=dict[int, StoredPassage | None], init=False)

    async def both(self, first: Coroutine[Any, Any, T], second: Coroutine[Any, Any, U]) -> tuple[T, U]:
        """Return the results of two reads; with a remote store they run at once, since each is a round trip."""
        if not self.store.is_local:
            return await asyncio.gather(first, second)
        with closing(second):
            return await first, await second

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> _Scored:
        """Return (passage number, cosine), best first; search the whole space once for each vector."""
        if filter != _ALL:
            return await self.index.search(space, vector, filter, limit=limit)
        key = space, vector.tobytes(), limit
        if key not in self._searches:
            # A second caller waits for the search of the first, or gets its error.
            result = self._searches[key] = asyncio.get_running_loop().create_future()
            try:
                result.set_result(await self.index.search(space, vector, filter, limit=limit))
            except asyncio.CancelledError:
                result.cancel()
                raise
            except BaseException as error:
                result.set_exception(error)
                # Without a second caller, it is not asked for again.
                result.exception()
                raise
        return list(await self._searches[key])

    async def search_ahead(self, space: str, vectors: Sequence[Vector]) -> None:
        """Search the whole space for several vectors at once; if that fails, each search reports it by itself."""
        if not isinstance(self.index, BatchSearcher):
            return
        with suppress(EmbeddingUnavailable, IndexUnavailable):
            hits_of = await self.index.search_many(space, vectors, _ALL, limit=_NEAREST)
            for vector, hits in zip(vectors, hits_of, strict=True):
                result = asyncio.get_running_loop().create_future()
                result.set_result(hits)
                self._searches[space, vector.tobytes(), _NEAREST] = result

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories that exist, by id; read each once."""
        missing = [memory_id for memory_id in ids if memory_id not in self._memories]
        if missing:
            self._memories.update(dict.fromkeys(missing) | await self.store.get(space, missing))
        return {memory_id: memory for memory_id in ids if (memory := self._memories.get(memory_id)) is not None}

    async def stored_passages(self, space: str, ids: Sequence[int]) -> list[StoredPassage]:
        """Return passages by number; read each once."""
        missing = [number for number in ids if number not in self._passages]
        if missing:
            read = await self.store.stored_passages(space, missing)
            self._passages.update(dict.fromkeys(missing) | {passage.id: passage for passage in read})
        return [passage for number in dict.fromkeys(ids) if (passage := self._passages.get(number)) is not None]

    async def list_ids(self, space: str, filter: Filter, *, limit: int) -> list[str]:
        """Return the ids that pass a filter, most recently updated first."""
        return await self.store.list_ids(space, filter, limit=limit)

    async def lexical_candidates(self, space: str, terms: Sequence[str], filter: Filter, *, limit: int) -> _Scored:
        """Return (passage number, weight) of passages that have some of the terms, best first."""
        return await self.store.lexical_candidates(space, terms, filter, limit=limit)

    def same_relation(self, statement: str, *, memory: Memory) -> Sequence[int]:
        """Return nothing: a store has no index of relations."""
        del statement, memory
        return ()

    @property
    def has_pair_model(self) -> bool:
        """Whether `judge` has a model to ask."""
        return self.pairs is not None

    async def judge(self, pairs: Sequence[tuple[DatedStatement, DatedStatement]]) -> list[PairShares]:
        """Return what a model says of two statements each, the later one second; nothing if it cannot."""
        return await ask_reader(self.pairs, pairs) or []


async def ask_reader(
    reader: PairReader | None, pairs: Sequence[tuple[DatedStatement, DatedStatement]]
) -> list[PairShares] | None:
    """Return what a model says of two statements each; None if it cannot."""
    if reader is None or not pairs:
        return []
    try:
        with telemetry.stage("write.pairs"):
            return await reader.judge(pairs)
    except EmbeddingUnavailable:
        telemetry.count("pair_model", event="unavailable")
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedMemory:
    """A memory that is being written: its passages, their vectors by hash, and the profile of the model.

    Without a model, `profile` is None. `vectors` may lack some that the store has.
    """

    memory: Memory
    passages: Sequence[Passage]
    vectors: Mapping[bytes, Vector] = field(default_factory=dict[bytes, Vector])
    profile: Profile | None = None

    @property
    def model(self) -> str:
        """The name of the model, or nothing."""
        return self.profile.model if self.profile else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyMemory:
    """A memory near the written text, and the cosine of each of its passages with each of that text's."""

    memory: Memory
    is_of_session: bool
    texts: tuple[str, ...] = ()
    # One row for each passage of the written text, one column for each of `texts`.
    cosines: tuple[tuple[float, ...], ...] = ()


async def find_neighbours(
    written: EmbeddedMemory,
    *,
    cache: ReadCache,
    session: str,
    since: datetime | None,
    is_relevant: Callable[[float], bool],
) -> tuple[list[NearbyMemory], str]:
    """Return the memories near a written one, those of the session first, and the reason if the search failed.

    With `since` None only the session counts. `is_relevant` decides by the cosine which search hits are read.
    """
    space, passages = written.memory.space, written.passages
    own = await _own_vectors(written, cache=cache)
    search = _search(own, space=space, cache=cache, since=since, is_relevant=is_relevant)
    if session:
        of_session = cache.list_ids(space, Filter(session=session), limit=_MAX_SESSION_MEMORIES)
        (numbers, problem), session_ids = await cache.both(search, of_session)
    else:
        (numbers, problem), session_ids = await search, list[str]()
    stored = await cache.stored_passages(space, numbers) if numbers else []
    if since is not None:
        stored = [passage for passage in stored if passage.date >= to_micros(since)]
    ids = list(dict.fromkeys((*session_ids, *(passage.memory_id for passage in stored))))
    if not ids:
        return [], problem
    if session_ids or len(passages) > 1:
        # Of these all passages count, not only the nearest.
        read = {passage.id for passage in stored}
        candidates = await cache.store.passage_numbers(space, session_ids if len(passages) == 1 else ids)
        more = [number for number in candidates[:_MAX_PASSAGES] if number not in read]
        stored += await cache.stored_passages(space, more) if more else []
    hashes = [passage.hash for passage in stored] if own else []
    vectors, memories = await cache.both(cache.store.vectors(space, written.model, hashes), cache.get(space, ids))
    return [
        _compare(
            memories[memory_id],
            [passage for passage in stored if passage.memory_id == memory_id],
            own=own,
            vectors=vectors,
            is_of_session=memory_id in session_ids,
        )
        for memory_id in ids
        if memory_id in memories
    ], problem


async def _own_vectors(written: EmbeddedMemory, *, cache: ReadCache) -> list[Vector]:
    """Return the vectors of the written text, some of which the store may have; none if one is missing."""
    if not written.model:
        return []
    hashes = [passage.hash for passage in written.passages[: MAX_COMPARED + 1]]
    missing = [digest for digest in hashes if digest not in written.vectors]
    stored = await cache.store.vectors(written.memory.space, written.model, missing) if missing else {}
    vectors = {**stored, **written.vectors}
    return [vectors[digest] for digest in hashes] if all(digest in vectors for digest in hashes) else []


async def _search(
    own: Sequence[Vector], *, space: str, cache: ReadCache, since: datetime | None, is_relevant: Callable[[float], bool]
) -> tuple[list[int], str]:
    if not own or since is None:
        return [], ""
    try:
        with telemetry.stage("write.similar"):
            # The conflict check makes the same search, so that the cache answers one of them. Older hits are dropped
            # after they are read.
            hits = await cache.search(space, own[0], _ALL, limit=_NEAREST)
            # The conflict check needs all of them, so that they are read together.
            passages = await cache.stored_passages(space, [number for number, _ in hits])
            earliest = to_micros(since)
            recent = [passage for passage in passages if passage.date >= earliest]
            if len(hits) == _NEAREST > len(recent) and is_relevant(hits[-1][1]):
                # There may be more relevant passages, since some of these are too old.
                hits = await cache.search(space, own[0], Filter(since=since), limit=_NEAREST)
    except (EmbeddingUnavailable, IndexUnavailable) as error:
        return [], f"similar memories could not be searched for: {error.message}"
    return [number for number, cosine in hits if is_relevant(cosine)], ""


def _compare(
    memory: Memory,
    passages: Sequence[StoredPassage],
    *,
    own: Sequence[Vector],
    vectors: Mapping[bytes, Vector],
    is_of_session: bool,
) -> NearbyMemory:
    embedded = [passage for passage in passages if passage.hash in vectors and _is_current(passage, memory)]
    if not embedded:
        return NearbyMemory(memory=memory, is_of_session=is_of_session)
    texts = tuple([text_of(memory, passage.observation, passage.start, passage.end) for passage in embedded])
    if len(own) == len(embedded) == 1:
        # Most texts are one passage, and so are their neighbours.
        cosines = ((float(own[0] @ vectors[embedded[0].hash]),),)
    else:
        rows = np.stack(list(own)) @ np.stack([vectors[passage.hash] for passage in embedded]).T
        cosines = tuple(tuple(map(float, row)) for row in rows)
    return NearbyMemory(memory=memory, is_of_session=is_of_session, texts=texts, cosines=cosines)


def _is_current(passage: StoredPassage, memory: Memory) -> bool:
    """Check that a passage still belongs to its memory, which may have been revised since."""
    if passage.observation is None:
        return passage.end <= len(memory.content)
    return passage.observation < len(memory.observations)
