"""Rate limits across several servers: each server leases a part of a token's minute before it uses it."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from scrubjay.auth.rate_limit import rate_exceeded
from scrubjay.ports.cluster import ClusterStore

_MAX_QUOTAS = 4096


@dataclass(slots=True)
class _Quota:
    """The part of a token's minute that belongs to this server."""

    left: int = 0
    # After this moment the rest is lost.
    until: float = 0.0
    next_lease: int = 1
    is_spent: bool = False
    waiting: int = 0
    leasing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def use(self, now: float) -> bool:
        """Use one request, if any is left."""
        if now >= self.until:
            self.left, self.next_lease, self.is_spent = 0, 1, False
        if not self.left:
            return False
        self.left -= 1
        return True


class SharedRateLimiter:
    """Counts requests by token, together with all other servers of the store.

    The first lease is for one request and each further one for twice as many, so that few requests wait for the store
    and no server holds more unused requests than it has used. Without the store every request fails; it could do
    nothing anyway.
    """

    def __init__(
        self,
        store: ClusterStore,
        per_minute: int,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        max_quotas: int = _MAX_QUOTAS,
    ) -> None:
        self._store = store
        self._per_minute = per_minute
        self._monotonic = monotonic
        self._quotas: OrderedDict[str, _Quota] = OrderedDict()
        self._max_quotas = max_quotas

    async def take(self, grant_id: str, per_minute: int = 0) -> None:
        """Count a request, against the token's own limit if it has one; raises TooManyRequests.

        Callers without a token, such as the owner, are not counted.
        """
        limit = per_minute or self._per_minute
        if not grant_id or not limit:
            return
        quota = self._quotas.setdefault(grant_id, _Quota())
        self._quotas.move_to_end(grant_id)
        if len(self._quotas) > self._max_quotas:
            self._quotas.popitem(last=False)
        if quota.use(self._monotonic()):
            return
        quota.waiting += 1
        try:
            async with quota.leasing:
                await self._lease_and_use(grant_id, quota, limit)
        finally:
            quota.waiting -= 1

    async def _lease_and_use(self, grant_id: str, quota: _Quota, limit: int) -> None:
        now = self._monotonic()
        # While this request waited, another may have leased for both.
        if quota.use(now):
            return
        if not quota.is_spent:
            # Counted from before the lease: our minute ends no later than the store's.
            lease = await self._store.lease(grant_id, count=max(quota.next_lease, quota.waiting), limit=limit)
            quota.left, quota.until, quota.is_spent = lease.granted, now + lease.seconds, not lease.granted
            quota.next_lease *= 2
            if quota.left:
                quota.left -= 1
                return
        raise rate_exceeded(limit, wait=max(1, math.ceil(quota.until - now)))
