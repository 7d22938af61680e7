"""How often a token may be used: a bucket for each, which fills up as time passes."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from scrubjay.errors import TooManyRequests

_MOST_BUCKETS = 4096
_MINUTE = 60.0
# Whoever has waited as long as told must not be sent away for the last digit of a fraction.
_GRAIN = 1e-6


@dataclass(slots=True)
class _Bucket:
    """What is left of a minute's worth, as of a moment."""

    left: float
    at: float


class RateLimiter:
    """Counts requests by token. Nobody may save up more than one minute's worth."""

    def __init__(
        self, per_minute: int, *, monotonic: Callable[[], float] = time.monotonic, most: int = _MOST_BUCKETS
    ) -> None:
        self._per_minute = per_minute
        self._monotonic = monotonic
        # The least recently used goes when there are too many: it has most likely filled up by then.
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._most = most

    async def take(self, grant_id: str, per_minute: int = 0) -> None:
        """Count a request, against the token's own limit if it has one; raises TooManyRequests.

        Whoever comes without a token, as the owner does, is not counted.
        """
        limit = per_minute or self._per_minute
        if not grant_id or not limit:
            return
        bucket = self._filled(grant_id, limit)
        if bucket.left < 1 - _GRAIN:
            wait = math.ceil((1 - bucket.left) * _MINUTE / limit)
            raise TooManyRequests(
                f"this token may make {limit:,} requests a minute",
                hint=f"Wait {wait} s and try again",
                retry_after=wait,
                limit=limit,
            )
        bucket.left -= 1

    def _filled(self, grant_id: str, limit: int) -> _Bucket:
        now = self._monotonic()
        bucket = self._buckets.get(grant_id)
        if bucket is None:
            bucket = self._buckets[grant_id] = _Bucket(left=limit, at=now)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(grant_id)
        bucket.left = min(limit, bucket.left + (now - bucket.at) * limit / _MINUTE)
        bucket.at = now
        return bucket
