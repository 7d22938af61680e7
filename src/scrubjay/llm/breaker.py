"""A circuit breaker: after several failures in a row it blocks calls for a while, each time for longer."""

import time
from collections.abc import Callable

_MAX_FAILURES = 3
_FIRST_PAUSE = 60.0
_LONGEST_PAUSE = 3600.0
# How long other callers wait for the result of a probe.
_PROBE_SECONDS = 1.0


class CircuitBreaker:
    """Opens after several failures in a row. Once the pause is over, one call is the probe that decides for all."""

    def __init__(self, *, failures: int = _MAX_FAILURES, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_failures = failures
        self._clock = clock
        self._failures = 0
        self._pause = _FIRST_PAUSE
        self._paused_until = 0.0
        self._probe: Attempt | None = None

    @property
    def retry_after(self) -> float:
        """The number of seconds for which calls are blocked; 0 if a call may start now."""
        if not self._is_open:
            return 0.0
        remaining = max(0.0, self._paused_until - self._clock())
        return remaining or (_PROBE_SECONDS if self._probe else 0.0)

    def start_attempt(self) -> "Attempt":
        """Start a call; report its outcome through the returned attempt."""
        attempt = Attempt(self)
        if self._is_open:
            self._probe = attempt
        return attempt

    def record_success(self) -> None:
        """Close the breaker: the service works again."""
        self._failures, self._probe = 0, None

    def record_failure(self, attempt: "Attempt") -> None:
        """Count a failed call. Calls that started before the breaker opened do not extend the pause."""
        if attempt is self._probe:
            self._probe = None
            self._start_pause(min(self._pause * 4, _LONGEST_PAUSE))
        elif not self._is_open:
            self._failures += 1
            if self._is_open:
                self._start_pause(_FIRST_PAUSE)

    def release(self, attempt: "Attempt") -> None:
        """End a call. If it was the probe and has no outcome, another call may probe."""
        if attempt is self._probe:
            self._probe = None

    @property
    def _is_open(self) -> bool:
        return self._failures >= self._max_failures

    def _start_pause(self, seconds: float) -> None:
        self._pause = seconds
        self._paused_until = self._clock() + seconds


class Attempt:
    """One call to a service that may be down."""

    def __init__(self, breaker: CircuitBreaker) -> None:
        self._breaker = breaker

    def succeed(self) -> None:
        """Report that the call worked."""
        self._breaker.record_success()

    def fail(self) -> None:
        """Report that the call failed."""
        self._breaker.record_failure(self)

    def finish(self) -> None:
        """Report that the call is over, with or without an outcome."""
        self._breaker.release(self)
