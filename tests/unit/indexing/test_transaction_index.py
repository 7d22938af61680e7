"""The index of a transaction finds what the store has, as the transaction has changed it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.fakes.build import DIMENSION, MODEL
from tests.unit.harness import SPACE, Harness

from scrubjay.indexing.unapplied import TransactionIndex
from scrubjay.model.draft import Draft
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.vectors.scan import ScanIndex

QUERIES = ("tea in the morning", "the train to Lyon", "a bicycle")


class _BatchScan(ScanIndex):
    """A scan that answers several vectors at once."""

    async def search_many(
        self, space: str, vectors: Sequence[Vector], filter: Filter, *, limit: int
    ) -> list[list[tuple[int, float]]]:
        return [await self.search(space, vector, filter, limit=limit) for vector in vectors]


@pytest.mark.parametrize("kind", [ScanIndex, _BatchScan], ids=["later", "beforehand"])
@pytest.mark.parametrize(
    "filter", [Filter(), Filter(tags=("drinks",)), Filter(kind="plan")], ids=["all", "tag", "kind"]
)
async def test_it_finds_the_same_as_a_scan_of_the_transaction(
    harness: Harness, filter: Filter, kind: type[ScanIndex]
) -> None:
    # More than are searched for beforehand.
    for number in range(20):
        await harness.remember(Draft(text=f"tea number {number} in the morning", name=f"tea-{number}", intent="new"))
    before = kind(harness.store, MODEL, dimension=DIMENSION)
    vectors = [await harness.embedder.embed_query(query) for query in QUERIES]
    async with harness.store.transaction(SPACE) as store:
        index = await TransactionIndex.open(before, store, model=MODEL, space=SPACE, vectors=vectors)
        inside = replace(harness, store=store, index=index)
        exact = ScanIndex(store, MODEL, dimension=DIMENSION)

        async def require_same() -> None:
            for vector in vectors:
                expected = await exact.search(SPACE, vector, filter, limit=60)
                for limit in (1, 3, 20):
                    hits = await index.search(SPACE, vector, filter, limit=limit)
                    # Of equally near passages any may come first.
                    assert [cosine for _, cosine in hits] == pytest.approx([cosine for _, cosine in expected[:limit]])
                    assert dict(hits) == pytest.approx({number: dict(expected)[number] for number, _ in hits})

        await require_same()
        for number in range(3):
            await inside.remember(Draft(text=f"a train to Lyon at {number}", kind="plan", intent="new"))
            await require_same()
        await inside.revise("tea-1", content="a bicycle with two wheels", tags=["drinks"])
        await require_same()
        await inside.revise("tea-1", content="a bicycle with three wheels")
        await inside.forget("tea-2")
        await require_same()
        await index.after_commit()
