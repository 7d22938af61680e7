"""The connection to the daemon on this machine: its Unix socket."""

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import cast

from scrubjay.errors import DaemonUnavailable, ScrubjayError
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.model.transfer import Progress
from scrubjay.model.verbs import VERBS
from scrubjay.rpc.codec import error_from_json, to_json_without_defaults
from scrubjay.rpc.frames import (
    CallAnswer,
    Frame,
    LineJoiner,
    check_answer,
    decode_frame,
    encode_frame,
    hello,
    pack_lines,
    require_same_protocol,
)
from scrubjay.rpc.line_connection import LineConnection
from scrubjay.rpc.peercred import has_peer, require_peer

_HELLO_TIMEOUT = 10.0
_CONNECT_ATTEMPTS = 12
_CONNECT_DELAY = 0.02
_CALL_TIMEOUT = 120.0
_MAX_ANSWER = 1 << 31


class _Call:
    """A call that waits for the frames of its answer; None is the end of the connection. `line` is the last one."""

    __slots__ = ("_frames", "_waiting", "line")

    def __init__(self) -> None:
        self._frames: deque[Frame | None] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self.line = b""

    def put(self, frame: Frame | None, line: bytes = b"") -> None:
        """Add a frame, which came in a line."""
        self.line = line
        self._frames.append(frame)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def next(self, seconds: float | None) -> Frame | None:
        """Wait for the next frame; raises TimeoutError."""
        if not self._frames:
            # Less than a queue and a timeout of asyncio would do: every call passes through here.
            loop = asyncio.get_running_loop()
            self._waiting = loop.create_future()
            timer = None if seconds is None else loop.call_later(seconds, self._expire)
            try:
                await self._waiting
            finally:
                if timer is not None:
                    timer.cancel()
        return self._frames.popleft()

    def _expire(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(TimeoutError())


class SocketTransport:
    """Calls the daemon over its socket; calls share one connection, which is reopened if it was cut."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids = count(1)
        self._waiting: dict[int, _Call] = {}
        self._connection: LineConnection | None = None
        self._opening = asyncio.Lock()
        self.peer = ""

    async def open(self) -> None:
        """Connect, unless connected."""
        async with self._opening:
            if self._connection is None:
                await self._connect()

    async def call(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> CallAnswer:
        """Send one frame and return its answer."""
        frame: Frame = {"verb": verb, "who": to_json_without_defaults(who), "args": dict(arguments)}
        number, is_done = next(self._ids), False
        line = encode_frame({"id": number, **frame})
        if self._connection is None:
            await self.open()
        call = self._waiting[number] = _Call()
        try:
            await self._send(line)
            while (answer := await self._next(call, verb)) is not None:
                is_done = "result" in answer or "error" in answer
                if "result" in check_answer(answer, progress=progress):
                    return CallAnswer(answer["result"], call.line)
        finally:
            self._end(number, is_done=is_done)
        raise self._gone_error(sent=True)

    async def pull(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> AsyncIterator[str]:
        """Yield the lines of the answer."""
        frame: Frame = {"verb": verb, "who": to_json_without_defaults(who), "args": dict(arguments)}
        joiner = LineJoiner()
        async for answer in self._exchange(frame, (), progress=progress):
            if "result" in answer:
                return
            for line in joiner.lines(answer):
                yield line
        raise self._gone_error(sent=True)

    async def push(self, verb: str, lines: Iterable[str], *, who: Caller, progress: Progress | None = None) -> Json:
        """Send lines in batches and return the answer."""
        frame: Frame = {"verb": verb, "who": to_json_without_defaults(who), "args": {}, "pushes": True}
        async for answer in self._exchange(frame, chain(pack_lines(lines), [{"end": True}]), progress=progress):
            if "result" in answer:
                return answer["result"]
        raise self._gone_error(sent=True)

    async def close(self) -> None:
        """Close the connection and wait until it is closed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _exchange(
        self, frame: Frame, batches: Iterable[Frame], *, progress: Progress | None
    ) -> AsyncIterator[Frame]:
        """Send frames under one number and yield the answers to it, until the connection is cut."""
        number, call = next(self._ids), _Call()
        line = encode_frame({"id": number, **frame})
        await self.open()
        self._waiting[number] = call
        is_done = False
        try:
            await self._send(line)
            for batch in batches:
                await self._send(encode_frame({"id": number, **batch}))
            while (answer := await self._next(call, str(frame["verb"]))) is not None:
                is_done = "result" in answer or "error" in answer
                yield check_answer(answer, progress=progress)
        finally:
            self._end(number, is_done=is_done)

    def _end(self, number: int, *, is_done: bool) -> None:
        del self._waiting[number]
        if not is_done:
            self._send_nowait({"id": number, "cancel": True})

    async def _next(self, call: _Call, verb: str) -> Frame | None:
        """Return the next frame of an answer; raise DaemonUnavailable if the daemon hangs."""
        try:
            return await call.next(None if VERBS[verb].long else _CALL_TIMEOUT)
        except TimeoutError:
            raise DaemonUnavailable(
                f"the daemon at {self._path} does not answer", hint="Look at its log, or restart it", sent=True
            ) from None

    async def _send(self, line: bytes) -> None:
        if self._connection is None:
            raise self._gone_error(sent=False)
        try:
            await self._connection.send(line)
        except OSError as error:
            raise self._gone_error(sent=True) from error

    def _send_nowait(self, frame: Frame) -> None:
        """Send a frame without an answer, such as a cancellation."""
        if self._connection is not None:
            with suppress(OSError):
                self._connection.transport.write(encode_frame(frame))

    async def _connect(self) -> None:
        for attempt in range(_CONNECT_ATTEMPTS):
            if (connected := await self._try_connect()) is not None:
                break
            await asyncio.sleep(_CONNECT_DELAY * (attempt + 1))
        else:
            raise self._gone_error(sent=False)
        connection, greeting = connected
        try:
            require_peer(connection.transport.get_extra_info("socket"), os.getuid())
            await self._greet(connection, greeting)
        except BaseException:
            connection.transport.close()
            raise
        self._connection = connection

    async def _try_connect(self) -> tuple[LineConnection, asyncio.Future[bytes]] | None:
        """Return a connection, or None if the queue of the socket is full: asyncio then returns one without a peer."""
        loop = asyncio.get_running_loop()
        greeting: asyncio.Future[bytes] = loop.create_future()

        def receive(line: bytes) -> None:
            if greeting.done():
                self._receive(connection, line)
            else:
                greeting.set_result(line)

        def lose() -> None:
            if greeting.done():
                self._lose(connection)
            else:
                greeting.set_exception(ConnectionResetError())
                # No one may wait for it any more.
                greeting.exception()

        # Answers may be long: the client requested them.
        connection = LineConnection(receive, lose, longest=_MAX_ANSWER)
        try:
            await loop.create_unix_connection(lambda: connection, str(self._path))
        except OSError as error:
            raise self._gone_error(sent=False) from error
        if has_peer(connection.transport.get_extra_info("socket")):
            return connection, greeting
        connection.transport.close()
        return None

    async def _greet(self, connection: LineConnection, answer: asyncio.Future[bytes]) -> None:
        try:
            await connection.send(encode_frame(hello("verbs")))
            line = await asyncio.wait_for(answer, _HELLO_TIMEOUT)
        except (OSError, TimeoutError) as error:
            raise self._gone_error(sent=False) from error
        greeting = decode_frame(line)
        if "error" in greeting:
            raise error_from_json(cast("Frame", greeting["error"]))
        require_same_protocol(greeting, other="daemon")
        self.peer = str(greeting.get("pid", ""))

    def _receive(self, connection: LineConnection, line: bytes) -> None:
        try:
            self._dispatch(decode_frame(line), line)
        except ScrubjayError:
            # An unreadable line ends the connection: it is unknown which call it answers.
            connection.transport.close()

    def _lose(self, connection: LineConnection) -> None:
        if self._connection is connection:
            self._connection = None
        for call in self._waiting.values():
            call.put(None)

    def _dispatch(self, frame: Frame, line: bytes) -> None:
        number = frame.get("id")
        # An error without a number concerns every call: the daemon could not read one of the frames.
        calls = list(self._waiting.values()) if number is None else [self._waiting.get(cast("int", number))]
        for call in calls:
            if call is not None:
                call.put(frame, line)

    def _gone_error(self, *, sent: bool) -> DaemonUnavailable:
        return DaemonUnavailable(
            f"the daemon at {self._path} {'went away' if sent else 'cannot be reached'}",
            hint="Start it with `scrubjay serve`",
            sent=sent,
        )
