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
    Frame,
    LineJoiner,
    LineReader,
    check_answer,
    decode_frame,
    encode_frame,
    hello,
    pack_lines,
    require_same_protocol,
)
from scrubjay.rpc.peercred import has_peer, require_peer

_HELLO_TIMEOUT = 10.0
_CONNECT_ATTEMPTS = 12
_CONNECT_DELAY = 0.02
_CALL_TIMEOUT = 120.0
_MAX_ANSWER = 1 << 31


class _Call:
    """A call that waits for the frames of its answer; None is the end of the connection."""

    __slots__ = ("_frames", "_waiting")

    def __init__(self) -> None:
        self._frames: deque[Frame | None] = deque()
        self._waiting: asyncio.Future[None] | None = None

    def put(self, frame: Frame | None) -> None:
        """Add a frame."""
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
        self._writer: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self.peer = ""

    async def open(self) -> None:
        """Connect, unless connected."""
        async with self._opening:
            if self._writer is None:
                await self._connect()

    async def call(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> Json:
        """Send one frame and return its answer."""
        frame: Frame = {"verb": verb, "who": to_json_without_defaults(who), "args": dict(arguments)}
        number, is_done = next(self._ids), False
        line = encode_frame({"id": number, **frame})
        await self.open()
        call = self._waiting[number] = _Call()
        try:
            await self._send(line)
            while (answer := await self._next(call, verb)) is not None:
                is_done = "result" in answer or "error" in answer
                if "result" in check_answer(answer, progress=progress):
                    return answer["result"]
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
        writer, listener = self._writer, self._listener
        self._writer = self._listener = None
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        if listener is not None:
            await listener

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
        if self._writer is None:
            raise self._gone_error(sent=False)
        try:
            self._writer.write(line)
            await self._writer.drain()
        except OSError as error:
            raise self._gone_error(sent=True) from error

    def _send_nowait(self, frame: Frame) -> None:
        """Send a frame without an answer, such as a cancellation."""
        if self._writer is not None:
            with suppress(OSError):
                self._writer.write(encode_frame(frame))

    async def _connect(self) -> None:
        for attempt in range(_CONNECT_ATTEMPTS):
            if (connected := await self._try_connect()) is not None:
                break
            await asyncio.sleep(_CONNECT_DELAY * (attempt + 1))
        else:
            raise self._gone_error(sent=False)
        reader, writer = connected
        # Answers may be long: the client requested them.
        lines = LineReader(reader, longest=_MAX_ANSWER)
        try:
            require_peer(writer.get_extra_info("socket"), os.getuid())
            await self._greet(lines, writer)
        except BaseException:
            writer.close()
            raise
        self._writer = writer
        self._listener = asyncio.create_task(self._listen(lines, writer))

    async def _try_connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Return a connection, or None if the queue of the socket is full: asyncio then returns one without a peer."""
        try:
            reader, writer = await asyncio.open_unix_connection(str(self._path))
        except OSError as error:
            raise self._gone_error(sent=False) from error
        if has_peer(writer.get_extra_info("socket")):
            return reader, writer
        writer.close()
        return None

    async def _greet(self, lines: LineReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(encode_frame(hello("verbs")))
            line = await asyncio.wait_for(lines.line(), _HELLO_TIMEOUT)
        except (OSError, TimeoutError) as error:
            raise self._gone_error(sent=False) from error
        if line is None:
            raise self._gone_error(sent=False)
        greeting = decode_frame(line)
        if "error" in greeting:
            raise error_from_json(cast("Frame", greeting["error"]))
        require_same_protocol(greeting, other="daemon")
        self.peer = str(greeting.get("pid", ""))

    async def _listen(self, lines: LineReader, writer: asyncio.StreamWriter) -> None:
        # An unreadable line ends the connection: it is unknown which call it answers.
        with suppress(OSError, ScrubjayError):
            while (line := await lines.line()) is not None:
                self._dispatch(decode_frame(line))
        writer.close()
        if self._writer is writer:
            self._writer = None
        for call in self._waiting.values():
            call.put(None)

    def _dispatch(self, frame: Frame) -> None:
        number = frame.get("id")
        # An error without a number concerns every call: the daemon could not read one of the frames.
        calls = list(self._waiting.values()) if number is None else [self._waiting.get(cast("int", number))]
        for call in calls:
            if call is not None:
                call.put(frame)

    def _gone_error(self, *, sent: bool) -> DaemonUnavailable:
        return DaemonUnavailable(
            f"the daemon at {self._path} {'went away' if sent else 'cannot be reached'}",
            hint="Start it with `scrubjay serve`",
            sent=sent,
        )
