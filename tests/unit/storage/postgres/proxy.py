"""A proxy in front of the server that can drop the connection at a chosen moment."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.postgres import Server, shared_server

_COMMIT = b"COMMIT\x00"


class Proxy:
    """Forwards bytes. `cut_before` drops a COMMIT and the connection; `cut_after` forwards it and drops the answer."""

    def __init__(self, server: Server) -> None:
        self._socket = Path(server.socket)
        self.cut_before = 0
        self.cut_after = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def url(self, database: str) -> str:
        """Return the URL of a database through this proxy."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}?sslmode=disable&gssencmode=disable"

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection."""
        far_reader, far_writer = await asyncio.open_unix_connection(self._socket)
        directions = [
            asyncio.create_task(self._forward_requests(reader, far_writer, writer)),
            asyncio.create_task(_forward(far_reader, writer)),
        ]
        self._tasks |= set(directions)
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        for direction in directions:
            direction.cancel()
        for end in (writer, far_writer):
            end.close()

    async def close(self) -> None:
        """Drop all connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _forward_requests(
        self, reader: asyncio.StreamReader, far: asyncio.StreamWriter, near: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(1 << 16):
            is_commit = _COMMIT in data
            if is_commit and self.cut_before:
                self.cut_before -= 1
                return
            far.write(data)
            await far.drain()
            if is_commit and self.cut_after:
                self.cut_after -= 1
                # The server goes on, and the caller gets no answer.
                near.transport.abort()
                await asyncio.sleep(0.2)
                return


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def a_proxy() -> AsyncGenerator[Proxy]:
    """Start a proxy to the shared server."""
    proxy = Proxy(shared_server())
    listener = await asyncio.start_server(proxy.connect, "127.0.0.1", 0)
    proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        await proxy.close()
        await listener.wait_closed()
