"""Lookups that several suites use."""

from collections.abc import Sequence

from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore


async def lexical_passages(
    store: RecordStore, space: str, terms: Sequence[str], filter: Filter, *, limit: int
) -> list[StoredPassage]:
    """Return the passages that a lexical search finds, best first; each must exist."""
    candidates = await store.lexical_candidates(space, terms, filter, limit=limit)
    assert candidates == sorted(candidates, key=lambda pair: -pair[1])
    numbers = [number for number, _ in candidates]
    existing = {passage.id: passage for passage in await store.stored_passages(space, numbers)}
    return [existing[number] for number in numbers]
