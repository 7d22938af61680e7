"""What is stored near a text that is being written: the passages most like its own, and those of its session."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np

from scrubjay import telemetry
from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Passage, StoredPassage, Vector
from scrubjay.model.query import Filter
from scrubjay.model.timestamps import to_micros
from scrubjay.text.passages import text_of

__all__ = ["NearbyPassage", "NeighbourLookup", "NeighbourSet", "Searcher", "look_up"]

_NEAREST = 8
# Of a session so many memories, the latest, and of all that is compared so many passages.
_LATEST = 8
_MOST_PASSAGES = 64
# A longer text is a document: it is not compared as a whole.
MOST_COMPARED = 12
_ALL = Filter()


class Searcher(Protocol):
    """Finds passages by meaning."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """(passage number, cosine), best first."""
        ...


class NeighbourLookup(Protocol):
    """What is asked of the store."""

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """The memories that exist, by id."""
        ...

    async def list_ids(self, space: str, filter: Filter, *, limit: int, after: str | None = None) -> list[str]:
        """Ids that pass a filter, most recently updated first."""
        ...

    async def passage_numbers(self, space: str, memory_ids: Sequence[str]) -> list[int]:
        """The numbers of all passages of some memories."""
        ...

    async def stored_passages(self, space: str, ids: Sequence[int], *, around: int = 0) -> list[StoredPassage]:
        """Passages by number."""
        ...

    async def vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """Stored vectors by text hash."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourSet:
    """Where is looked: a space, its store and index, and the model whose vectors they have; none, and words decide."""

    space: str
    store: NeighbourLookup
    index: Searcher
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyPassage:
    """A memory near the text that is written, and the cosine of each of its passages with each of that text's."""

    memory: Memory
    of_session: bool
    texts: tuple[str, ...] = ()
    # One row for each passage of the text, one column for each of `texts`.
    cosines: tuple[tuple[float, ...], ...] = ()


async def look_up(
    passages: Sequence[Passage],
    vectors: Mapping[bytes, Vector],
    *,
    around: NeighbourSet,
    session: str,
    since: datetime | None,
    worth: Callable[[float], bool],
) -> tuple[list[NearbyPassage], str]:
    """The memories near some passages, those of the session first and the latest of them foremost; and what failed.

    `since` is None when nothing but the session counts. Of what the index finds only that is read whose cosine is
    `worth` it; all of the session is.
    """
    space, store = around.space, around.store
    own = await _own_vectors(passages, vectors, around=around)
    # Where the store is far away, each look is a journey: what can be asked at once is.
    (numbers, problem), of_session = await asyncio.gather(
        _nearest(own, around=around, since=since, worth=worth), _of_session(session, around=around)
    )
    found = await store.stored_passages(space, numbers) if numbers else []
    if since is not None:
        found = [one for one in found if one.date >= to_micros(since)]
    ids = list(dict.fromkeys((*of_session, *(one.memory_id for one in found))))
    if not ids:
        return [], problem
    if of_session or len(passages) > 1:
        # Of these all passages count, not only the nearest.
        wanted = of_session if len(passages) == 1 else ids
        known = {one.id for one in found}
        more = [
            number for number in (await store.passage_numbers(space, wanted))[:_MOST_PASSAGES] if number not in known
        ]
        found += await store.stored_passages(space, more) if more else []
    hashes = [one.hash for one in found] if own else []
    stored, memories = await asyncio.gather(store.vectors(space, around.model, hashes), store.get(space, ids))
    return [
        _nearby(memories[id_], [each for each in found if each.memory_id == id_], own, stored, id_ in of_session)
        for id_ in ids
        if id_ in memories
    ], problem


async def _own_vectors(
    passages: Sequence[Passage], vectors: Mapping[bytes, Vector], *, around: NeighbourSet
) -> list[Vector]:
    """The vectors of the text itself, of which the store may have some; none if one is missing."""
    if not around.model:
        return []
    hashes = [passage.hash for passage in passages[: MOST_COMPARED + 1]]
    missing = [hash_ for hash_ in hashes if hash_ not in vectors]
    known = await around.store.vectors(around.space, around.model, missing) if missing else {}
    found = {**known, **vectors}
    return [found[hash_] for hash_ in hashes] if all(hash_ in found for hash_ in hashes) else []


async def _of_session(session: str, *, around: NeighbourSet) -> list[str]:
    return await around.store.list_ids(around.space, Filter(session=session), limit=_LATEST) if session else []


async def _nearest(
    own: Sequence[Vector], *, around: NeighbourSet, since: datetime | None, worth: Callable[[float], bool]
) -> tuple[list[int], str]:
    if not own or since is None:
        return [], ""
    index, space = around.index, around.space
    try:
        with telemetry.stage("write.similar"):
            # The same is asked by who looks for conflicts. What is older is left out when it is read.
            found = await index.search(space, own[0], _ALL, limit=_NEAREST)
            if len(found) == _NEAREST and worth(found[-1][1]):
                # There are more that are worth it, and some of these may be too old.
                found = await index.search(space, own[0], Filter(since=since), limit=_NEAREST)
    except (EmbeddingUnavailable, IndexUnavailable) as error:
        return [], f"what is similar could not be looked for: {error.message}"
    return [number for number, cosine in found if worth(cosine)], ""


def _nearby(
    memory: Memory,
    passages: Sequence[StoredPassage],
    own: Sequence[Vector],
    stored: Mapping[bytes, Vector],
    of_session: bool,
) -> NearbyPassage:
    embedded = [passage for passage in passages if passage.hash in stored and _fits(passage, memory)]
    if not embedded:
        return NearbyPassage(memory=memory, of_session=of_session)
    cosines = np.stack(list(own)) @ np.stack([stored[one.hash] for one in embedded]).T
    return NearbyPassage(
        memory=memory,
        of_session=of_session,
        texts=tuple(text_of(memory, one.observation, one.start, one.end) for one in embedded),
        cosines=tuple(tuple(map(float, row)) for row in cosines),
    )


def _fits(passage: StoredPassage, memory: Memory) -> bool:
    """Whether a passage is still one of its memory, which may have been revised in this moment."""
    if passage.observation is None:
        return passage.end <= len(memory.content)
    return passage.observation < len(memory.observations)
