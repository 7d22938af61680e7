"""What several suites look up."""

from collections.abc import Sequence

from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore


async def lexical_passages(
    store: RecordStore, space: str, terms: Sequence[str], filter: Filter, *, limit: int
) -> list[StoredPassage]:
    """The passages that a lexical search names, likeliest first; each must exist."""
    found = await store.lexical_candidates(space, terms, filter, limit=limit)
    assert found == sorted(found, key=lambda one: -one[1])
    numbers = [number for number, _ in found]
    known = {passage.id: passage for passage in await store.stored_passages(space, numbers)}
    return [known[number] for number in numbers]
