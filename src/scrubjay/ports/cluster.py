"""Coordination of several servers that share a store: leases, leadership, notifications."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from scrubjay.cancelling import cancel
from scrubjay.lazy import dataclass
from scrubjay.ports import ChangeLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A share of the requests that a caller may make in a minute. It expires after `seconds`, used or not."""

    granted: int
    seconds: float


class Leadership(Protocol):
    """Whether this process, of all that use the store, does some work."""

    @property
    def leads(self) -> bool:
        """Whether it leads now."""
        ...

    async def wait_until_elected(self) -> None:
        """Wait until it leads."""
        ...

    async def wait_until_dismissed(self) -> None:
        """Wait until it no longer leads."""
        ...


class LeadershipCandidate(ABC):
    """A candidate for the leadership of some work while its block lasts; subclasses define the election."""

    def __init__(self) -> None:
        self._elected = asyncio.Event()
        self._dismissed = asyncio.Event()
        self._dismissed.set()
        self._task: asyncio.Task[None] | None = None

    @property
    def leads(self) -> bool:
        """Whether it leads now."""
        return self._elected.is_set()

    async def wait_until_elected(self) -> None:
        """Wait until it leads."""
        await self._elected.wait()

    async def wait_until_dismissed(self) -> None:
        """Wait until it no longer leads."""
        await self._dismissed.wait()

    @abstractmethod
    async def campaign(self) -> None:
        """Win the leadership and hold it, again and again, until cancelled; hold it inside `lead`."""

    @contextmanager
    def lead(self) -> Generator[None]:
        """Lead while the block lasts."""
        self._dismissed.clear()
        self._elected.set()
        try:
            yield
        finally:
            self._elected.clear()
            self._dismissed.set()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.campaign())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            await cancel(self._task)


@runtime_checkable
class ClusterStore(Protocol):
    """A store that several servers share: it notifies them of each other's commits and coordinates them."""

    def listening(
        self, hear: Callable[[], None], *, purged: Callable[[], None] = ...
    ) -> AbstractAsyncContextManager[None]:
        """Call `hear` soon after any commit, and `purged` after a purge."""
        ...

    async def settled_seq(self) -> int:
        """Return the number up to which the log is complete: pending commits get higher numbers."""
        ...

    async def lease(self, caller: str, *, count: int, limit: int) -> Lease:
        """Reserve requests of a caller's limit per minute for this server alone.

        All leases of a minute together never exceed the limit, by the clock of the store.
        """
        ...

    def leader(self, name: str) -> AbstractAsyncContextManager[Leadership]:
        """Run for the leadership of some work while the block lasts."""
        ...


async def settled_position(log: ChangeLog) -> int:
    """Return the position to follow a log from: everything up to it is committed.

    The newest number is not safe with several writers: a transaction with a lower one may still be open.
    """
    return await (log.settled_seq() if isinstance(log, ClusterStore) else log.last_seq())
