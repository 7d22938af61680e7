"""The index of a transaction finds what the store has, as the transaction has changed it."""

from dataclasses import replace

import pytest
from tests.fakes.build import DIMENSION, MODEL
from tests.unit.harness import SPACE, Harness

from scrubjay.indexing.unapplied import TransactionIndex
from scrubjay.model.draft import Draft
from scrubjay.model.query import Filter
from scrubjay.vectors.scan import ScanIndex

QUERIES = ("tea in the morning", "the train to Lyon", "a bicycle")


@pytest.mark.parametrize(
    "filter", [Filter(), Filter(tags=("drinks",)), Filter(kind="plan")], ids=["all", "tag", "kind"]
)
async def test_it_finds_the_same_as_a_scan_of_the_transaction(harness: Harness, filter: Filter) -> None:
    for number in range(6):
        await harness.remember(Draft(text=f"tea number {number} in the morning", name=f"tea-{number}", intent="new"))
    before = ScanIndex(harness.store, MODEL, dimension=DIMENSION)
    async with harness.store.transaction(SPACE) as store:
        index = await TransactionIndex.open(before, store, model=MODEL, space=SPACE)
        inside = replace(harness, store=store, index=index)
        exact = ScanIndex(store, MODEL, dimension=DIMENSION)

        async def require_same() -> None:
            for query in QUERIES:
                vector = await harness.embedder.embed_query(query)
                expected = await exact.search(SPACE, vector, filter, limit=20)
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
