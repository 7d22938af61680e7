"""An agent and an editor on the same note, in all orders: no word is lost, and in the end both sides agree."""

import asyncio
import itertools
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.scenarios.notes.vaults import Desk, open_desk
from tests.scenarios.notes.writers import OPS, STRATEGIES, Round
from tests.scenarios.wiring import quick_place


def orders(length: int) -> list[str]:
    """The orders in which anything can happen: without a change on a side there is nothing to see."""
    results = ("".join(item) for item in itertools.product(OPS, repeat=length))
    return [item for item in results if "SS" not in item and set(item) & set("EeRD") and set(item) & set("AaFTVS")]


async def play(context: Desk, order: str, *, strategy: str) -> None:
    item = await Round.begin(context, strategy=strategy)
    for op in order:
        await item.play(op)
    await item.finish()
    await item._forget()
    await context.sync()
    for path in context.root.rglob("*.md"):
        path.unlink()
    await context.sync(deletions=True)


@settings(max_examples=20, deadline=None)
@given(some.text(OPS, min_size=2, max_size=10), some.sampled_from(STRATEGIES))
def test_no_story_loses_a_word(order: str, strategy: str) -> None:
    async def told() -> None:
        with tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder:
            async with open_desk(Path(folder) / "data") as context:
                await play(context, order, strategy=strategy)

    asyncio.run(told())


@pytest.mark.parametrize("seed", range(2))
async def test_no_order_loses_a_word(context: Desk, seed: int) -> None:
    drawn = random.Random(seed)
    for order in [*drawn.sample(orders(3), 12), *drawn.sample(orders(5), 12)]:
        try:
            await play(context, order, strategy=drawn.choice(STRATEGIES))
        except BaseException as error:
            error.add_note(order)
            raise


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_clash_is_told_decided_and_written(context: Desk, strategy: str) -> None:
    for order in ("AES", "EAS", "AESAES", "AESEVS", "AESRVS"):
        await play(context, order, strategy=strategy)
