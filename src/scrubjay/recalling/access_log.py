"""Counts accesses in the background, so that reading never waits for a write."""

import asyncio
from collections.abc import Iterable

from scrubjay.errors import StoreError
from scrubjay.ports import Clock, Records

_DELAY = 2.0


class AccessLog:
    """Collects which memories were read and writes the counts a little later; without records it counts nothing."""

    def __init__(self, records: Records | None, *, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._pending: dict[str, set[str]] = {}
        self._task: asyncio.Task[None] | None = None

    def note(self, accesses: Iterable[tuple[str, str]]) -> None:
        """Record that memories were read, each as its space and its id."""
        if self._records is None:
            return
        for space, memory_id in accesses:
            self._pending.setdefault(space, set()).add(memory_id)
        if self._pending and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._flush_later())

    async def flush(self) -> None:
        """Write the pending counts; a store that fails now loses a count, never a fact."""
        if self._records is None:
            return
        pending, self._pending = self._pending, {}
        for space, ids in pending.items():
            try:
                await self._records.touch(space, sorted(ids), at=self._clock.now())
            except StoreError:
                continue

    async def close(self) -> None:
        """Write the rest and stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.flush()

    async def _flush_later(self) -> None:
        await asyncio.sleep(_DELAY)
        self._task = None
        await self.flush()
