"""A client that says exactly what a test wants, byte by byte."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tests.surfaces.rest.waiting import LONGEST


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it came."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> dict[str, Any]:
        assert self.headers["content-type"] == "application/problem+json"
        reported = json.loads(self.body)
        assert (reported["status"], reported["request_id"]) == (self.status, self.headers["x-request-id"])
        return reported


class RawClient:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def say(self, *parts: bytes) -> None:
        self.writer.write(b"".join(parts))
        await self.writer.drain()

    async def ask(self, method: str, path: str, *headers: str, body: bytes = b"") -> Reply:
        """A request with a host and what else is given, and its answer."""
        await self.say(request(method, path, *headers), body)
        return await self.hear()

    async def hear(self) -> Reply:
        """The next answer, whole."""
        async with asyncio.timeout(LONGEST):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            body = await self._reader.readexactly(int(headers.get("content-length", 0)))
        return Reply(int(first.split()[1]), headers, body)

    async def silence(self) -> bytes:
        """What comes until the other side hangs up."""
        try:
            return await asyncio.wait_for(self._reader.read(), LONGEST)
        except ConnectionResetError:
            return b""


def request(method: str, path: str, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@asynccontextmanager
async def wired(address: str) -> AsyncGenerator[RawClient]:
    host, _, port = address.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield RawClient(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
