"""Leadership of a shared index: the election on one machine, and the background task that updates the index."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from contextvars import Context
from pathlib import Path

from scrubjay.indexing.protocol import Candidacy, CommitListener
from scrubjay.indexing.shared_updater import SharedIndexPolicy, SharedIndexUpdater
from scrubjay.locking import FileLock
from scrubjay.ports.cluster import Leadership, LeadershipCandidate

_LOCK_POLL_SECONDS = 1.0


class SharedIndexLeader:
    """A background task that runs for the leadership and updates the index while it leads.

    It retries after a failure, with a longer pause each time.
    """

    def __init__(
        self,
        start: Callable[[], SharedIndexUpdater],
        candidacy: Candidacy,
        *,
        listen: CommitListener | None,
        policy: SharedIndexPolicy,
        on_success: Callable[[], None],
    ) -> None:
        self._start = start
        self._candidacy = candidacy
        self._leadership: Leadership | None = None
        self._listen = listen
        self._policy = policy
        self._on_success = on_success
        self._updater: SharedIndexUpdater | None = None
        self._notified = asyncio.Event()
        self._retry = asyncio.Event()
        self._waiters: list[asyncio.Event] = []
        # The task must not run in the context of the request that happens to start it.
        self._task = asyncio.create_task(self._serve(), context=Context())
        self.problem = ""

    @property
    def leads(self) -> bool:
        """Whether this server leads."""
        return self._leadership is not None and self._leadership.leads

    @property
    def is_building(self) -> bool:
        """Whether it is rebuilding the index."""
        return self._updater is not None and self._updater.is_building

    def notify(self) -> None:
        """Report new changes; during the pause after a failure this has no effect."""
        self._notified.set()

    def retry_now(self) -> None:
        """Update at once, even during the pause after a failure."""
        self._retry.set()
        self._notified.set()

    async def settle(self) -> None:
        """Wait for an update that begins after this call, if this server leads."""
        leadership = self._leadership
        if leadership is None or not leadership.leads or self._task.done():
            return
        waiter = asyncio.Event()
        self._waiters.append(waiter)
        self.retry_now()
        updated = asyncio.create_task(waiter.wait())
        dismissed = asyncio.create_task(leadership.wait_until_dismissed())
        await asyncio.wait({updated, dismissed, self._task}, return_when=asyncio.FIRST_COMPLETED)
        await _cancel(updated, dismissed)

    async def close(self) -> None:
        """Stop, and let another server lead."""
        await _cancel(self._task)

    async def _serve(self) -> None:
        async with AsyncExitStack() as stack:
            if self._listen is not None:
                await stack.enter_async_context(self._listen(self.notify))
            self._leadership = leadership = await stack.enter_async_context(self._candidacy)
            while True:
                await leadership.wait_until_elected()
                work = asyncio.create_task(self._lead())
                dismissed = asyncio.create_task(leadership.wait_until_dismissed())
                try:
                    await asyncio.wait({work, dismissed}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    await _cancel(work, dismissed)

    async def _lead(self) -> None:
        self._updater = updater = self._start()
        retry_pause = self._policy.first_retry
        while True:
            self._notified.clear()
            self._retry.clear()
            waiters, self._waiters = self._waiters, []
            try:
                await updater.update()
            except Exception as error:  # noqa: BLE001 - the edge of a background task: it retries after any error
                self.problem = str(error) or type(error).__name__
                wake, pause = self._retry, retry_pause
                retry_pause = min(2 * retry_pause, self._policy.max_retry)
            else:
                self.problem = ""
                self._on_success()
                wake, pause, retry_pause = self._notified, self._policy.poll, self._policy.first_retry
            for waiter in waiters:
                waiter.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await wake.wait()


class FileLeadership(LeadershipCandidate):
    """An election among the processes of one machine: the holder of a file lock leads until it ends."""

    def __init__(self, path: Path, *, seconds: float = _LOCK_POLL_SECONDS) -> None:
        super().__init__()
        self._lock = FileLock(path)
        self._seconds = seconds

    async def campaign(self) -> None:
        """Try the lock until it is free, and hold it."""
        while not self._acquire():  # noqa: ASYNC110 - the system does not report that another process has ended
            await asyncio.sleep(self._seconds)
        try:
            with self.lead():
                await asyncio.Event().wait()
        finally:
            self._lock.release()

    def _acquire(self) -> bool:
        # Without a writable folder there is no leader yet.
        with suppress(OSError):
            return self._lock.acquire(exclusive=True)
        return False


async def _cancel(*tasks: asyncio.Task[object]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
