"""Stands for the leadership of a shared index, and does the leader's work for as long as it has it."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from contextvars import Context

from scrubjay.indexing.shared_protocol import Leader, Listening
from scrubjay.indexing.shared_upkeep import SharedPolicy, Upkeep
from scrubjay.ports.cluster import Leadership


class Keeping:
    """A job that never ends by itself. It tries again what fails, and rests longer every time."""

    def __init__(
        self,
        start: Callable[[], Upkeep],
        standing: Leader,
        *,
        listening: Listening | None,
        policy: SharedPolicy,
        worked: Callable[[], None],
    ) -> None:
        self._start = start
        self._standing = standing
        self._leader: Leadership | None = None
        self._listening = listening
        self._policy = policy
        self._worked = worked
        self._upkeep: Upkeep | None = None
        self._rung = asyncio.Event()
        self._called = asyncio.Event()
        self._callers: list[asyncio.Event] = []
        # It belongs to nobody's request, whoever was the first to need it.
        self._job = asyncio.create_task(self._serve(), context=Context())
        self.problem = ""

    @property
    def leads(self) -> bool:
        """Whether this server does the work."""
        return self._leader is not None and self._leader.leads

    @property
    def is_building(self) -> bool:
        """Whether it builds the index anew."""
        return self._upkeep is not None and self._upkeep.is_building

    def ring(self) -> None:
        """Say that there is something to do; while it fails, that changes nothing."""
        self._rung.set()

    def call(self) -> None:
        """Have it tried at once, also if it has failed a moment ago."""
        self._called.set()
        self._rung.set()

    async def settle(self) -> None:
        """Wait for a round of the work that begins after this call, if this server leads."""
        leader = self._leader
        if leader is None or not leader.leads or self._job.done():
            return
        caller = asyncio.Event()
        self._callers.append(caller)
        self.call()
        done, gone = asyncio.create_task(_heard(caller)), asyncio.create_task(leader.wait_until_dismissed())
        await asyncio.wait({done, gone, self._job}, return_when=asyncio.FIRST_COMPLETED)
        await _end(done, gone)

    async def close(self) -> None:
        """Stop, and let another server lead."""
        await _end(self._job)

    async def _serve(self) -> None:
        async with AsyncExitStack() as stack:
            if self._listening is not None:
                await stack.enter_async_context(self._listening(self.ring))
            self._leader = leader = await stack.enter_async_context(self._standing)
            while True:
                await leader.wait_until_elected()
                work, gone = asyncio.create_task(self._lead()), asyncio.create_task(leader.wait_until_dismissed())
                try:
                    await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    await _end(work, gone)

    async def _lead(self) -> None:
        self._upkeep = upkeep = self._start()
        nap = self._policy.first_nap
        while True:
            self._rung.clear()
            self._called.clear()
            callers, self._callers = self._callers, []
            try:
                await upkeep.round()
            except Exception as error:  # noqa: BLE001 - a job's edge: whatever it is, it is tried again
                self.problem = str(error) or type(error).__name__
                woken, rest = self._called, nap
                nap = min(2 * nap, self._policy.longest_nap)
            else:
                self.problem = ""
                self._worked()
                woken, rest, nap = self._rung, self._policy.poll, self._policy.first_nap
            for caller in callers:
                caller.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await woken.wait()


async def _heard(caller: asyncio.Event) -> None:
    await caller.wait()


async def _end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
