"""How often a token may be used where several servers let it in: each leases a part of its minute before it is used."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from scrubjay.errors import TooManyRequests
from scrubjay.ports.cluster import ClusterStore

_MOST_HELD = 4096


@dataclass(slots=True)
class _Held:
    """What this server has of a token's minute."""

    left: int = 0
    # Until then it may be used; nothing that is left then is taken along.
    until: float = 0.0
    next_wanted: int = 1
    is_spent: bool = False
    waiting: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def use(self, now: float) -> bool:
        """Use one of those that are left."""
        if now >= self.until:
            self.left, self.next_wanted, self.is_spent = 0, 1, False
        if not self.left:
            return False
        self.left -= 1
        return True


class SharedRateLimiter:
    """Counts requests by token, together with all other servers of the store.

    A first lease is for one request and each further one for twice as many, so that few requests wait for the store
    and no server holds more unused than it has used. Without the store nobody is let in: no request could do anything.
    """

    def __init__(
        self,
        shared: ClusterStore,
        per_minute: int,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        most: int = _MOST_HELD,
    ) -> None:
        self._shared = shared
        self._per_minute = per_minute
        self._monotonic = monotonic
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._most = most

    async def take(self, grant_id: str, per_minute: int = 0) -> None:
        """Count a request, against the token's own limit if it has one; raises TooManyRequests.

        Whoever comes without a token, as the owner does, is not counted.
        """
        limit = per_minute or self._per_minute
        if not grant_id or not limit:
            return
        held = self._of(grant_id)
        if held.use(self._monotonic()):
            return
        held.waiting += 1
        try:
            async with held.turn:
                await self._lease_and_use(grant_id, held, limit)
        finally:
            held.waiting -= 1

    async def _lease_and_use(self, grant_id: str, held: _Held, limit: int) -> None:
        now = self._monotonic()
        # While this one waited, another may have leased for both.
        if held.use(now):
            return
        if not held.is_spent:
            # Counted from before the question: our minute is over no later than the store's.
            lease = await self._shared.lease(grant_id, wanted=max(held.next_wanted, held.waiting), limit=limit)
            held.left, held.until, held.is_spent = lease.granted, now + lease.seconds, not lease.granted
            held.next_wanted *= 2
            if held.left:
                held.left -= 1
                return
        wait = max(1, math.ceil(held.until - now))
        raise TooManyRequests(
            f"this token may make {limit:,} requests a minute",
            hint=f"Wait {wait} s and try again",
            retry_after=wait,
            limit=limit,
        )

    def _of(self, grant_id: str) -> _Held:
        held = self._held.setdefault(grant_id, _Held())
        self._held.move_to_end(grant_id)
        if len(self._held) > self._most:
            self._held.popitem(last=False)
        return held
