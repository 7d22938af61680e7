"""A watchdog of the event loop: a thread measures how late the loop runs, and logs where it stands when it stalls."""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import perf_counter
from traceback import walk_stack
from types import FrameType

_log = logging.getLogger(__name__)
# Every stall of `STALL` seconds is seen; one that is shorter by the interval may be.
_INTERVAL = 0.1
STALL = 0.25
# One stall is a hint; a log of each would be a second problem.
_SECONDS_BETWEEN_LOGS = 60.0
_MAX_FRAMES = 40
# Threads that end with the daemon do not keep it from ending.
_MAX_WAIT = 1.0


@contextmanager
def watch_loop(
    report: Callable[[float], None], *, stall: float = STALL, quiet: float = _SECONDS_BETWEEN_LOGS
) -> Generator[None]:
    """Report the lag of the running event loop, in seconds, many times a second; log its stack when it stalls."""
    watchdog = _Watchdog(asyncio.get_running_loop(), report, stall=stall, quiet=quiet)
    watchdog.start()
    try:
        yield
    finally:
        watchdog.stop()


class _Watchdog:
    """Asks the event loop to answer, again and again, and measures how long each answer takes."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, report: Callable[[float], None], *, stall: float, quiet: float
    ) -> None:
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._report = report
        self._stall = stall
        self._quiet = quiet
        self._logged_at: float | None = None
        self._not_logged = 0
        self._stopping = threading.Event()
        self._answered = threading.Event()
        self._answered_at = 0.0
        self._thread = threading.Thread(target=self._watch, name="scrubjay-watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        # The loop cannot answer while it waits here.
        self._answered.set()
        self._thread.join(_MAX_WAIT)

    def _watch(self) -> None:
        while not self._stopping.wait(_INTERVAL):
            sent = perf_counter()
            try:
                self._loop.call_soon_threadsafe(self._answer)
            except RuntimeError:
                return  # The loop is closed.
            # It may have begun right after the last answer.
            is_seen = not self._answered.wait(self._stall - _INTERVAL)
            is_logged = is_seen and self._log_stall()
            self._answered.wait()
            if self._stopping.is_set():
                return
            self._answered.clear()
            lag = self._answered_at - sent
            self._report(lag)
            if lag >= self._stall and not is_seen:
                # A call in C that never paused kept this thread from looking too.
                is_logged = self._log_stall(is_over=True)
            if is_logged:
                _log.warning("the event loop runs again", extra={"fields": {"ms": round(lag * 1000)}})

    def _answer(self) -> None:
        self._answered_at = perf_counter()
        self._answered.set()

    def _log_stall(self, *, is_over: bool = False) -> bool:
        """Log where the loop stands, and the other threads, unless that was done a moment ago."""
        now = perf_counter()
        if self._logged_at is not None and now - self._logged_at < self._quiet:
            self._not_logged += 1
            return False
        frames = sys._current_frames()  # noqa: SLF001 - the documented way to see other threads
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        others = {
            names.get(ident, str(ident)): place
            for ident, frame in frames.items()
            if ident not in (self._loop_thread, self._thread.ident)
            if (place := next((text for text in _stack(frame) if text.startswith("scrubjay.")), ""))
        }
        fields = {
            "stack": [] if is_over else _stack(frames.get(self._loop_thread)),
            "threads": others,
            "stalls_not_logged": self._not_logged,
        }
        _log.warning("the event loop stalls", extra={"fields": fields})
        self._logged_at, self._not_logged = now, 0
        return True


def _stack(frame: FrameType | None) -> list[str]:
    """Return the places of a stack in the code, the innermost first: no values, which may be texts of users."""
    places = [
        f"{each.f_globals.get('__name__', '?')}.{each.f_code.co_name}:{line}"
        for each, line in (walk_stack(frame) if frame is not None else ())
    ]
    return places[:_MAX_FRAMES]
