"""A client that sends exactly the bytes of a test."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tests.patience import PATIENCE


@dataclass(frozen=True, slots=True)
class Reply:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> dict[str, Any]:
        assert self.headers["content-type"] == "application/problem+json"
        result = json.loads(self.body)
        assert (result["status"], result["request_id"]) == (self.status, self.headers["x-request-id"])
        return result


class RawClient:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def send(self, *parts: bytes) -> None:
        self.writer.write(b"".join(parts))
        await self.writer.drain()

    async def request(self, method: str, path: str, *headers: str, body: bytes = b"") -> Reply:
        """Send a request with a Host and more headers, and return the response."""
        await self.send(request(method, path, *headers), body)
        return await self.receive_response()

    async def receive_response(self) -> Reply:
        """Return the next response."""
        async with asyncio.timeout(PATIENCE):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            body = await self._reader.readexactly(int(headers.get("content-length", 0)))
        return Reply(int(first.split()[1]), headers, body)

    async def receive_until_close(self) -> bytes:
        """Return the bytes until the server disconnects."""
        try:
            return await asyncio.wait_for(self._reader.read(), PATIENCE)
        except ConnectionResetError:
            return b""


def request(method: str, path: str, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@asynccontextmanager
async def open_raw_client(address: str) -> AsyncGenerator[RawClient]:
    host, _, port = address.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield RawClient(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
