"""One client's session: its lines to the daemon and the daemon's to it, also beyond the end of a daemon.

One thread waits for whichever side is ready, so that what is sent, awaited and lost is known exactly.
"""

import os
import select
import time
from collections import deque
from contextlib import suppress

from scrubjay.surfaces.mcp.bridge.daemon import Doorway, say
from scrubjay.surfaces.mcp.bridge.line_buffer import LONGEST_LINE, Lines
from scrubjay.surfaces.mcp.bridge.link import Link, Unreachable
from scrubjay.surfaces.mcp.bridge.messages import NOBODY, Message, answered, overlong_line, understand
from scrubjay.surfaces.mcp.bridge.options import Options
from scrubjay.surfaces.mcp.bridge.recovery import abandon, resume
from scrubjay.surfaces.mcp.bridge.unmatched_errors import LISTEN, Strays

_STDIN, _STDOUT = 0, 1
_CHUNK = 64 * 1024
# So much may wait for a client that does not read; then the daemon is not read either.
_MOST_WAITING = 4 * 1024 * 1024
_DRAIN_SECONDS = 30.0
_GOODBYE_SECONDS = 2.0
# Before each attempt to go on with a new daemon.
_PAUSES = (0.0, 0.1, 0.5)
# Requests that set up a session, and so must be repeated to a new daemon, once each.
_SETS_UP = ("initialize", "logging/setLevel")


