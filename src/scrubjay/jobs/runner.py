"""The runner: runs due jobs one after another, and waits until there are more."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from scrubjay import telemetry
from scrubjay.errors import ScrubjayError
from scrubjay.jobs.queue import LEASE, Queue
from scrubjay.model.job import Job
from scrubjay.ports import Clock, DocumentStore, Progress

Handler = Callable[[Job], Awaitable[str]]
"""Runs one job and returns its outcome; a job whose handler raises is tried again later."""

_log = logging.getLogger(__name__)
_PAGE = 50
# Shorter than the lease, so that no other runner claims a job that is still running.
_MAX_SECONDS = LEASE.total_seconds() * 0.9
_NO_HANDLER_SECONDS = 3600.0
# The pause between two rounds, however often the runner is woken: writes come by the thousand.
_PAUSE = 0.2
_POLL_SECONDS = 30.0


class Wakeup:
    """A signal for one waiting task on the same event loop; an earlier signal is not lost."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Wake the waiting task."""
        self._event.set()

    async def wait(self, *, seconds: float) -> bool:
        """Wait for the signal for at most so many seconds; return whether it came."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
        is_set = self._event.is_set()
        self._event.clear()
        return is_set


class Postponed(Exception):
    """A job was postponed, and so must be all others of its kind."""

    def __init__(self, reason: str, *, seconds: float) -> None:
        super().__init__(reason)
        self.reason = reason
        self.seconds = seconds


async def run_due(
    handlers: Mapping[str, Handler],
    *,
    documents: DocumentStore,
    clock: Clock,
    limit: int,
    progress: Progress | None = None,
) -> int:
    """Run up to `limit` due jobs; return how many were tried."""
    queue = Queue(documents=documents, clock=clock)
    seen: set[tuple[str, int]] = set()
    # A kind that cannot be tried now is not tried again for each of a thousand jobs.
    postponed: dict[str, Postponed] = {}
    tried = 0
    while tried < limit:
        jobs = [job for job in await queue.due(limit=_PAGE) if (job.id, job.version) not in seen]
        if not jobs:
            break
        for job in jobs:
            if tried >= limit:
                break
            seen.add((job.id, job.version))
            if postponement := postponed.get(job.kind):
                await queue.postpone(job, postponement.reason, seconds=postponement.seconds)
                continue
            try:
                tried += await run_one(job, handlers, queue=queue) is not None
            except Postponed as postponement:
                postponed[job.kind] = postponement
            if progress is not None:
                progress(tried, limit)
    return tried


async def run_one(job: Job, handlers: Mapping[str, Handler], *, queue: Queue) -> Job | None:
    """Run one job and store its outcome; None if another runner has it. Raise Postponed if it cannot be tried."""
    claimed = await queue.claim(job)
    if claimed is None:
        return None
    try:
        outcome = await _handle(claimed, handlers)
    except Postponed as postponement:
        await queue.postpone(claimed, postponement.reason, seconds=postponement.seconds)
        raise
    except asyncio.CancelledError:
        # The next start continues at once instead of after the lease.
        await queue.postpone(claimed, "interrupted", seconds=0)
        raise
    except ScrubjayError as error:
        reason = error.message
    except TimeoutError:
        reason = f"took longer than {_MAX_SECONDS:.0f} s"
    except Exception as error:  # noqa: BLE001 - a job's edge
        _log.exception("a job failed", extra={"fields": {"job": claimed.id, "kind": claimed.kind}})
        reason = type(error).__name__
    else:
        telemetry.count("jobs", outcome="done")
        return await queue.finish(claimed, outcome)
    telemetry.count("jobs", outcome="failed")
    return await queue.fail(claimed, reason)


async def keep_running(
    run: Callable[[], Awaitable[int]], *, wakeup: Wakeup, seconds: float = _POLL_SECONDS, pause: float = _PAUSE
) -> None:
    """Run due jobs at once, at every wake-up, and from time to time; it never returns."""
    while True:
        try:
            # While there are jobs, there may be more.
            while await run():
                pass
        except ScrubjayError as error:
            _log.warning("jobs were postponed", extra={"fields": {"error": error.code}})
        except Exception:  # noqa: BLE001 - a job's edge
            # An unforeseen error must not make it retry at once.
            _log.exception("the runner of jobs failed")
        await asyncio.sleep(pause)
        await wakeup.wait(seconds=seconds)


async def _handle(job: Job, handlers: Mapping[str, Handler]) -> str:
    handler = handlers.get(job.kind)
    if handler is None:
        raise Postponed(f"this version cannot run jobs of kind {job.kind!r}", seconds=_NO_HANDLER_SECONDS)
    try:
        with telemetry.stage("job.run"):
            async with asyncio.timeout(_MAX_SECONDS):
                return await handler(job)
    except ScrubjayError as error:
        wait = error.fields.get("put_off")
        if not isinstance(wait, int | float):
            raise
        raise Postponed(error.message, seconds=float(wait)) from None
