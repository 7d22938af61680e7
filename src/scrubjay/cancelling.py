"""Ends tasks that go on until they are cancelled."""

import asyncio
from typing import Any

# A task that has not ended by then is cancelled again.
_AGAIN_SECONDS = 5.0


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and wait until they have ended.

    Again and again: `asyncio.wait_for` of Python 3.11 loses a cancellation that comes together with a result, and a
    library may turn one into an error; work that repeats would then go on for ever.
    """
    running = {task for task in tasks if not task.done()}
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=_AGAIN_SECONDS)
    # Their errors count as seen.
    await asyncio.gather(*tasks, return_exceptions=True)
