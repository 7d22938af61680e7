"""A connection that hands on each line when it arrives: a stream would wake a task for it first."""

import asyncio
from collections.abc import Callable


class LineConnection(asyncio.Protocol):
    """Calls `receive` with every line, without its end, and `lost` once after the last one.

    A line that is longer than `longest` ends the connection, and so does an error of `receive`.
    """

    def __init__(self, receive: Callable[[bytes], None], lost: Callable[[], None], *, longest: int) -> None:
        self._receive = receive
        self._lost = lost
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._closed = asyncio.Event()
        self._transport: asyncio.Transport | None = None

    @property
    def transport(self) -> asyncio.Transport:
        """The transport, once connected."""
        assert self._transport is not None
        return self._transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to send."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Hand on each line that is complete."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            if self._parts:
                self._parts.append(line)
                line = b"".join(self._parts)  # noqa: PLW2901 - its beginning came earlier
                self._parts.clear()
                self._size = 0
            self._receive(line)
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > self._longest:
                self.transport.abort()

    def pause_writing(self) -> None:
        """Let senders wait: the other end reads slowly."""
        self._has_room.clear()

    def resume_writing(self) -> None:
        """Let senders go on."""
        self._has_room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the waiting of all."""
        del exc
        self._closed.set()
        self._has_room.set()
        self._lost()

    async def send(self, line: bytes) -> None:
        """Send a line, and wait while the other end reads slowly; raises ConnectionResetError."""
        self.transport.write(line)
        if not self._has_room.is_set():
            await self._has_room.wait()
        if self._closed.is_set():
            raise ConnectionResetError

    async def close(self) -> None:
        """Close the connection and wait until it is closed."""
        self.transport.close()
        await self._closed.wait()
