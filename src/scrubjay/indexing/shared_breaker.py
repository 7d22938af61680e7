"""Keeps callers from waiting for somebody who is known not to answer."""

import time
from collections.abc import Callable

from scrubjay.errors import IndexUnavailable


class Breaker:
    """After a failure, fails at once for a while; then lets one caller try, and rests longer if that fails too."""

    def __init__(self, *, first: float, longest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._first = first
        self._longest = longest
        self._clock = clock
        self._rest = first
        self._until = 0.0
        self._error: IndexUnavailable | None = None

    @property
    def problem(self) -> str:
        """What failed last, if nothing has worked since."""
        return str(self._error) if self._error else ""

    def require(self) -> None:
        """Raise what was raised before, unless it is time to try again."""
        error = self._error
        if error is None:
            return
        if self._clock() < self._until:
            raise IndexUnavailable(error.message, hint=error.hint, **error.fields)
        # One tries; the others need not wait for what becomes of it.
        self._until = self._clock() + self._longest

    def failed(self, error: IndexUnavailable) -> None:
        """Rest, longer than the last time."""
        self._rest = min(2 * self._rest, self._longest) if self._error else self._first
        self._error = error
        self._until = self._clock() + self._rest

    def worked(self) -> None:
        """Let everybody through."""
        self._error = None
        self._until = 0.0
