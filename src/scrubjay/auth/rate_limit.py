"""Rate limits: a token bucket for each access token."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from scrubjay.errors import TooManyRequests

_MAX_BUCKETS = 4096
_MINUTE = 60.0
# A caller that waited as long as it should must not fail because of a rounding error.
_TOLERANCE = 1e-6


@dataclass(slots=True)
class _Bucket:
    """The requests left of a minute, at a moment."""

    left: float
    at: float


class RateLimiter:
    """Counts requests by token. A bucket holds at most one minute's requests."""

    def __init__(
        self, per_minute: int, *, monotonic: Callable[[], float] = time.monotonic, max_buckets: int = _MAX_BUCKETS
    ) -> None:
        self._per_minute = per_minute
        self._monotonic = monotonic
        # Above the maximum, the least recently used one goes: it is most likely full again.
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._max_buckets = max_buckets

    async def take(self, grant_id: str, per_minute: int = 0) -> None:
        """Count a request, against the token's own limit if it has one; raises TooManyRequests.

        Callers without a token, such as the owner, are not counted.
        """
        limit = per_minute or self._per_minute
        if not grant_id or not limit:
            return
        bucket = self._refill(grant_id, limit)
        if bucket.left < 1 - _TOLERANCE:
            wait = math.ceil((1 - bucket.left) * _MINUTE / limit)
            raise rate_exceeded(limit, wait=wait)
        bucket.left -= 1

    def _refill(self, grant_id: str, limit: int) -> _Bucket:
        now = self._monotonic()
        bucket = self._buckets.get(grant_id)
        if bucket is None:
            bucket = self._buckets[grant_id] = _Bucket(left=limit, at=now)
            if len(self._buckets) > self._max_buckets:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(grant_id)
        bucket.left = min(limit, bucket.left + (now - bucket.at) * limit / _MINUTE)
        bucket.at = now
        return bucket


def rate_exceeded(limit: int, *, wait: int) -> TooManyRequests:
    """Return the error for a token that has used its requests of this minute."""
    return TooManyRequests(
        f"this token may make {limit:,} requests a minute",
        hint=f"Wait {wait} s and try again",
        retry_after=wait,
        limit=limit,
    )
