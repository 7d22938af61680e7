"""Counting readings in the background, never in the reader's way."""

import asyncio
from collections.abc import Iterable

from scrubjay.errors import StoreError
from scrubjay.ports import Clock, Records

_DELAY = 2.0


class AccessLog:
    """Gathers what was read and writes it down a little later."""

    def __init__(self, records: Records, *, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._waiting: dict[str, set[str]] = {}
        self._task: asyncio.Task[None] | None = None

    def note(self, read: Iterable[tuple[str, str]]) -> None:
        """Remember that these were read, each named by its space and its id."""
        for space, memory_id in read:
            self._waiting.setdefault(space, set()).add(memory_id)
        if self._waiting and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._later())

    async def flush(self) -> None:
        """Write down what has gathered; a store that cannot take it now loses a count, never a fact."""
        waiting, self._waiting = self._waiting, {}
        for space, ids in waiting.items():
            try:
                await self._records.touch(space, sorted(ids), at=self._clock.now())
            except StoreError:
                continue

    async def close(self) -> None:
        """Write down the rest."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.flush()

    async def _later(self) -> None:
        await asyncio.sleep(_DELAY)
        self._task = None
        await self.flush()
