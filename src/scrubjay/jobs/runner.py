"""The runner: does what is due, one job after the other, and waits until there is more."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from scrubjay import telemetry
from scrubjay.errors import ScrubjayError
from scrubjay.jobs.queue import LEASE, Queue
from scrubjay.jobs.wakeup import Wakeup
from scrubjay.model.job import Job
from scrubjay.ports import Clock, DocumentStore, Progress

Handler = Callable[[Job], Awaitable[str]]
"""Does one job and tells what came of it. What it raises is tried again later."""

_log = logging.getLogger(__name__)
_PAGE = 50
# Shorter than the lease: whoever may begin it anew must not find it still going on.
_LONGEST = LEASE.total_seconds() * 0.9
_NOBODY = 3600.0
# Between two rounds, however often the bell rings: writes come by the thousand.
_BREATH = 0.2
_SECONDS = 30.0


async def run_due(
    handlers: Mapping[str, Handler],
    *,
    documents: DocumentStore,
    clock: Clock,
    limit: int,
    progress: Progress | None = None,
) -> int:
    """Do what is due now, up to so many jobs; returns how many were tried."""
    queue = Queue(documents=documents, clock=clock)
    seen: set[tuple[str, int]] = set()
    # What cannot be tried now is not asked for again for each of a thousand jobs.
    put_off: dict[str, NotNow] = {}
    tried = 0
    while tried < limit:
        jobs = [job for job in await queue.due(limit=_PAGE) if (job.id, job.version) not in seen]
        if not jobs:
            break
        for job in jobs:
            if tried >= limit:
                break
            seen.add((job.id, job.version))
            if why := put_off.get(job.kind):
                await queue.put_off(job, why.why, seconds=why.seconds)
                continue
            try:
                tried += await run_one(job, handlers, queue=queue) is not None
            except NotNow as not_now:
                put_off[job.kind] = not_now
            if progress is not None:
                progress(tried, limit)
    return tried


class NotNow(Exception):
    """A job was put off, and so would be all others of its kind."""

    def __init__(self, why: str, *, seconds: float) -> None:
        super().__init__(why)
        self.why = why
        self.seconds = seconds


async def run_one(job: Job, handlers: Mapping[str, Handler], *, queue: Queue) -> Job | None:
    """Do one job and note what came of it; None when it is somebody else's. Raises NotNow when it was put off."""
    claimed = await queue.claim(job)
    if claimed is None:
        return None
    try:
        outcome = await _done(claimed, handlers)
    except NotNow as not_now:
        await queue.put_off(claimed, not_now.why, seconds=not_now.seconds)
        raise
    except asyncio.CancelledError:
        # The next start goes on with it at once, instead of when the lease has run out.
        await queue.put_off(claimed, "interrupted", seconds=0)
        raise
    except ScrubjayError as error:
        why = error.message
    except TimeoutError:
        why = f"took longer than {_LONGEST:.0f} s"
    except Exception as error:  # noqa: BLE001 - a job's edge
        _log.exception("a job failed", extra={"fields": {"job": claimed.id, "kind": claimed.kind}})
        why = type(error).__name__
    else:
        telemetry.count("jobs", outcome="done")
        return await queue.finish(claimed, outcome)
    telemetry.count("jobs", outcome="failed")
    return await queue.fail(claimed, why)


async def _done(job: Job, handlers: Mapping[str, Handler]) -> str:
    handler = handlers.get(job.kind)
    if handler is None:
        raise NotNow(f"nobody here does {job.kind!r}", seconds=_NOBODY)
    try:
        with telemetry.stage("job.run"):
            async with asyncio.timeout(_LONGEST):
                return await handler(job)
    except ScrubjayError as error:
        wait = error.fields.get("put_off")
        if not isinstance(wait, int | float):
            raise
        raise NotNow(error.message, seconds=float(wait)) from None


async def keep_running(
    run: Callable[[], Awaitable[int]], *, bell: Wakeup, seconds: float = _SECONDS, breath: float = _BREATH
) -> None:
    """Run what is due at once, whenever the bell rings, and now and then; never ends by itself."""
    while True:
        try:
            # As long as there is something, there may be more.
            while await run():
                pass
        except ScrubjayError as error:
            _log.warning("jobs were put off", extra={"fields": {"error": error.code}})
        except Exception:  # noqa: BLE001 - a job's edge
            # What nobody thought of must not make it begin again at once.
            _log.exception("the runner of jobs failed")
        await asyncio.sleep(breath)
        await bell.heard(within=seconds)