class Session:
    """Copies until the client leaves and has its answers."""

    def __init__(self, options: Options) -> None:
        self._doorway = Doorway(options)
        self._link: Link | None = None
        self._pid = 0
        self._should_connect = True
        self._from_client = Lines(longest=LONGEST_LINE, refuse=self._refuse)
        self._to_client = bytearray()
        self._to_daemon: deque[Message] = deque()
        # The message that is being sent, and what of it is still to go.
        self._leaving = Message(b"")
        self._unsent = memoryview(b"")
        self._in_flight: dict[str, Message] = {}
        self._strays = Strays()
        self._standing: dict[str, Message] = {}
        # Once the client has left: when to stop waiting for answers, and whether the daemon was told.
        self._until: float | None = None
        self._has_parted = False
        self._trouble = ""

    def run(self) -> bool:
        """Copy to the end; returns whether there was a daemon to copy to, and none refused us since."""
        while self._goes_on():
            if self._link is None and not self._to_client and self._needs_daemon():
                self._connect()
            else:
                self._turn()
        while self._to_client and select.select([], [_STDOUT], [], 0)[1]:
            self._tell_client()
        return bool(self._pid) and not self._trouble

    def _goes_on(self) -> bool:
        if self._until is None:
            return True
        if time.monotonic() >= self._until:
            return False
        if self._to_client or self._to_daemon or self._unsent:
            return True
        if any(message.method != LISTEN for message in self._in_flight.values()):
            return True
        if self._link is not None and not self._has_parted:
            # What the daemon says to lines without an id is not awaited: it may still come, until it hangs up.
            self._part(self._link)
        return self._link is not None

    def _part(self, link: Link) -> None:
        self._has_parted = True
        self._in_flight.clear()
        self._until = time.monotonic() + _GOODBYE_SECONDS
        try:
            link.say_goodbye()
        except OSError:
            self._lose(link)

    def _needs_daemon(self) -> bool:
        return not self._has_parted and bool(self._should_connect or self._to_daemon or self._in_flight)

    def _turn(self) -> None:
        """Wait until something can be read or written, and do it."""
        link = self._link
        reading: list[int | Link] = []
        writing: list[int | Link] = []
        if self._until is None and not self._to_daemon and not self._unsent:
            reading.append(_STDIN)
        if self._to_client:
            writing.append(_STDOUT)
        if link is not None and len(self._to_client) < _MOST_WAITING:
            reading.append(link)
        if link is not None and (self._to_daemon or self._unsent):
            writing.append(link)
        readable, writable, _ = select.select(reading, writing, [], self._patience())
        if _STDOUT in writable:
            self._tell_client()
        if _STDIN in readable:
            self._hear_client()
        if link is not None and link in writable:
            self._send(link)
        if link is not None and link in readable and self._link is link:
            self._hear_daemon(link)
        self._to_client += self._strays.settle(self._in_flight)

    def _patience(self) -> float | None:
        """How long there is to wait; None while the client is there."""
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    def _tell_client(self) -> None:
        with suppress(BlockingIOError):
            # No more than a pipe takes without making us wait.
            del self._to_client[: os.write(_STDOUT, self._to_client[: select.PIPE_BUF])]

    def _hear_client(self) -> None:
        try:
            data = os.read(_STDIN, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # A terminal that is gone.
        lines = self._from_client.feed(data)
        if not data:
            self._until = time.monotonic() + _DRAIN_SECONDS
            rest = self._from_client.rest()
            lines = [rest] if rest else []
        for message in map(understand, lines):
            if message.refusal:
                self._to_client += message.refusal
            else:
                self._to_daemon.append(message)

    def _refuse(self, head: bytes, tail: bytes) -> None:
        self._to_client += overlong_line(head, tail, longest=LONGEST_LINE)

    def _send(self, link: Link) -> None:
        try:
            while self._unsent or self._to_daemon:
                if not self._unsent:
                    self._take_next()
                self._unsent = self._unsent[link.send(self._unsent) :]
                if not self._unsent:
                    self._note_sent(self._leaving)
        except BlockingIOError:
            pass
        except OSError:
            self._lose(link)

    def _take_next(self) -> None:
        self._leaving = self._to_daemon.popleft()
        self._unsent = memoryview(self._leaving.line)
        if self._leaving.is_request:
            self._in_flight[self._leaving.key] = self._leaving
        self._strays.note_sent(self._leaving)

    def _note_sent(self, message: Message) -> None:
        if message.method == "notifications/initialized":
            self._standing[message.method] = message
        elif message.method == "notifications/cancelled":
            # It is answered or not, as the daemon likes.
            self._in_flight.pop(message.about, None)

    def _hear_daemon(self, link: Link) -> None:
        try:
            lines = link.receive()
        except BlockingIOError:
            return
        except OSError:
            self._lose(link)
            return
        for line in lines:
            answer = answered(line)
            if answer == (NOBODY, False):
                self._to_client += self._strays.hear(line)
                continue
            if answer:
                self._note_answered(*answer)
            self._to_client += line

    def _note_answered(self, key: str, succeeded: bool) -> None:
        message = self._in_flight.pop(key, None)
        if message is None or not succeeded:
            return
        if message.method in _SETS_UP:
            self._standing[message.method] = message
        elif message.method == "resources/subscribe":
            self._standing[f"resource {message.about}"] = message
        elif message.method == "resources/unsubscribe":
            self._standing.pop(f"resource {message.about}", None)

    def _lose(self, link: Link) -> None:
        link.close()
        self._link = None
        if self._has_parted:
            return
        say("the connection to the daemon was lost")
        self._to_client += self._strays.lose()
        if self._unsent and not self._leaving.is_request:
            self._to_daemon.appendleft(self._leaving)
        self._unsent = memoryview(b"")
        # Who is told of changes waits for them without asking; for others the next request is early enough.
        self._should_connect = any(key.startswith("resource ") for key in self._standing)

    def _connect(self) -> None:
        self._should_connect = False
        for pause in _PAUSES:
            time.sleep(pause)
            try:
                link = self._doorway.enter(again=bool(self._pid), patience=self._patience())
            except Unreachable as error:
                self._give_up(str(error))
                return
            try:
                self._go_on_with(link)
            except OSError:
                link.close()
            else:
                return
        self._give_up("the daemon goes away again and again. See its log")

    def _go_on_with(self, link: Link) -> None:
        """Use a new link from here on, once it is where the lost one was."""
        in_flight = list(self._in_flight.values())
        resumed = resume(
            link, standing=self._standing.values(), in_flight=in_flight, is_same_daemon=link.pid == self._pid
        )
        link.stop_waiting()
        if self._pid:
            say(f"connected to the daemon again (process {link.pid})")
        self._link, self._pid = link, link.pid
        self._trouble = ""
        self._in_flight.clear()
        for message in resumed.again:
            message.repeats += 1
        self._to_daemon.extendleft(reversed(resumed.again))
        self._to_client += b"".join(resumed.for_client)

    def _give_up(self, reason: str) -> None:
        if reason != self._trouble:
            say(reason)
        self._trouble = reason
        answers = abandon(in_flight=self._in_flight.values(), unsent=self._to_daemon, reason=reason)
        self._to_client += b"".join(answers)
        self._in_flight.clear()
        self._to_daemon.clear()
