"""A line to the server that can be cut at a chosen moment."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.postgres import Server, shared_server

_COMMIT = b"COMMIT\x00"


class Line:
    """Passes bytes on. `cut_before` drops a COMMIT and the line; `cut_after` passes it on and drops the answer."""

    def __init__(self, server: Server) -> None:
        self._socket = Path(server.socket)
        self.cut_before = 0
        self.cut_after = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def url(self, database: str) -> str:
        """The address of a database through this line."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}?sslmode=disable&gssencmode=disable"

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Somebody calls."""
        far_reader, far_writer = await asyncio.open_unix_connection(self._socket)
        ways = [
            asyncio.create_task(self._pass_questions(reader, far_writer, writer)),
            asyncio.create_task(_pass_on(far_reader, writer)),
        ]
        self._tasks |= set(ways)
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for end in (writer, far_writer):
            end.close()

    async def close(self) -> None:
        """Hang up."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pass_questions(
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
                # The caller hears nothing of it: the server goes on, the line does not.
                near.transport.abort()
                await asyncio.sleep(0.2)
                return


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def a_line() -> AsyncGenerator[Line]:
    """A line to the shared server."""
    line = Line(shared_server())
    listener = await asyncio.start_server(line.connect, "127.0.0.1", 0)
    line.port = listener.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        listener.close()
        await line.close()
        await listener.wait_closed()
