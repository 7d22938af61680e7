"""What a store offers besides its port where several servers use it at once."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from scrubjay.ports import ChangeLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A part of what a caller may ask in a minute. After so many seconds that minute is over, used or not."""

    granted: int
    seconds: float


class Leadership(Protocol):
    """Whether some work is this process's, of all that use the store."""

    @property
    def leads(self) -> bool:
        """Whether it is, now."""
        ...

    async def elected(self) -> None:
        """Wait until it is."""
        ...

    async def dismissed(self) -> None:
        """Wait until it is no more."""
        ...


class LeadershipCandidate(ABC):
    """Stands for the leadership of some work while its block lasts. How it is won is for those who derive from it."""

    def __init__(self) -> None:
        self._elected = asyncio.Event()
        self._dismissed = asyncio.Event()
        self._dismissed.set()
        self._task: asyncio.Task[None] | None = None

    @property
    def leads(self) -> bool:
        """Whether the work is this process's."""
        return self._elected.is_set()

    async def elected(self) -> None:
        """Wait until it is."""
        await self._elected.wait()

    async def dismissed(self) -> None:
        """Wait until it is no more."""
        await self._dismissed.wait()

    @abstractmethod
    async def stand(self) -> None:
        """Win the leadership and hold it, again and again, until cancelled; `leading` marks while it lasts."""

    @contextmanager
    def leading(self) -> Generator[None]:
        """The time for which it leads."""
        self._dismissed.clear()
        self._elected.set()
        try:
            yield
        finally:
            self._elected.clear()
            self._dismissed.set()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.stand())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


@runtime_checkable
class ClusterStore(Protocol):
    """What a store offers besides when several servers use it at once: how they hear of each other, and agree."""

    def listening(
        self, hear: Callable[[], None], *, purged: Callable[[], None] = ...
    ) -> AbstractAsyncContextManager[None]:
        """Call `hear` soon after anybody has committed something, and `purged` when some of it was a purge."""
        ...

    async def settled_seq(self) -> int:
        """The number up to which the log is whole: whatever is still being committed comes behind it."""
        ...

    async def lease(self, caller: str, *, wanted: int, limit: int) -> Lease:
        """Take up to so many of the requests that a caller may make in a minute, for this server alone.

        All leases of a minute together are never more than the limit, by the store's own clock.
        """
        ...

    def leader(self, name: str) -> AbstractAsyncContextManager[Leadership]:
        """Stand for the leadership of some work while the block lasts."""
        ...


async def whole_up_to(log: ChangeLog) -> int:
    """Where to begin to follow a log: everything up to there is committed, whatever comes is behind it.

    The newest number will not do where several commit at once: one that was taken before it may still be under way.
    """
    return await (log.settled_seq() if isinstance(log, ClusterStore) else log.last_seq())
