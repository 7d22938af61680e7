"""Rung when there is something to do, so that nobody need look all the time."""

import asyncio
from contextlib import suppress


class Wakeup:
    """One waits for it, anybody on the same event loop may ring it; it is heard also by who comes a moment later."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """There is something to do."""
        self._rung.set()

    async def heard(self, *, within: float) -> bool:
        """Wait until it rings, but only so many seconds; tells whether it did."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._rung.wait()
        rung = self._rung.is_set()
        self._rung.clear()
        return rung
