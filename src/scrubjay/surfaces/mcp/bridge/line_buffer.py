"""Bytes as they arrive, cut into lines."""

from collections.abc import Callable

# As much as the daemon takes.
LONGEST_LINE = 64 * 1024 * 1024
_EDGE = 512


class Lines:
    """Collects lines. One over the limit is never held whole: its first and last bytes go to `refuse` instead."""

    def __init__(self, *, longest: int = 0, refuse: Callable[[bytes, bytes], None] | None = None) -> None:
        self._longest = longest
        self._refuse = refuse
        self._held = bytearray()
        # The first bytes of a line that is being skipped, while it is.
        self._head = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are now complete, each with its end."""
        found: list[bytes] = []
        start = 0
        while end := data.find(b"\n", start) + 1:
            self._hold(data[start:end])
            if line := self._completed():
                found.append(line)
            start = end
        self._hold(data[start:])
        return found

    def rest(self) -> bytes:
        """What came after the last line, made a line; empty when there was nothing."""
        if self._held or self._head:
            self._hold(b"\n")
        return self._completed()

    def _hold(self, piece: bytes) -> None:
        self._held += piece
        if self._head:
            del self._held[:-_EDGE]
        elif self._longest and len(self._held) > self._longest:
            self._head = bytes(self._held[:_EDGE])
            del self._held[:-_EDGE]

    def _completed(self) -> bytes:
        """The held line, or nothing where it was too long."""
        line, head = bytes(self._held), self._head
        self._held.clear()
        self._head = b""
        if not head:
            return line
        if self._refuse is not None:
            self._refuse(head, line)
        return b""
