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
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await teller.tell_last()


class _Teller:
    """Sends only the latest state: a client that reads slowly never holds up the work."""

    def __init__(self, send: Send, beat: float) -> None:
        self._send = send
        self._beat = beat
        self._loop = asyncio.get_running_loop()
        self._stir = asyncio.Event()
        self._latest: tuple[int, int] | None = None
        self._told = 0.0

    def report(self, done: int, total: int) -> None:
        if self._latest is None or done > self._latest[0]:
            self._latest = (done, total)
            # It may be reported from the thread that does the work.
            self._loop.call_soon_threadsafe(self._stir.set)

    async def run(self) -> None:
        while True:
            with suppress(TimeoutError):
                # Not `wait_for`, which may swallow the cancellation that comes when the call is done.
                async with asyncio.timeout(self._beat):
                    await self._stir.wait()
            if self._stir.is_set():
                self._stir.clear()
                await self.tell_last()
            elif self._latest is None:
                await self._tell(self._told + 1, None, "still at work")

    async def tell_last(self) -> None:
        if self._latest is not None:
            done, total = self._latest
            await self._tell(done, total, None)

    async def _tell(self, done: float, total: float | None, message: str | None) -> None:
        # The protocol wants every number to be larger than the one before.
        if done > self._told:
            self._told = done
            await self._send(done, total, message)
