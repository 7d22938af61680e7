"""Request bodies: reading them within limits of size, time and memory."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

from scrubjay.errors import Busy, TooLarge, TooSlow

# All bodies in memory together, so that a thousand clients cannot exhaust it.
_MAX_BYTES_IN_MEMORY = 256 * 1024 * 1024
_RETRY_AFTER = 1
# These routes read their body as a stream of lines.
_STREAMED_PATHS = ("/call/import_", "/api/v1/import")
MAX_STREAM_BYTES = 4 * 1024**3
_MAX_LINE_BYTES = 16 * 1024 * 1024


class ClientGone(Exception):
    """The client disconnected before the end of its request."""


@dataclass(slots=True, kw_only=True)
class BodyReader:
    """Reads bodies; `seconds` limits the time for a whole body, or for the next piece of a stream."""

    seconds: float
    max_bytes: int = _MAX_BYTES_IN_MEMORY
    stream_bytes: int = MAX_STREAM_BYTES
    bytes_in_memory: int = field(default=0)

    async def read(self, scope: Scope, receive: Receive, *, limit: int) -> bytes | None:
        """Return a whole body, counted until `release`; None if the route reads it as a stream."""
        if scope["path"] in _STREAMED_PATHS:
            return None
        length = Headers(scope=scope).get("content-length", "")
        _require_within(int(length) if length.isdecimal() else 0, limit)
        body = bytearray()
        try:
            async with asyncio.timeout(self.seconds):
                await self._collect(body, receive, limit)
        except BaseException as error:
            self.bytes_in_memory -= len(body)
            if isinstance(error, TimeoutError):
                raise self._too_slow() from None
            raise
        return bytes(body)

    def release(self, body: bytes | None) -> None:
        """Stop counting a body that has been processed."""
        self.bytes_in_memory -= len(body or b"")

    def limit_stream(self, receive: Receive, *, limit: int = 0) -> Receive:
        """Wrap a stream: raise TooSlow if the next piece is late, TooLarge beyond the limit (0: `stream_bytes`)."""
        size = 0

        async def receive_piece() -> Message:
            nonlocal size
            try:
                message = await asyncio.wait_for(receive(), self.seconds)
            except TimeoutError:
                raise self._too_slow() from None
            size += len(message.get("body", b""))
            _require_within(size, limit or self.stream_bytes)
            return message

        return receive_piece

    async def _collect(self, body: bytearray, receive: Receive, limit: int) -> None:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunk = message.get("body", b"")
            body += chunk
            self.bytes_in_memory += len(chunk)
            _require_within(len(body), limit)
            if self.bytes_in_memory > self.max_bytes:
                raise Busy(
                    "too many large requests at once", hint=f"Retry after {_RETRY_AFTER} s", retry_after=_RETRY_AFTER
                )
            more = message.get("more_body", False)

    def _too_slow(self) -> TooSlow:
        return TooSlow(f"the body did not arrive within {self.seconds:g} s", hint="Send it faster, or send less")


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body first, and then the messages that follow it."""
    is_sent = False

    async def receive_replayed() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_replayed


async def split_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a stream of bytes; the last one may lack a line end."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _MAX_LINE_BYTES:
            raise TooLarge(f"a line of the body is longer than {_MAX_LINE_BYTES:,} bytes", limit=_MAX_LINE_BYTES)
        for line in lines:
            yield line
    if rest:
        yield rest


def _require_within(size: int, limit: int) -> None:
    if size > limit:
        raise TooLarge(f"the body is larger than {limit:,} bytes", hint="Send it in parts", limit=limit)
