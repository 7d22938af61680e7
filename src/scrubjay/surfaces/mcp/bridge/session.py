"""One client's session: copies its lines to the daemon and the daemon's to it, and survives a daemon's restart.

One thread waits for both sides, so that it always knows which messages are sent, in flight or lost.
"""

import json
import os
import select
import time
from collections import deque
from contextlib import suppress

from scrubjay.surfaces.mcp.bridge.daemon import DaemonConnector, print_error
from scrubjay.surfaces.mcp.bridge.link import MAX_LINE, DaemonLink, DaemonUnreachable, LineBuffer
from scrubjay.surfaces.mcp.bridge.messages import (
    LISTEN,
    NO_REQUEST,
    ClientMessage,
    match_answer,
    overlong_line,
    read_message,
)
from scrubjay.surfaces.mcp.bridge.options import BridgeOptions
from scrubjay.surfaces.mcp.bridge.recovery import abandon, resume

_STDIN, _STDOUT = 0, 1
_CHUNK = 64 * 1024
# With this much pending for a client that does not read, the bridge stops reading from the daemon.
_MAX_PENDING = 4 * 1024 * 1024
_DRAIN_SECONDS = 30.0
_CLOSE_SECONDS = 2.0
# The pause before each attempt to resume with a new daemon.
_PAUSES = (0.0, 0.1, 0.5)
# Requests that set up a session: the bridge repeats them to a new daemon, once each.
_SETUP_METHODS = ("initialize", "logging/setLevel")


