"""Who leads among the processes of one machine: whoever holds a file's lock."""

import asyncio
from contextlib import suppress
from pathlib import Path

from scrubjay.locking import FileLock
from scrubjay.ports.cluster import LeadershipCandidate

_SECONDS = 1.0


class FileLeadership(LeadershipCandidate):
    """A candidate that leads until it ends. Use it as an async context manager."""

    def __init__(self, path: Path, *, seconds: float = _SECONDS) -> None:
        super().__init__()
        self._lock = FileLock(path)
        self._seconds = seconds

    async def campaign(self) -> None:
        """Look for the lock until it is free, and keep it."""
        while not self._take():  # noqa: ASYNC110 - nobody tells when another process ends
            await asyncio.sleep(self._seconds)
        try:
            with self.lead():
                await asyncio.Event().wait()
        finally:
            self._lock.release()

    def _take(self) -> bool:
        # Where no lock can be made nobody leads, until it can.
        with suppress(OSError):
            return self._lock.acquire(exclusive=True)
        return False
