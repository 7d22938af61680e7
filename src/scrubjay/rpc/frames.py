"""Lines of JSON over a stream: one frame a line, in both directions.

A client first says hello and is answered; then frames of calls and answers follow, told apart by their `id`.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from scrubjay.errors import DaemonUnavailable, InvalidInput, TooLarge
from scrubjay.model.memory import Json
from scrubjay.version import PROTOCOL, VERSION

LONGEST_LINE = 64 * 1024 * 1024
PROTOCOL_HEADER = "scrubjay-protocol"
_CHUNK = 256 * 1024
_PACKET = 1_000_000

Frame = dict[str, Json]


class LineReader:
    """Reads a stream line by line; a line that is too long is skipped whole and raises TooLarge."""

    def __init__(self, reader: asyncio.StreamReader, *, longest: int = LONGEST_LINE) -> None:
        self._reader = reader
        self._longest = longest
        self._buffer = bytearray()

    async def line(self) -> bytes | None:
        """The next line without its end; None when the other side is done. Half a line at the end is no line."""
        searched = 0
        skipping = 0
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                if skipping:
                    raise _too_long(skipping + end, self._longest)
                return line
            searched = len(self._buffer)
            if searched > self._longest:
                skipping += searched
                self._buffer.clear()
                searched = 0
            chunk = await self._reader.read(_CHUNK)
            if not chunk:
                return None
            self._buffer += chunk


def encoded(frame: Mapping[str, Json]) -> bytes:
    """A frame as a line."""
    try:
        return json.dumps(frame, separators=(",", ":")).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"a value cannot be written as JSON: {error}", hint="Use texts, numbers and lists") from None


def decoded(line: bytes) -> Frame:
    """The frame of a line."""
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not a line of JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"a frame must be a JSON object, not {type(found).__name__}")
    return cast("Frame", found)


def packets(lines: Iterable[str], *, most: int = _PACKET) -> Iterator[Frame]:
    """Lines in frames of a bounded size. One that is longer than a frame goes on in the next, which `cut` announces."""
    batch: list[Json] = []
    size = 0
    for line in lines:
        pieces = [line[start : start + most] for start in range(0, len(line), most)] or [""]
        for place, piece in enumerate(pieces):
            batch.append(piece)
            size += len(piece)
            is_cut = place < len(pieces) - 1
            if size >= most or is_cut:
                yield {"lines": batch, "cut": is_cut}
                batch, size = [], 0
    if batch:
        yield {"lines": batch, "cut": False}


class Joiner:
    """Puts the lines of packets together again."""

    def __init__(self) -> None:
        self._begun = ""

    def lines(self, frame: Mapping[str, Json]) -> list[str]:
        """The lines that are whole with this packet."""
        given = frame.get("lines", [])
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            raise InvalidInput("lines must be a list of texts", field="lines")
        lines = cast("list[str]", given)
        if lines:
            lines = [self._begun + lines[0], *lines[1:]]
            self._begun = lines.pop() if frame.get("cut") else ""
        return lines


def hello(speak: str, **wishes: str) -> Frame:
    """The first line of a client: who it is and what it wants to speak."""
    return {"scrubjay": VERSION, "protocol": PROTOCOL, "speak": speak, **wishes}


def require_same_protocol(said: Mapping[str, Json], *, other: str) -> None:
    """Raise DaemonUnavailable, naming the side that is behind, unless the other side speaks as we do."""
    theirs = said.get("protocol")
    if theirs == PROTOCOL:
        return
    behind = other if not isinstance(theirs, int) or theirs < PROTOCOL else "this side"
    raise DaemonUnavailable(
        f"the {other} is Scrubjay {str(said.get('scrubjay', 'of an unknown version'))[:40]}, this is {VERSION}, and "
        "they do not understand each other",
        hint=f"Restart the {other}" if behind == other else f"Update and restart what talks to the {other}",
        version=VERSION,
    )


def _too_long(size: int, longest: int) -> TooLarge:
    return TooLarge(
        f"a line of {size:,} bytes is too long; the limit is {longest:,}", hint="Send less at once", limit=longest
    )
