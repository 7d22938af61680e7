"""Errors of the daemon that name no request: which line they are about."""

import json

from scrubjay.surfaces.mcp.bridge.messages import Message

# A stream of events stays open; nothing follows from its having no answer.
LISTEN = "subscriptions/listen"


class Strays:
    """Holds such errors until what is left unanswered shows whose they are.

    The daemon says so of a line that it cannot read. If the client sent one that has no id, it is that one. Otherwise
    it was a request, and its client would wait for ever: once no more requests are open than errors are held, each of
    them is answered by one.
    """

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._expected = 0

    def note_sent(self, message: Message) -> None:
        """A line goes out, which may be one that can only be answered without an id."""
        self._expected += message.is_nameless

    def hear(self, line: bytes) -> bytes:
        """Take an error without an id; returns what of it the client is told now."""
        if self._expected:
            self._expected -= 1
            return line
        self._held.append(line)
        return b""

    def settle(self, in_flight: dict[str, Message]) -> bytes:
        """Answer the requests that the held errors can only be about, which then are in flight no more."""
        if not self._held:
            return b""
        waiting = [message for message in in_flight.values() if message.method != LISTEN]
        if len(waiting) > len(self._held):
            return b""
        for at, message in enumerate(waiting):
            del in_flight[message.key]
            self._held[at] = json.dumps({**json.loads(self._held[at]), "id": message.id}).encode() + b"\n"
        return self._told()

    def lose(self) -> bytes:
        """The daemon is gone, and what it might still have said; returns what is held, for no more is to be learned."""
        self._expected = 0
        return self._told()

    def _told(self) -> bytes:
        told = b"".join(self._held)
        self._held.clear()
        return told
