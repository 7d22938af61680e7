"""A circuit breaker: whoever failed several times in a row is left alone for a while, each time for longer."""

import time
from collections.abc import Callable

_MOST_FAILURES = 3
_REST = 60.0
_LONGEST_REST = 3600.0


class Breaker:
    """Open after so many failures in a row; half open afterwards: one may try, and decides for the others."""

    def __init__(self, *, failures: int = _MOST_FAILURES, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = failures
        self._clock = clock
        self._failed = 0
        self._rest = _REST
        self._until = 0.0
        self._trying = False

    @property
    def rest(self) -> float:
        """For how many seconds nobody may try."""
        if self._failed < self._most:
            return 0.0
        left = max(0.0, self._until - self._clock())
        # The one who tries is waited for.
        return left or (1.0 if self._trying else 0.0)

    def trying(self) -> None:
        """Somebody tries."""
        self._trying = True

    def succeeded(self) -> None:
        """It works again."""
        self._failed, self._rest, self._trying = 0, _REST, False

    def failed(self) -> None:
        """It did not work."""
        self._failed += 1
        self._trying = False
        if self._failed >= self._most:
            self._until = self._clock() + self._rest
            self._rest = min(self._rest * 4, _LONGEST_REST)

    def left(self) -> None:
        """Whoever tried has gone without knowing."""
        self._trying = False
