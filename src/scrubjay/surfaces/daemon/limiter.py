"""Limits the number and the duration of requests, and finishes accepted ones before the daemon stops."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from typing import TypeVar

from scrubjay import telemetry
from scrubjay.errors import Busy, ScrubjayError
from scrubjay.model.verbs import VERBS
from scrubjay.surfaces.http.caller import caller_gone, disconnect, is_disconnect
from scrubjay.workers import Admission, admission

T = TypeVar("T")
_log = logging.getLogger(__name__)
_RETRY_AFTER = 1
# Methods of MCP besides tools.
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
# Downloads over HTTP.
_FILES = frozenset({"download_attachment", "export_note"})
_BESIDE_TOOLS = frozenset(VERBS) | _METHODS | _FILES
OTHER = "other"


@cache
def known_verbs() -> frozenset[str]:
    """Return the names in metrics, traces and logs; callers can send any name, and the rest is `OTHER`."""
    # A daemon without agents does not load the tools.
    from scrubjay.surfaces.mcp.toolsets import TOOLSETS  # noqa: PLC0415

    return _BESIDE_TOOLS | {tool.name for tools in TOOLSETS.values() for tool in tools}


class RequestLimiter:
    """Counts running requests, refuses those over the limit, and waits for the rest at the end.

    A caller with a token may have half of them. A request counts until all of its work has ended.
    """

    def __init__(self, *, max_requests: int, seconds: float, known_verbs: Collection[str] | None = None) -> None:
        self._max_requests = max_requests
        self._seconds = seconds
        self._known_verbs = known_verbs
        # References, because the event loop has only weak ones.
        self._tasks: set[asyncio.Task[object]] = set()
        self._idle = asyncio.Event()
        self._is_closing = False
        self._by_caller: Counter[str] = Counter()
        self.active = 0
        self.served = 0

    async def run(
        self,
        verb: str,
        work: Coroutine[object, object, T],
        *,
        caller: str = "",
        reads: bool = False,
        long: bool = False,
    ) -> T:
        """Do the work of a request; raises Busy if there are too many, or if it takes too long.

        A read is cancelled when its caller is gone. A write that has begun is always finished. `caller` is the id of
        a token; the owner has none.
        """
        with telemetry.request(self._label(verb)) as request:
            try:
                self._require_room(caller)
            except Busy as error:
                work.close()
                request.outcome = _outcome(error)
                raise
            seconds = None if long else self._seconds
            token = admission.set(Admission(caller))
            try:
                return await (self._read(verb, work, seconds) if reads else self._write(verb, work, seconds))
            except ScrubjayError as error:
                request.outcome = _outcome(error)
                raise
            except Exception as error:
                if is_disconnect(error):
                    request.outcome = "gone"
                raise
            finally:
                admission.reset(token)

    def require_open(self) -> None:
        """Raise Busy if the daemon is stopping, so that new requests go elsewhere."""
        if self._is_closing:
            raise self._refusal()

    @asynccontextmanager
    async def hold(self, verb: str, *, caller: str = "") -> AsyncGenerator[None]:
        """Count a request for the duration of a block, for responses that are read bit by bit."""
        with telemetry.request(self._label(verb)):
            self._require_room(caller)
            self._enter(caller)
            try:
                yield
            finally:
                self._leave(caller)

    async def close(self, *, seconds: float) -> int:
        """Refuse new requests and wait for running ones; return the number that still run after the time."""
        self._is_closing = True
        self._idle.clear()
        if self.active:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), seconds)
        return self.active

    def _label(self, verb: str) -> str:
        if self._known_verbs is None:
            return verb if verb in _BESIDE_TOOLS or verb in known_verbs() else OTHER
        return verb if verb in self._known_verbs else OTHER

    def _require_room(self, caller: str) -> None:
        share = max(1, self._max_requests // 2) if caller else self._max_requests
        if self._is_closing or self.active >= self._max_requests or self._by_caller[caller] >= share:
            raise self._refusal()

    async def _read(self, verb: str, work: Coroutine[object, object, T], seconds: float | None) -> T:
        """Do the work in the task of the caller, and so cancel it with the caller."""
        current, limit, gone = admission.get(), asyncio.timeout(seconds), caller_gone.get()

        def stop(_: object) -> None:
            # It may just have ended.
            with suppress(RuntimeError):
                limit.reschedule(0)

        self._enter(current.caller)
        try:
            async with limit:
                if gone is not None:
                    gone.add_done_callback(stop)
                return await work
        except TimeoutError:
            if gone is not None and gone.done():
                raise disconnect() from None
            if limit.expired():
                raise self._too_slow(verb, reads=True) from None
            raise
        finally:
            if gone is not None:
                gone.remove_done_callback(stop)
            self._leave_at_end(current)

    async def _write(self, verb: str, work: Coroutine[object, object, T], seconds: float | None) -> T:
        """Do the work in a task of its own, which goes on without the caller."""
        task, current = asyncio.create_task(work), admission.get()
        self._enter(current.caller)
        self._tasks.add(task)
        task.add_done_callback(partial(self._finish, current))
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            raise self._too_slow(verb, reads=False)
        return task.result()

    def _enter(self, caller: str) -> None:
        self.active += 1
        self._by_caller[caller] += 1

    def _leave(self, caller: str) -> None:
        self.active -= 1
        self.served += 1
        self._by_caller[caller] -= 1
        if not self._by_caller[caller]:
            del self._by_caller[caller]
        if not self.active:
            self._idle.set()

    def _leave_at_end(self, current: Admission) -> None:
        """Stop counting a request once its threads have ended, which nothing can stop."""
        if current.threads:
            ends = asyncio.gather(*current.threads, return_exceptions=True)
            ends.add_done_callback(lambda _: self._leave(current.caller))
        else:
            self._leave(current.caller)

    def _finish(self, current: Admission, task: asyncio.Task[T]) -> None:
        self._tasks.discard(task)
        self._leave_at_end(current)
        # Retrieved here in case the caller is gone; errors of Scrubjay are not worth a line.
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, ScrubjayError):
            _log.warning("a write failed", extra={"fields": {"error": type(error).__name__}})

    def _refusal(self) -> Busy:
        reason = "the daemon is shutting down" if self._is_closing else f"{self.active:,} requests are waiting already"
        return Busy(reason, hint=f"Retry after {_RETRY_AFTER} s", retry_after=_RETRY_AFTER, refused=True)

    def _too_slow(self, verb: str, *, reads: bool) -> Busy:
        hint = (
            f"Retry after {_RETRY_AFTER} s"
            if reads
            else "It continues and may still be committed: check before you repeat it"
        )
        return Busy(f"{verb} took longer than {self._seconds:g} s", hint=hint, retry_after=_RETRY_AFTER, refused=False)


def _outcome(error: ScrubjayError) -> str:
    """Return the outcome of a request: the code of the error, unless the limiter raised it."""
    if isinstance(error, Busy) and "refused" in error.fields:
        return "refused" if error.fields["refused"] else "slow"
    return error.code
