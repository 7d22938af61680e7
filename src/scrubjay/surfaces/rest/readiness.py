"""Whether the memory can be used now: looked at once for all who ask at the same time."""

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol

from scrubjay.errors import ScrubjayError, StoreBusy
from scrubjay.version import VERSION

# Anyone may ask, as often as they like; and to look at an index may mean to count what is in it.
_FRESH, _INDEX_FRESH = 1.0, 15.0
_PATIENCE = 2.0
_RETRY_AFTER = 1
_LONG_AGO = float("-inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The store can be used; `index` says whether meanings can be searched for, or words only."""

    ready: bool = True
    store: str = "ok"
    index: str = "ok"
    scrubjay: str = VERSION


class Memory(Protocol):
    """What is looked at."""

    async def ready(self) -> None:
        """Raise what is wrong when the store cannot be used."""
        ...

    async def index_problem(self) -> str:
        """Why the index is not what it should be, if it is not."""
        ...


class ReadinessProbe:
    """Remembers for a while what it saw."""

    def __init__(self) -> None:
        self._seen: asyncio.Task[Ready] | None = None
        self._seen_at = _LONG_AGO
        self._index = "ok"
        self._index_at = _LONG_AGO

    async def look(self, memory: Memory) -> Ready:
        """What there is to say; raises StoreBusy while the store cannot be used. Where it is, is nobody's business."""
        now = time.monotonic()
        if self._seen is None or (self._seen.done() and now - self._seen_at >= _FRESH):
            self._seen_at = now
            self._seen = asyncio.create_task(self._look(memory))
            # What it ended with is looked at, also when nobody waits for it any more.
            self._seen.add_done_callback(lambda task: task.cancelled() or task.exception())
        # Whoever hangs up must not take it away from those who wait for it too.
        return await asyncio.shield(self._seen)

    async def _look(self, memory: Memory) -> Ready:
        try:
            async with asyncio.timeout(_PATIENCE):
                await memory.ready()
        except (ScrubjayError, TimeoutError) as error:
            raise StoreBusy(
                "the store cannot be used now", hint=f"Retry after {_RETRY_AFTER} s", retry_after=_RETRY_AFTER
            ) from error
        if time.monotonic() - self._index_at >= _INDEX_FRESH:
            self._index = await _index_of(memory)
            self._index_at = time.monotonic()
        return Ready(index=self._index)


async def _index_of(memory: Memory) -> str:
    try:
        async with asyncio.timeout(_PATIENCE):
            return "degraded" if await memory.index_problem() else "ok"
    except (ScrubjayError, TimeoutError):
        return "degraded"
