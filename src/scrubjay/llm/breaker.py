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
        self._deciding: Attempt | None = None

    @property
    def rest(self) -> float:
        """For how many seconds nobody may try."""
        if not self._is_open:
            return 0.0
        left = max(0.0, self._until - self._clock())
        # The one who decides is waited for.
        return left or (1.0 if self._deciding else 0.0)

    def trying(self) -> "Attempt":
        """Somebody tries, and says through this what came of it."""
        attempt = Attempt(self)
        if self._is_open:
            self._deciding = attempt
        return attempt

    def succeeded(self) -> None:
        """It works again, whoever found out."""
        self._failed, self._deciding = 0, None

    def failed(self, attempt: "Attempt") -> None:
        """It did not work for somebody. Calls that were begun before the rest say nothing new of it."""
        if attempt is self._deciding:
            self._deciding = None
            self._take_rest(min(self._rest * 4, _LONGEST_REST))
        elif not self._is_open:
            self._failed += 1
            if self._is_open:
                self._take_rest(_REST)

    def left(self, attempt: "Attempt") -> None:
        """Somebody who tried has gone; if others waited for what it would find, another may try."""
        if attempt is self._deciding:
            self._deciding = None

    @property
    def _is_open(self) -> bool:
        return self._failed >= self._most

    def _take_rest(self, seconds: float) -> None:
        self._rest = seconds
        self._until = self._clock() + seconds


class Attempt:
    """One try at what may be broken."""

    def __init__(self, breaker: Breaker) -> None:
        self._breaker = breaker

    def succeeded(self) -> None:
        """It worked."""
        self._breaker.succeeded()

    def failed(self) -> None:
        """It did not work."""
        self._breaker.failed(self)

    def left(self) -> None:
        """It is over, with or without a finding."""
        self._breaker.left(self)
