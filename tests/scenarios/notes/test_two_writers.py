"""An agent and a user who change the same note in all orders: no word is lost, and both sides end up equal."""

import asyncio
import itertools
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scenarios.notes.harness import VaultHarness, open_harness
from tests.scenarios.notes.writers import OPS, STRATEGIES, Round
from tests.scenarios.wiring import quick_place


def orders(length: int) -> list[str]:
    """Return the orders with a change on both sides."""
    all_orders = ("".join(ops) for ops in itertools.product(OPS, repeat=length))
    return [
        order for order in all_orders if "SS" not in order and set(order) & set("EeRD") and set(order) & set("AaFTVS")
    ]


async def play(harness: VaultHarness, order: str, *, strategy: str) -> None:
    shared = await Round.begin(harness, strategy=strategy)
    for op in order:
        await shared.play(op)
    await shared.finish()
    await shared._forget()
    await harness.sync()
    for path in harness.root.rglob("*.md"):
        path.unlink()
    await harness.sync(deletions=True)


@settings(max_examples=20, deadline=None)
@given(st.text(OPS, min_size=2, max_size=10), st.sampled_from(STRATEGIES))
def test_no_random_order_loses_a_word(order: str, strategy: str) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder:
            async with open_harness(Path(folder) / "data") as harness:
                await play(harness, order, strategy=strategy)

    asyncio.run(run())


@pytest.mark.parametrize("seed", range(2))
async def test_no_order_loses_a_word(harness: VaultHarness, seed: int) -> None:
    rng = random.Random(seed)
    for order in [*rng.sample(orders(3), 12), *rng.sample(orders(5), 12)]:
        try:
            await play(harness, order, strategy=rng.choice(STRATEGIES))
        except BaseException as error:
            error.add_note(order)
            raise


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_conflict_is_reported_resolved_and_written(harness: VaultHarness, strategy: str) -> None:
    for order in ("AES", "EAS", "AESAES", "AESEVS", "AESRVS"):
        await play(harness, order, strategy=strategy)
