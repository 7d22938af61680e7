"""Frames of the RPC protocol: one JSON object per line, in both directions.

A client sends a hello frame and the daemon replies; then frames of calls and answers follow, matched by their `id`.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, cast

from scrubjay.errors import DaemonUnavailable, InvalidInput, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json
from scrubjay.model.transfer import Progress
from scrubjay.rpc.codec import error_from_json
from scrubjay.version import PROTOCOL, VERSION

MAX_LINE = 64 * 1024 * 1024
PROTOCOL_HEADER = "scrubjay-protocol"
_CHUNK = 256 * 1024
_PACKET_SIZE = 1_000_000

# Made once: `json.dumps` makes one for each call. A value that contains itself ends in a RecursionError.
_ENCODER = json.JSONEncoder(separators=(",", ":"), check_circular=False)

Frame = dict[str, Json]


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The result of a call, and the line that it came in."""

    result: Json
    line: bytes


class LineReader:
    """Reads a stream line by line; skips a line over the limit and raises TooLarge."""

    def __init__(self, reader: asyncio.StreamReader, *, longest: int = MAX_LINE) -> None:
        self._reader = reader
        self._longest = longest
        self._buffer = bytearray()

    async def line(self) -> bytes | None:
        """Return the next line without its end; None at the end of the stream. An unfinished last line is dropped."""
        searched = 0
        skipped = 0
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                if skipped:
                    raise TooLarge(
                        f"a line of {skipped + end:,} bytes is too long; the limit is {self._longest:,}",
                        hint="Send less at once",
                        limit=self._longest,
                    )
                return line
            searched = len(self._buffer)
            if searched > self._longest:
                skipped += searched
                self._buffer.clear()
                searched = 0
            chunk = await self._reader.read(_CHUNK)
            if not chunk:
                return None
            self._buffer += chunk


def encode_frame(frame: Mapping[str, Json]) -> bytes:
    """Return a frame as a line."""
    try:
        return _ENCODER.encode(frame).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"a value cannot be written as JSON: {error}", hint="Use texts, numbers and lists") from None


def decode_frame(line: bytes) -> Frame:
    """Read a frame from a line."""
    try:
        frame: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not a line of JSON: {error}") from None
    if not isinstance(frame, dict):
        raise InvalidInput(f"a frame must be a JSON object, not {type(frame).__name__}")
    return cast("Frame", frame)


def pack_lines(lines: Iterable[str], *, most: int = _PACKET_SIZE) -> Iterator[Frame]:
    """Yield lines in frames of a bounded size. `cut` marks a frame whose last line continues in the next."""
    batch: list[Json] = []
    size = 0
    for line in lines:
        parts = [line[start : start + most] for start in range(0, len(line), most)] or [""]
        for number, part in enumerate(parts, start=1):
            batch.append(part)
            size += len(part)
            is_cut = number < len(parts)
            if size >= most or is_cut:
                yield {"lines": batch, "cut": is_cut}
                batch, size = [], 0
    if batch:
        yield {"lines": batch, "cut": False}


class LineJoiner:
    """Joins the lines of packets."""

    def __init__(self) -> None:
        self._partial = ""

    def lines(self, frame: Mapping[str, Json]) -> list[str]:
        """Return the lines that this packet completes."""
        items = frame.get("lines", [])
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise InvalidInput("lines must be a list of texts", field="lines")
        lines = cast("list[str]", items)
        if lines:
            lines = [self._partial + lines[0], *lines[1:]]
            self._partial = lines.pop() if frame.get("cut") else ""
        return lines


def hello(speak: str, **options: str) -> Frame:
    """Return the first frame of a client: its version and the protocol it wants to speak."""
    return {"scrubjay": VERSION, "protocol": PROTOCOL, "speak": speak, **options}


def require_same_protocol(greeting: Mapping[str, Json], *, other: Literal["client", "daemon"]) -> None:
    """Raise DaemonUnavailable if the protocol of the other side differs; the hint names the older side."""
    theirs = greeting.get("protocol")
    if theirs == PROTOCOL:
        return
    this = "client" if other == "daemon" else "daemon"
    older = other if not isinstance(theirs, int) or theirs < PROTOCOL else this
    version = str(greeting.get("scrubjay", "of an unknown version"))[:40]
    restart, update = "Update Scrubjay if needed, and restart the daemon", "Update the client and restart its program"
    raise DaemonUnavailable(
        f"the {other} (Scrubjay {version}, protocol {str(theirs)[:20]}) and the {this} (Scrubjay {VERSION}, protocol "
        f"{PROTOCOL}) cannot understand each other",
        hint=restart if older == "daemon" else update,
        version=VERSION,
    )


def check_answer(frame: Frame, *, progress: Progress | None) -> Frame:
    """Return a frame of an answer: raise its error, or report its progress."""
    if "error" in frame:
        raise error_from_json(cast("Frame", frame["error"]))
    if "progress" in frame and progress is not None:
        done, total = cast("list[int]", frame["progress"])
        progress(done, total)
    return frame
