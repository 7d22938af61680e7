"""The gate that every request passes: not too many at once, none for too long, and none lost when the daemon stops."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import TypeVar

from scrubjay.errors import Busy

T = TypeVar("T")
_log = logging.getLogger(__name__)
_RETRY_AFTER = 1


class Gate:
    """Counts what is being worked on, refuses what is too much, and waits for the rest at the end."""

    def __init__(self, *, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._tasks: set[asyncio.Task[object]] = set()
        self._is_closing = False
        self.served = 0

    @property
    def inside(self) -> int:
        """How many requests are being worked on or waiting."""
        return len(self._tasks)

    async def run(self, verb: str, work: Coroutine[object, object, T], *, reads: bool = False, long: bool = False) -> T:
        """Do the work of a request; raises Busy when there is too much, or when it takes too long.

        Reading that nobody waits for any more is given up. A write that was begun is finished, whoever waits.
        """
        if self._is_closing or len(self._tasks) >= self._most:
            work.close()
            raise self._refusal()
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._leave)
        try:
            done, _ = await asyncio.wait({task}, timeout=None if long else self._seconds)
        except asyncio.CancelledError:
            if reads:
                task.cancel()
            raise
        if not done:
            if reads:
                task.cancel()
            raise self._too_slow(verb, reads=reads)
        return task.result()

    async def close(self, *, seconds: float) -> int:
        """Let nobody in any more and wait for those inside; returns how many were still there after the time."""
        self._is_closing = True
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
        return len(self._tasks)

    def _leave(self, task: asyncio.Task[T]) -> None:
        self._tasks.discard(task)
        self.served += 1
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.debug("a request failed", extra={"fields": {"error": type(error).__name__}})

    def _refusal(self) -> Busy:
        why = (
            "the daemon is shutting down" if self._is_closing else f"{len(self._tasks):,} requests are waiting already"
        )
        return Busy(why, hint=f"Retry after {_RETRY_AFTER} s", retry_after=_RETRY_AFTER, refused=True)

    def _too_slow(self, verb: str, *, reads: bool) -> Busy:
        hint = (
            f"Retry after {_RETRY_AFTER} s"
            if reads
            else "It goes on and may still be committed: look before you repeat it, or repeat it with the same "
            "idempotency_key"
        )
        return Busy(f"{verb} took longer than {self._seconds:g} s", hint=hint, retry_after=_RETRY_AFTER, refused=False)
