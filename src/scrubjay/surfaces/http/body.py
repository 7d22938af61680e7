"""What a request brings along: read before anything is done with it, and never more than there is room for."""

import asyncio
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

from scrubjay.errors import Busy, TooLarge, TooSlow

# Bodies that are being read or worked on, all together: what a thousand callers may send at once must fit somewhere.
_MOST_AT_ONCE = 256 * 1024 * 1024
_RETRY_AFTER = 1
# Read as they come, line by line, by whoever takes them in.
_STREAMED = ("/call/import_", "/api/v1/import")
_LARGEST_STREAM = 4 * 1024**3


class HungUp(Exception):
    """The caller left before all was said."""


@dataclass(slots=True, kw_only=True)
class BodyReader:
    """Reads bodies; `seconds` is how long a caller may take to send one, or the next piece of a stream."""

    seconds: float
    most: int = _MOST_AT_ONCE
    stream_bytes: int = _LARGEST_STREAM
    held: int = field(default=0)

    async def read(self, scope: Scope, receive: Receive, *, limit: int) -> bytes | None:
        """A whole body, counted until `release`; None for what is read as it comes."""
        if scope["path"] in _STREAMED:
            return None
        _require_within(_announced(scope), limit)
        body = bytearray()
        try:
            async with asyncio.timeout(self.seconds):
                await self._gather(body, receive, limit)
        except BaseException as error:
            self.held -= len(body)
            if isinstance(error, TimeoutError):
                raise self._too_slow() from None
            raise
        return bytes(body)

    def release(self, body: bytes | None) -> None:
        """It has been dealt with."""
        self.held -= len(body or b"")

    def paced(self, receive: Receive, *, limit: int = 0) -> Receive:
        """A stream whose pieces must keep coming, and come to an end; without a limit of its caller's at our own."""
        taken = 0

        async def next_piece() -> Message:
            nonlocal taken
            message = await self._next(receive)
            taken += len(message.get("body", b""))
            _require_within(taken, limit or self.stream_bytes)
            return message

        return next_piece

    async def _gather(self, body: bytearray, receive: Receive, limit: int) -> None:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HungUp
            chunk = message.get("body", b"")
            body += chunk
            self.held += len(chunk)
            _require_within(len(body), limit)
            if self.held > self.most:
                raise Busy(
                    "too much is being sent at once", hint=f"Retry after {_RETRY_AFTER} s", retry_after=_RETRY_AFTER
                )
            more = message.get("more_body", False)

    async def _next(self, receive: Receive) -> Message:
        try:
            return await asyncio.wait_for(receive(), self.seconds)
        except TimeoutError:
            raise self._too_slow() from None

    def _too_slow(self) -> TooSlow:
        return TooSlow(f"the body did not arrive within {self.seconds:g} s", hint="Send it faster, or less of it")


def replayed(body: bytes, receive: Receive) -> Receive:
    """What was read, told once more; then whatever else the caller does."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _announced(scope: Scope) -> int:
    length = Headers(scope=scope).get("content-length", "")
    return int(length) if length.isdecimal() else 0


def _require_within(size: int, limit: int) -> None:
    if size > limit:
        raise TooLarge(f"the body is larger than {limit:,} bytes", hint="Send it in parts", limit=limit)
