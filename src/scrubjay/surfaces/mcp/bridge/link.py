"""A connection to the daemon, from the greeting on."""

import json
import os
import socket
from contextlib import suppress
from pathlib import Path

from scrubjay.surfaces.mcp.bridge.line_buffer import Lines
from scrubjay.surfaces.mcp.bridge.messages import answered
from scrubjay.version import PROTOCOL, VERSION

_CHUNK = 256 * 1024


class Unreachable(Exception):
    """The daemon cannot be used; the text says why, and what to do."""


class NobodyThere(Exception):
    """No daemon listens."""


class HungUp(OSError):
    """A daemon is there, but it closed the connection or is too busy to greet: worth another try."""


class Link:
    """What the daemon is told and tells: in turns at first, and then whatever can be sent or read at once."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = Lines()
        self.pid = 0
        self.version = ""

    def fileno(self) -> int:
        """For select."""
        return self._connection.fileno()

    def tell(self, line: bytes) -> None:
        """Send a whole line, however long that takes."""
        self._connection.sendall(line)

    def ask(self, line: bytes, *, key: str) -> tuple[bytes, list[bytes]]:
        """Send a request and wait for its answer; returns it, and what else was said meanwhile."""
        self.tell(line)
        answers: list[bytes] = []
        others: list[bytes] = []
        while not answers:
            for found in self.receive():
                answer = answered(found)
                (answers if answer and answer[0] == key else others).append(found)
        return answers[0], others

    def stop_waiting(self) -> None:
        """From now on send and receive only what can be at once."""
        self._connection.setblocking(False)  # noqa: FBT003 - the standard library's own signature

    def send(self, data: memoryview) -> int:
        """How many bytes were sent; raises BlockingIOError for none, another OSError when the daemon is gone."""
        return self._connection.send(data)

    def receive(self) -> list[bytes]:
        """The lines that are complete now; raises HungUp or another OSError when the daemon is gone."""
        data = self._connection.recv(_CHUNK)
        if not data:
            raise HungUp("the daemon closed the connection")
        return self._lines.feed(data)

    def say_goodbye(self) -> None:
        """Tell the daemon that nothing more will come."""
        self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def connect(path: Path, *, hello: dict[str, str], seconds: float) -> Link:
    """A link to the daemon that listens there; raises NobodyThere, HungUp or Unreachable."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(seconds)
    link = Link(connection)
    try:
        _require_own(path.parent)
        connection.connect(str(path))
        _greet(link, hello)
    except OSError as error:
        link.close()
        raise _meaning(error, path) from None
    except Unreachable:
        link.close()
        raise
    return link


def _require_own(folder: Path) -> None:
    # A folder in a shared place could have been put there by somebody who wants to listen.
    if folder.stat().st_uid != os.getuid():
        raise Unreachable(f"{folder} belongs to another user. Choose a data folder of your own with --data")


def _greet(link: Link, hello: dict[str, str]) -> None:
    with suppress(ConnectionError):  # Who does not want us may hang up before it listens; it has said why.
        link.tell(json.dumps({"scrubjay": VERSION, "protocol": PROTOCOL, "speak": "mcp", **hello}).encode() + b"\n")
    told: list[bytes] = []
    while not told:
        told = link.receive()
    try:
        greeting = json.loads(told[0])
        protocol: object = greeting.get("protocol")
        error: dict[str, object] = greeting.get("error") or {}
        link.pid, link.version = int(greeting.get("pid", 0)), str(greeting.get("scrubjay", "of unknown version"))[:40]
        code, message, hint = error.get("code"), error.get("message", "no reason given"), error.get("hint")
    except (ValueError, TypeError, AttributeError):
        raise Unreachable("what listens on the daemon's socket is no Scrubjay daemon. Stop it") from None
    if isinstance(protocol, int) and protocol != PROTOCOL:
        raise Unreachable(_mismatch(link, daemon_is_older=protocol < PROTOCOL))
    if code == "busy":
        raise HungUp(str(message))
    if error or not isinstance(protocol, int):
        raise Unreachable(f"the daemon refuses this client: {message}" + (f". {hint}" if hint else ""))


def _mismatch(link: Link, *, daemon_is_older: bool) -> str:
    if daemon_is_older:
        who = f"`kill {link.pid}`" if link.pid else "it runs as `scrubjay serve`"
        advice = f"The daemon is older: stop it ({who}), and the next request starts a new one"
    else:
        advice = "This bridge is older: restart the MCP client, so that it starts the newer one"
    return (
        f"the daemon is Scrubjay {link.version}, this bridge is {VERSION}, and they do not understand each other. "
        f"{advice}"
    )


def _meaning(error: OSError, path: Path) -> Exception:
    """What an error of the system says about the daemon."""
    if isinstance(error, FileNotFoundError | ConnectionRefusedError):
        return NobodyThere()
    if isinstance(error, TimeoutError):
        return Unreachable("the daemon does not answer. Stop it, and the next request starts a new one")
    if isinstance(error, HungUp | ConnectionError | BlockingIOError):
        return HungUp(str(error))
    return Unreachable(
        f"the daemon's socket {path} cannot be used: {error.strerror}. Choose another folder with --data"
    )
