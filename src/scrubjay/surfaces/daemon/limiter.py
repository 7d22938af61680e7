"""The gate that every request passes: not too many at once, none for too long, and none lost when the daemon stops."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from scrubjay import telemetry
from scrubjay.errors import Busy, ScrubjayError
from scrubjay.rpc.names import VERBS
from scrubjay.surfaces.mcp.toolsets import TOOLSETS

T = TypeVar("T")
_log = logging.getLogger(__name__)
_RETRY_AFTER = 1
# What agents ask for besides tools.
_METHODS = frozenset(
    {
        "completion/complete",
        "prompts/get",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "subscriptions/listen",
    }
)
# Files that are fetched over HTTP.
_FILES = frozenset({"download_attachment", "export_note"})
KNOWN = VERBS | _METHODS | _FILES | {tool.name for tools in TOOLSETS.values() for tool in tools}
"""What metrics, traces and logs call by its name; anybody may ask for anything, and the rest is `OTHER`."""
OTHER = "other"


class RequestLimiter:
    """Counts what is being worked on, refuses what is too much, and waits for the rest at the end."""

    def __init__(self, *, most: int, seconds: float, known: Collection[str] = KNOWN) -> None:
        self._most = most
        self._seconds = seconds
        self._known = known
        # Kept here, because the event loop holds tasks only weakly.
        self._tasks: set[asyncio.Task[object]] = set()
        self._emptied = asyncio.Event()
        self._is_closing = False
        self.inside = 0
        self.served = 0

    async def run(self, verb: str, work: Coroutine[object, object, T], *, reads: bool = False, long: bool = False) -> T:
        """Do the work of a request; raises Busy when there is too much, or when it takes too long.

        Reading that nobody waits for any more is given up. A write that was begun is finished, whoever waits.
        """
        with telemetry.request(verb if verb in self._known else OTHER) as request:
            try:
                return await self._admit(verb, work, reads=reads, seconds=None if long else self._seconds)
            except ScrubjayError as error:
                request.outcome = _outcome(error)
                raise

    def require_open(self) -> None:
        """Raise Busy when the daemon is leaving, so that new requests go elsewhere."""
        if self._is_closing:
            raise self._refusal()

    @asynccontextmanager
    async def staying(self, verb: str) -> AsyncGenerator[None]:
        """Be counted for as long as a block lasts: for what is read little by little."""
        with telemetry.request(verb if verb in self._known else OTHER):
            if self._is_closing or self.inside >= self._most:
                raise self._refusal()
            self.inside += 1
            try:
                yield
            finally:
                self._leave()

    async def close(self, *, seconds: float) -> int:
        """Let nobody in any more and wait for those inside; returns how many were still there after the time."""
        self._is_closing = True
        self._emptied.clear()
        if self.inside:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._emptied.wait(), seconds)
        return self.inside

    async def _admit(self, verb: str, work: Coroutine[object, object, T], *, reads: bool, seconds: float | None) -> T:
        if self._is_closing or self.inside >= self._most:
            work.close()
            raise self._refusal()
        return await (self._read(verb, work, seconds) if reads else self._write(verb, work, seconds))

    async def _read(self, verb: str, work: Coroutine[object, object, T], seconds: float | None) -> T:
        """Reading ends with whoever waits for it."""
        self.inside += 1
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise self._too_slow(verb, reads=True) from None
            raise
        finally:
            self._leave()

    async def _write(self, verb: str, work: Coroutine[object, object, T], seconds: float | None) -> T:
        """A write is a task of its own, which nobody who leaves takes along."""
        task = asyncio.create_task(work)
        self.inside += 1
        self._tasks.add(task)
        task.add_done_callback(self._finish)
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            raise self._too_slow(verb, reads=False)
        return task.result()

    def _leave(self) -> None:
        self.inside -= 1
        self.served += 1
        if not self.inside:
            self._emptied.set()

    def _finish(self, task: asyncio.Task[T]) -> None:
        self._tasks.discard(task)
        self._leave()
        # Asked for here, in case nobody waits for it any more; what its caller is told of is not worth a line.
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, ScrubjayError):
            _log.warning("a write failed", extra={"fields": {"error": type(error).__name__}})

    def _refusal(self) -> Busy:
        why = "the daemon is shutting down" if self._is_closing else f"{self.inside:,} requests are waiting already"
        return Busy(why, hint=f"Retry after {_RETRY_AFTER} s", retry_after=_RETRY_AFTER, refused=True)

    def _too_slow(self, verb: str, *, reads: bool) -> Busy:
        hint = (
            f"Retry after {_RETRY_AFTER} s"
            if reads
            else "It goes on and may still be committed: look before you repeat it"
        )
        return Busy(f"{verb} took longer than {self._seconds:g} s", hint=hint, retry_after=_RETRY_AFTER, refused=False)


def _outcome(error: ScrubjayError) -> str:
    """How a request ended: the error's code, unless it is the gate's own."""
    if isinstance(error, Busy) and "refused" in error.fields:
        return "refused" if error.fields["refused"] else "slow"
    return error.code
