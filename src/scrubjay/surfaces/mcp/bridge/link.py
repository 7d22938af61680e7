"""A connection to the daemon, from the greeting on, and the buffer that cuts its bytes into lines."""

import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from scrubjay.surfaces.mcp.bridge.messages import match_answer
from scrubjay.version import PROTOCOL, VERSION

MAX_LINE = 64 * 1024 * 1024
"""The daemon's own limit."""

_CHUNK = 256 * 1024
# The number of bytes of both ends of a long line that are kept.
_EDGE = 512


class DaemonUnreachable(Exception):
    """The daemon cannot be used; the text says why, and what to do."""


class NoDaemon(Exception):
    """No daemon listens."""


class ConnectionClosed(OSError):
    """A daemon runs, but it closed the connection or is too busy to greet: try again."""


class DaemonLink:
    """A connection to the daemon: blocking at first, later without waiting."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = LineBuffer()
        self.pid = 0
        self.version = ""

    def fileno(self) -> int:
        """Return the file descriptor, for select."""
        return self._connection.fileno()

    def send_line(self, line: bytes) -> None:
        """Send a whole line, and wait until it is sent."""
        self._connection.sendall(line)

    def request(self, line: bytes, *, key: str) -> tuple[bytes, list[bytes]]:
        """Send a request and wait; return its answer, and the other lines that came before it."""
        self.send_line(line)
        answers: list[bytes] = []
        others: list[bytes] = []
        while not answers:
            for received in self.receive():
                answer = match_answer(received)
                (answers if answer and answer[0] == key else others).append(received)
        return answers[0], others

    def set_nonblocking(self) -> None:
        """Send and receive only what is possible without waiting, from now on."""
        self._connection.setblocking(False)  # noqa: FBT003 - the standard library's own signature

    def send(self, data: memoryview) -> int:
        """Return the number of bytes sent; raises BlockingIOError for none, another OSError if the daemon is gone."""
        return self._connection.send(data)

    def receive(self) -> list[bytes]:
        """Return the complete lines; raises ConnectionClosed or another OSError if the daemon is gone."""
        data = self._connection.recv(_CHUNK)
        if not data:
            raise ConnectionClosed("the daemon closed the connection")
        return self._lines.feed(data)

    def end_sending(self) -> None:
        """Tell the daemon that no more lines will come."""
        self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def connect(path: Path, *, hello: dict[str, str], seconds: float) -> DaemonLink:
    """Return a link to the daemon of a socket; raises NoDaemon, ConnectionClosed or DaemonUnreachable."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(seconds)
    link = DaemonLink(connection)
    try:
        _require_own(path.parent)
        connection.connect(str(path))
        _greet(link, hello)
    except OSError as error:
        link.close()
        raise _explain(error, path) from None
    except DaemonUnreachable:
        link.close()
        raise
    return link


def _require_own(folder: Path) -> None:
    # Another user could have put a folder in a shared place, to read what is sent.
    if folder.stat().st_uid != os.getuid():
        raise DaemonUnreachable(f"{folder} belongs to another user. Choose a data folder of your own with --data")


class LineBuffer:
    """Cuts bytes into lines. It never holds a line over the limit whole: `refuse` gets its first and last bytes."""

    def __init__(self, *, limit: int = 0, refuse: Callable[[bytes, bytes], None] | None = None) -> None:
        self._limit = limit
        self._refuse = refuse
        self._pending = bytearray()
        # The first bytes of the line that is being skipped.
        self._head = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are now complete, each with its newline."""
        lines: list[bytes] = []
        start = 0
        while end := data.find(b"\n", start) + 1:
            self._append(data[start:end])
            if line := self._take_line():
                lines.append(line)
            start = end
        self._append(data[start:])
        return lines

    def rest(self) -> bytes:
        """Return the bytes after the last line as a line; empty if there are none."""
        if self._pending or self._head:
            self._append(b"\n")
        return self._take_line()

    def _append(self, piece: bytes) -> None:
        self._pending += piece
        if self._head:
            del self._pending[:-_EDGE]
        elif self._limit and len(self._pending) > self._limit:
            self._head = bytes(self._pending[:_EDGE])
            del self._pending[:-_EDGE]

    def _take_line(self) -> bytes:
        """Return the pending line; empty if it was too long."""
        line, head = bytes(self._pending), self._head
        self._pending.clear()
        self._head = b""
        if not head:
            return line
        if self._refuse is not None:
            self._refuse(head, line)
        return b""


def _greet(link: DaemonLink, hello: dict[str, str]) -> None:
    with suppress(ConnectionError):  # A daemon that refuses us may say why and close before it reads this.
        link.send_line(
            json.dumps({"scrubjay": VERSION, "protocol": PROTOCOL, "speak": "mcp", **hello}).encode() + b"\n"
        )
    lines: list[bytes] = []
    while not lines:
        lines = link.receive()
    try:
        greeting = json.loads(lines[0])
        protocol: object = greeting.get("protocol")
        error: dict[str, object] = greeting.get("error") or {}
        link.pid, link.version = int(greeting.get("pid", 0)), str(greeting.get("scrubjay", "of unknown version"))[:40]
        code, message, hint = error.get("code"), error.get("message", "no reason given"), error.get("hint")
    except (ValueError, TypeError, AttributeError):
        raise DaemonUnreachable(
            "the process on the daemon's socket is not a Scrubjay daemon. Stop that process"
        ) from None
    if isinstance(protocol, int) and protocol != PROTOCOL:
        raise DaemonUnreachable(_explain_mismatch(link, daemon_is_older=protocol < PROTOCOL))
    if code == "busy":
        raise ConnectionClosed(str(message))
    if error or not isinstance(protocol, int):
        raise DaemonUnreachable(f"the daemon refuses this client: {message}" + (f". {hint}" if hint else ""))


def _explain_mismatch(link: DaemonLink, *, daemon_is_older: bool) -> str:
    if daemon_is_older:
        how = f"`kill {link.pid}`" if link.pid else "it runs as `scrubjay serve`"
        advice = f"The daemon is older: stop it ({how}), and the next request starts a new one"
    else:
        advice = "This bridge is older: restart the MCP client, so that it starts the newer one"
    return f"the daemon is Scrubjay {link.version}, this bridge is {VERSION}, and they are not compatible. {advice}"


def _explain(error: OSError, path: Path) -> Exception:
    """Return the exception that says what an error of the system means for the daemon."""
    if isinstance(error, FileNotFoundError | ConnectionRefusedError):
        return NoDaemon()
    if isinstance(error, TimeoutError):
        return DaemonUnreachable("the daemon does not answer. Stop it, and the next request starts a new one")
    if isinstance(error, ConnectionClosed | ConnectionError | BlockingIOError):
        return ConnectionClosed(str(error))
    return DaemonUnreachable(
        f"the daemon's socket {path} cannot be used: {error.strerror}. Choose another folder with --data"
    )
