"""The way to the daemon on this machine: its Unix socket."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import cast

from scrubjay.errors import DaemonUnavailable, ScrubjayError
from scrubjay.model.draft import Caller
from scrubjay.model.memory import Json
from scrubjay.model.transfer import Progress
from scrubjay.rpc.codec import error_from, to_json_without_defaults
from scrubjay.rpc.frames import Frame, Joiner, LineReader, decoded, encoded, hello, packets, require_same_protocol
from scrubjay.rpc.names import LONG
from scrubjay.rpc.peercred import has_peer, require_peer
from scrubjay.rpc.transport import heard

_HELLO_SECONDS = 10.0
_KNOCKS = 12
_KNOCK_SECONDS = 0.02
_PATIENCE = 120.0
_LONGEST_ANSWER = 1 << 31


@dataclass(slots=True)
class _Call:
    """An answer that is being waited for."""

    frames: asyncio.Queue[Frame | None] = field(default_factory=asyncio.Queue[Frame | None])


class SocketTransport:
    """Calls the daemon over its socket; many calls share one connection. Connects anew when it was cut."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids = count(1)
        self._waiting: dict[int, _Call] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self.peer = ""

    async def open(self) -> None:
        """Connect, unless there is a connection."""
        async with self._opening:
            if self._writer is None:
                await self._connect()

    async def call(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> Json:
        """One frame out, and the answer to it."""
        frame: Frame = {"verb": verb, "who": to_json_without_defaults(who), "args": dict(arguments)}
        async for found in self._exchange(frame, (), progress=progress):
            if "result" in found:
                return found["result"]
        raise self._gone(sent=True)

    async def pull(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> AsyncIterator[str]:
        """The lines of all frames that come."""
        frame: Frame = {"verb": verb, "who": to_json_without_defaults(who), "args": dict(arguments)}
        joiner = Joiner()
        async for found in self._exchange(frame, (), progress=progress):
            if "result" in found:
                return
            for line in joiner.lines(found):
                yield line
        raise self._gone(sent=True)

    async def push(self, verb: str, lines: Iterable[str], *, who: Caller, progress: Progress | None = None) -> Json:
        """Lines in batches, then the answer."""
        frame: Frame = {"verb": verb, "who": to_json_without_defaults(who), "args": {}, "pushes": True}
        async for found in self._exchange(frame, chain(packets(lines), [{"end": True}]), progress=progress):
            if "result" in found:
                return found["result"]
        raise self._gone(sent=True)

    async def close(self) -> None:
        """Hang up, and wait until that is done."""
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
        """Send frames under one number and yield what comes back under it, until the connection is cut."""
        number, call = next(self._ids), _Call()
        line = encoded({"id": number, **frame})
        await self.open()
        self._waiting[number] = call
        is_done = False
        try:
            await self._send(line)
            for batch in batches:
                await self._send(encoded({"id": number, **batch}))
            while (found := await self._next(call, frame)) is not None:
                is_done = "result" in found or "error" in found
                yield heard(found, progress=progress)
        finally:
            del self._waiting[number]
            if not is_done:
                self._hurry({"id": number, "cancel": True})

    async def _next(self, call: _Call, frame: Frame) -> Frame | None:
        """The next frame of an answer. A daemon that neither answers in time nor says that it is busy hangs."""
        try:
            async with asyncio.timeout(None if frame.get("verb") in LONG else _PATIENCE):
                return await call.frames.get()
        except TimeoutError:
            raise DaemonUnavailable(
                f"the daemon at {self._path} does not answer", hint="Look at its log, or restart it", sent=True
            ) from None

    async def _send(self, line: bytes) -> None:
        if self._writer is None:
            raise self._gone(sent=False)
        try:
            self._writer.write(line)
            await self._writer.drain()
        except OSError as error:
            raise self._gone(sent=True) from error

    def _hurry(self, frame: Frame) -> None:
        """Say something that nobody waits for, such as that an answer is not wanted any more."""
        if self._writer is not None:
            with suppress(OSError):
                self._writer.write(encoded(frame))

    async def _connect(self) -> None:
        for attempt in range(_KNOCKS):
            if (connected := await self._knock()) is not None:
                break
            await asyncio.sleep(_KNOCK_SECONDS * (attempt + 1))
        else:
            raise self._gone(sent=False)
        reader, writer = connected
        # The daemon's answers may be as long as they are: it is the client that asked for them.
        lines = LineReader(reader, longest=_LONGEST_ANSWER)
        try:
            require_peer(writer.get_extra_info("socket"), os.getuid())
            await self._greet(lines, writer)
        except BaseException:
            writer.close()
            raise
        self._writer = writer
        self._listener = asyncio.create_task(self._listen(lines, writer))

    async def _knock(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection; none where too many wait at the door, which asyncio takes for one with nobody at its end."""
        try:
            reader, writer = await asyncio.open_unix_connection(str(self._path))
        except OSError as error:
            raise self._gone(sent=False) from error
        if has_peer(writer.get_extra_info("socket")):
            return reader, writer
        writer.close()
        return None

    async def _greet(self, lines: LineReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(encoded(hello("verbs")))
            line = await asyncio.wait_for(lines.line(), _HELLO_SECONDS)
        except (OSError, TimeoutError) as error:
            raise self._gone(sent=False) from error
        if line is None:
            raise self._gone(sent=False)
        said = decoded(line)
        if "error" in said:
            raise error_from(cast("Frame", said["error"]))
        require_same_protocol(said, other="daemon")
        self.peer = str(said.get("pid", ""))

    async def _listen(self, lines: LineReader, writer: asyncio.StreamWriter) -> None:
        # A line that cannot be read is the end of the talk: nobody knows whose answer it was.
        with suppress(OSError, ScrubjayError):
            while (line := await lines.line()) is not None:
                self._hear(decoded(line))
        writer.close()
        if self._writer is writer:
            self._writer = None
        for call in self._waiting.values():
            call.frames.put_nowait(None)

    def _hear(self, found: Frame) -> None:
        number = found.get("id")
        # An error that belongs to nobody is everybody's: one of the frames was not understood.
        calls = list(self._waiting.values()) if number is None else [self._waiting.get(cast("int", number))]
        for call in calls:
            if call is not None:
                call.frames.put_nowait(found)

    def _gone(self, *, sent: bool) -> DaemonUnavailable:
        return DaemonUnavailable(
            f"the daemon at {self._path} {'went away' if sent else 'cannot be reached'}",
            hint="Start it with `scrubjay serve`",
            sent=sent,
        )
