"""The Unix socket of the daemon: checks the peer and its hello, and starts a session of its protocol."""

import asyncio
import logging
import os
import socket
import stat
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

from scrubjay.errors import InvalidInput, NotAllowed, ScrubjayError, StoreReadOnly
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json
from scrubjay.rpc.codec import error_to_json
from scrubjay.rpc.frames import Frame, LineReader, decode_frame, encode_frame, require_same_protocol
from scrubjay.rpc.peercred import require_peer
from scrubjay.version import PROTOCOL, VERSION

BACKLOG = 512
_log = logging.getLogger(__name__)
_HELLO_SECONDS = 10.0
_MAX_HELLO_BYTES = 64 * 1024
_CLOSE_SECONDS = 5.0
_PRIVATE = 0o700
_OWNER_ONLY = 0o177

SessionHandler = Callable[[LineReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves a client until it disconnects."""
Handshake = Callable[[Frame], SessionHandler]
"""Returns the handler for the hello of a client, or raises what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHello:
    """The choices of a client in its hello; empty ones are left to the daemon."""

    space: str
    agent: str
    project: str
    tools: str


class SocketServer:
    """Accepts clients, and starts the session of their protocol."""

    def __init__(self, protocols: Mapping[str, Handshake], *, owner: int | None = None) -> None:
        self._protocols = protocols
        self._owner = os.getuid() if owner is None else owner
        self._clients: dict[asyncio.Task[None], tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}

    @property
    def connections(self) -> int:
        """The number of connected clients."""
        return len(self._clients)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client until it disconnects."""
        task = asyncio.current_task()
        assert task is not None
        self._clients[task] = reader, writer
        try:
            await self._serve(LineReader(reader), writer)
        except (OSError, asyncio.CancelledError):
            pass  # The client has disconnected, or the daemon is stopping.
        except Exception:  # noqa: BLE001 - the edge of the surface: one client must not end the daemon.
            _log.exception("a session failed")
        finally:
            del self._clients[task]
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def close(self) -> None:
        """End all sessions after the pending answers are sent."""
        # As if each client had sent its last request: a reader may not get more after that.
        for reader, writer in self._clients.values():
            cast("asyncio.Transport", writer.transport).pause_reading()
            reader.feed_eof()
        for seconds in (_CLOSE_SECONDS, None):
            if self._clients:
                await asyncio.wait(set(self._clients), timeout=seconds)
            for task in list(self._clients):
                task.cancel()

    async def _serve(self, lines: LineReader, writer: asyncio.StreamWriter) -> None:
        try:
            require_peer(writer.get_extra_info("socket"), self._owner)
            hello = await self._read_hello(lines)
            if hello is None:
                return
            handle = self._handshake(hello)(hello)
        except ScrubjayError as error:
            writer.write(encode_frame({"error": error_to_json(error), "scrubjay": VERSION, "protocol": PROTOCOL}))
            await writer.drain()
            return
        writer.write(encode_frame({"scrubjay": VERSION, "protocol": PROTOCOL, "pid": os.getpid()}))
        fields = {"speaks": hello.get("speak"), "version": hello.get("scrubjay")}
        _log.debug("a client connected", extra={"fields": fields})
        await handle(lines, writer)

    async def _read_hello(self, lines: LineReader) -> Frame | None:
        try:
            line = await asyncio.wait_for(lines.line(), _HELLO_SECONDS)
        except TimeoutError:
            raise InvalidInput(
                f"no hello arrived within {_HELLO_SECONDS:g} s", hint='Begin with a line such as {"protocol": 1}'
            ) from None
        if line is None:
            return None
        if len(line) > _MAX_HELLO_BYTES:
            raise InvalidInput("the first line is not a hello: it is too long")
        return decode_frame(line)

    def _handshake(self, hello: Frame) -> Handshake:
        require_same_protocol(hello, other="client")
        speak = hello.get("speak", "verbs")
        if not isinstance(speak, str) or speak not in self._protocols:
            raise InvalidInput(
                f"the daemon does not speak {str(speak)[:60]!r}",
                hint=f"Choose one of {', '.join(self._protocols)}",
                field="speak",
            )
        return self._protocols[speak]


def parse_hello(frame: Mapping[str, Json]) -> ClientHello:
    """Return the choices in a hello; raises InvalidInput if one is not text."""
    values: dict[str, str] = {}
    for name in ("space", "agent", "project", "tools"):
        value = frame.get(name, "")
        if not isinstance(value, str):
            raise InvalidInput(f"{name} must be a text, not {type(value).__name__}", field=name)
        values[name] = value
    return ClientHello(**values)


def bind_socket(path: Path) -> socket.socket:
    """Return a listening socket that only its owner can use; replaces a stale one. The caller holds the lock."""
    _make_private(path.parent)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Private from the start: before a later chmod, other users could connect.
    before = os.umask(_OWNER_ONLY)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise StoreReadOnly(
            f"the socket {path} cannot be created: {error.strerror}",
            hint="Choose a data folder on a local disk",
            path=str(path),
        ) from error
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    listener.setblocking(False)  # noqa: FBT003 - the standard library's own signature
    return listener


def _make_private(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise NotAllowed(
            f"{folder} belongs to another user", hint="Remove it, or choose another data folder", path=str(folder)
        )
    folder.chmod(_PRIVATE)
