"""Lines arrive in whatever pieces the system makes of them, and senders wait for a slow reader."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from tests.patience import PATIENCE

from scrubjay.rpc.line_connection import LineConnection


class _Lines:
    """What a connection has handed on."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.is_lost = asyncio.Event()

    @asynccontextmanager
    async def connect(self, *, longest: int = 100) -> AsyncGenerator[tuple[LineConnection, socket.socket]]:
        """Open a connection, and the other end of it."""
        here, there = socket.socketpair()
        there.setblocking(False)  # noqa: FBT003 - the standard library's own signature
        connection = LineConnection(self.lines.append, self.is_lost.set, longest=longest)
        await asyncio.get_running_loop().create_connection(lambda: connection, sock=here)
        with there:
            yield connection, there
        await connection.close()


async def test_lines_are_joined_and_split() -> None:
    received = _Lines()
    async with received.connect() as (connection, _):
        for piece in (b"one\ntw", b"", b"o", b"\n\nthree\nfo", b"ur"):
            connection.data_received(piece)
    assert received.lines == [b"one", b"two", b"", b"three"]


async def test_a_line_that_is_too_long_ends_the_connection() -> None:
    received = _Lines()
    async with received.connect() as (connection, _):
        connection.data_received(b"x" * 99)
        connection.data_received(b"\n" + b"y" * 60)
        assert not connection.transport.is_closing()
        connection.data_received(b"y" * 60)
        await asyncio.wait_for(received.is_lost.wait(), PATIENCE)
    assert received.lines == [b"x" * 99]


async def test_a_sender_waits_for_a_slow_reader() -> None:
    async with _Lines().connect() as (connection, there):
        sending = asyncio.create_task(connection.send(b"x" * 10_000_000 + b"\n"))
        await asyncio.sleep(0.01)
        assert not sending.done()
        while not sending.done():
            await asyncio.get_running_loop().sock_recv(there, 1_000_000)


async def test_the_end_of_the_connection_ends_the_waiting() -> None:
    received = _Lines()
    async with received.connect() as (connection, there):
        sending = asyncio.create_task(connection.send(b"x" * 10_000_000 + b"\n"))
        await asyncio.sleep(0.01)
        there.close()
        with pytest.raises(ConnectionResetError):
            await sending
        assert received.is_lost.is_set()
