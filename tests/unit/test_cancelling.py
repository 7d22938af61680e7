import asyncio

import pytest
from tests.patience import PATIENCE

from scrubjay import cancelling
from scrubjay.cancelling import cancel


async def test_a_task_that_outlives_its_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cancellations = 0

    async def go_on_once() -> None:
        nonlocal cancellations
        while cancellations < 2:
            try:
                await asyncio.sleep(PATIENCE)
            except asyncio.CancelledError:
                cancellations += 1

    monkeypatch.setattr(cancelling, "_AGAIN_SECONDS", 0.01)
    task = asyncio.create_task(go_on_once())
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE / 2):
        await cancel(task)
    assert cancellations == 2


async def test_errors_of_tasks_that_end_are_theirs() -> None:
    async def fail() -> None:
        raise ValueError("an error")

    failed = asyncio.create_task(fail())
    await asyncio.wait({failed})
    endless = asyncio.create_task(asyncio.sleep(PATIENCE))
    await cancel(failed, endless)
    assert endless.cancelled()
