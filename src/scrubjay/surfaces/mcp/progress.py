"""How far a call has come, told to a client that asked to be told."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from scrubjay.ports import Progress

Send = Callable[[float, float | None, str | None], Awaitable[None]]


@asynccontextmanager
async def telling(send: Send, *, beat: float) -> AsyncGenerator[Progress]:
    """What a tool reports to, while it works. If it says nothing, the client still hears every `beat` seconds."""
    teller = _Teller(send, beat)
    task = asyncio.create_task(teller.run())
    try:
        yield teller.report
        teller.end()
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class _Teller:
    """Sends only the latest state: a client that reads slowly never holds up the work."""

    def __init__(self, send: Send, beat: float) -> None:
        self._send = send
        self._beat = beat
        self._loop = asyncio.get_running_loop()
        self._stir = asyncio.Event()
        self._latest: tuple[int, int] | None = None
        self._told = 0.0
        self._is_over = False

    def report(self, done: int, total: int) -> None:
        if self._latest is None or done > self._latest[0]:
            self._latest = (done, total)
            # It may be reported from the thread that does the work.
            self._loop.call_soon_threadsafe(self._stir.set)

    def end(self) -> None:
        self._is_over = True
        self._stir.set()

    async def run(self) -> None:
        is_over = False
        while not is_over:
            if not self._is_over:
                with suppress(TimeoutError):
                    # Not `wait_for`, which may swallow a cancellation that comes at the same time.
                    async with asyncio.timeout(self._beat):
                        await self._stir.wait()
            self._stir.clear()
            # What is reported while this is told must be told too, also when it is the last.
            is_over = self._is_over
            if self._latest is not None:
                await self._tell(*self._latest, None)
            elif not is_over:
                await self._tell(self._told + 1, None, "still at work")

    async def _tell(self, done: float, total: float | None, message: str | None) -> None:
        # The protocol wants every number to be larger than the one before.
        if done > self._told:
            self._told = done
            await self._send(done, total, message)