class BridgeSession:
    """Copies lines until the client has left and has its answers."""

    def __init__(self, options: BridgeOptions) -> None:
        self._connector = DaemonConnector(options)
        self._link: DaemonLink | None = None
        self._pid = 0
        self._should_connect = True
        self._from_client = LineBuffer(limit=MAX_LINE, refuse=self._refuse)
        self._to_client = bytearray()
        self._to_daemon: deque[ClientMessage] = deque()
        # The message that is being sent, and its bytes that are not sent yet.
        self._sending = ClientMessage(b"")
        self._unsent = memoryview(b"")
        self._in_flight: dict[str, ClientMessage] = {}
        self._unmatched = UnmatchedErrors()
        # The messages that set up the session, to repeat to a new daemon.
        self._setup: dict[str, ClientMessage] = {}
        # After the client has left: when to stop waiting for answers, and whether the daemon knows.
        self._deadline: float | None = None
        self._has_ended = False
        self._failure = ""

    def run(self) -> bool:
        """Copy until the end; return whether there was a daemon, and none refused the bridge since."""
        while self._is_active():
            needs_daemon = not self._has_ended and (self._should_connect or self._to_daemon or self._in_flight)
            if self._link is None and not self._to_client and needs_daemon:
                self._connect()
            else:
                self._copy_once()
        while self._to_client and select.select([], [_STDOUT], [], 0)[1]:
            self._write_to_client()
        return bool(self._pid) and not self._failure

    def _is_active(self) -> bool:
        if self._deadline is None:
            return True
        if time.monotonic() >= self._deadline:
            return False
        if self._to_client or self._to_daemon or self._unsent:
            return True
        if any(message.method != LISTEN for message in self._in_flight.values()):
            return True
        if self._link is not None and not self._has_ended:
            # The daemon may still answer lines without an id, until it closes the connection.
            self._end(self._link)
        return self._link is not None

    def _end(self, link: DaemonLink) -> None:
        self._has_ended = True
        self._in_flight.clear()
        self._deadline = time.monotonic() + _CLOSE_SECONDS
        try:
            link.end_sending()
        except OSError:
            self._lose(link)

    def _copy_once(self) -> None:
        """Wait until something can be read or written, and do it."""
        link = self._link
        reading: list[int | DaemonLink] = []
        writing: list[int | DaemonLink] = []
        if self._deadline is None and not self._to_daemon and not self._unsent:
            reading.append(_STDIN)
        if self._to_client:
            writing.append(_STDOUT)
        if link is not None and len(self._to_client) < _MAX_PENDING:
            reading.append(link)
        if link is not None and (self._to_daemon or self._unsent):
            writing.append(link)
        readable, writable, _ = select.select(reading, writing, [], self._seconds_left())
        if _STDOUT in writable:
            self._write_to_client()
        if _STDIN in readable:
            self._read_from_client()
        if link is not None and link in writable:
            self._send(link)
        if link is not None and link in readable and self._link is link:
            self._receive(link)
        self._to_client += self._unmatched.assign(self._in_flight)

    def _seconds_left(self) -> float | None:
        """Return how long to wait; None while the client is there."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _write_to_client(self) -> None:
        with suppress(BlockingIOError):
            # No more than a pipe takes without blocking.
            del self._to_client[: os.write(_STDOUT, self._to_client[: select.PIPE_BUF])]

    def _read_from_client(self) -> None:
        try:
            data = os.read(_STDIN, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # The terminal is gone.
        lines = self._from_client.feed(data)
        if not data:
            self._deadline = time.monotonic() + _DRAIN_SECONDS
            rest = self._from_client.rest()
            lines = [rest] if rest else []
        for message in map(read_message, lines):
            if message.refusal:
                self._to_client += message.refusal
            else:
                self._to_daemon.append(message)

    def _refuse(self, head: bytes, tail: bytes) -> None:
        self._to_client += overlong_line(head, tail, limit=MAX_LINE)

    def _send(self, link: DaemonLink) -> None:
        try:
            while self._unsent or self._to_daemon:
                if not self._unsent:
                    self._take_next()
                self._unsent = self._unsent[link.send(self._unsent) :]
                if not self._unsent:
                    self._note_sent(self._sending)
        except BlockingIOError:
            pass
        except OSError:
            self._lose(link)

    def _take_next(self) -> None:
        self._sending = self._to_daemon.popleft()
        self._unsent = memoryview(self._sending.line)
        if self._sending.is_request:
            self._in_flight[self._sending.key] = self._sending
        self._unmatched.note_sent(self._sending)

    def _note_sent(self, message: ClientMessage) -> None:
        if message.method == "notifications/initialized":
            self._setup[message.method] = message
        elif message.method == "notifications/cancelled":
            # The daemon may answer a cancelled request or not.
            self._in_flight.pop(message.about, None)

    def _receive(self, link: DaemonLink) -> None:
        try:
            lines = link.receive()
        except BlockingIOError:
            return
        except OSError:
            self._lose(link)
            return
        for line in lines:
            answer = match_answer(line)
            if answer == (NO_REQUEST, False):
                self._to_client += self._unmatched.receive(line)
                continue
            if answer:
                self._note_answered(*answer)
            self._to_client += line

    def _note_answered(self, key: str, succeeded: bool) -> None:
        message = self._in_flight.pop(key, None)
        if message is None or not succeeded:
            return
        if message.method in _SETUP_METHODS:
            self._setup[message.method] = message
        elif message.method == "resources/subscribe":
            self._setup[f"resource {message.about}"] = message
        elif message.method == "resources/unsubscribe":
            self._setup.pop(f"resource {message.about}", None)

    def _lose(self, link: DaemonLink) -> None:
        link.close()
        self._link = None
        if self._has_ended:
            return
        print_error("the connection to the daemon was lost")
        self._to_client += self._unmatched.flush()
        if self._unsent and not self._sending.is_request:
            self._to_daemon.appendleft(self._sending)
        self._unsent = memoryview(b"")
        # A client with subscriptions waits for changes without asking; for others, the next request reconnects.
        self._should_connect = any(key.startswith("resource ") for key in self._setup)

    def _connect(self) -> None:
        self._should_connect = False
        for pause in _PAUSES:
            time.sleep(pause)
            try:
                link = self._connector.connect(again=bool(self._pid), seconds=self._seconds_left())
            except DaemonUnreachable as error:
                self._give_up(str(error))
                return
            try:
                self._resume_with(link)
            except OSError:
                link.close()
            else:
                return
        self._give_up("the daemon keeps going away. See its log")

    def _resume_with(self, link: DaemonLink) -> None:
        """Continue on a new link, after the session is set up on it."""
        in_flight = list(self._in_flight.values())
        resumed = resume(link, setup=self._setup.values(), in_flight=in_flight, is_same_daemon=link.pid == self._pid)
        link.set_nonblocking()
        if self._pid:
            print_error(f"connected to the daemon again (process {link.pid})")
        self._link, self._pid = link, link.pid
        self._failure = ""
        self._in_flight.clear()
        for message in resumed.again:
            message.repeats += 1
        self._to_daemon.extendleft(reversed(resumed.again))
        self._to_client += b"".join(resumed.for_client)

    def _give_up(self, reason: str) -> None:
        if reason != self._failure:
            print_error(reason)
        self._failure = reason
        answers = abandon(in_flight=self._in_flight.values(), unsent=self._to_daemon, reason=reason)
        self._to_client += b"".join(answers)
        self._in_flight.clear()
        self._to_daemon.clear()


class UnmatchedErrors:
    """Holds errors that name no request, until the open requests show which ones they answer.

    The daemon sends such an error for a line that it cannot read. If the client sent a line without an id, the error is
    about that one. If not, it is about a request whose client would wait for ever: once there are no more open requests
    than errors, each request gets one of them.
    """

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._expected = 0

    def note_sent(self, message: ClientMessage) -> None:
        """Count a sent line that can only be answered without an id."""
        self._expected += message.is_nameless

    def receive(self, line: bytes) -> bytes:
        """Take an error that names no request; return it if it is for the client now."""
        if self._expected:
            self._expected -= 1
            return line
        self._held.append(line)
        return b""

    def assign(self, in_flight: dict[str, ClientMessage]) -> bytes:
        """Answer the requests that the held errors must be about, and remove them from `in_flight`."""
        if not self._held:
            return b""
        waiting = [message for message in in_flight.values() if message.method != LISTEN]
        if len(waiting) > len(self._held):
            return b""
        for index, message in enumerate(waiting):
            del in_flight[message.key]
            self._held[index] = json.dumps({**json.loads(self._held[index]), "id": message.id}).encode() + b"\n"
        return self._take_held()

    def flush(self) -> bytes:
        """Return the held errors: the daemon is gone, and no more can be learned about them."""
        self._expected = 0
        return self._take_held()

    def _take_held(self) -> bytes:
        lines = b"".join(self._held)
        self._held.clear()
        return lines
