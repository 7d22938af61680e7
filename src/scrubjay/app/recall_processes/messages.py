"""The connection between a daemon and a process of its own, and what they send each other."""

import asyncio
import base64
import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime
from typing import Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from scrubjay.lazy import dataclass
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.model.requests import RecallRequest
from scrubjay.model.results import Recalled
from scrubjay.ports import Profile
from scrubjay.rpc.codec import from_json, to_json_without_defaults
from scrubjay.settings import Settings

Number = TypeVar("Number", bound=np.generic)
_SEPARATOR = b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCall:
    """A search of the vector index of the daemon; the vector is one of `pack`."""

    space: str
    vector: str
    filter: Filter
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The passages that a search returns, and their cosines: as bytes, since each has nearly a hundred."""

    numbers: str = ""
    cosines: str = ""

    @classmethod
    def of(cls, pairs: Sequence[tuple[int, float]]) -> Self:
        """Return them from pairs of both."""
        numbers, cosines = ([pair[place] for pair in pairs] for place in (0, 1))
        return cls(numbers=_pack(numbers, np.int64), cosines=_pack(cosines, np.float64))

    @property
    def pairs(self) -> list[tuple[int, float]]:
        """Each passage with its cosine."""
        numbers, cosines = _unpack(self.numbers, np.int64), _unpack(self.cosines, np.float64)
        return list(zip(numbers.tolist(), cosines.tolist(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """What the model and the index of the daemon say to a question: its vector, and the passages nearest to it."""

    profile: Profile
    text: str
    search: SearchCall
    matches: Matches


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuestion:
    """A question, with its number and with what its first search needs."""

    number: int
    question: RecallRequest
    spaces: tuple[str, ...]
    now: datetime
    nearest: Nearest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallAnswer:
    """The answer to a question, none after an error, with the stages that have ended and their seconds, as bytes."""

    number: int
    answer: Recalled | None = None
    ends_at: datetime | None = None
    stages: str = ""
    seconds: str = ""

    @property
    def timed(self) -> list[tuple[str, float]]:
        """Each stage with its seconds."""
        return list(zip(self.stages.split(), _unpack(self.seconds, np.float64).tolist(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A call of one of the daemon's models: the number of the question, its own, and one of the four."""

    question: int
    number: int
    profile: bool = False
    text: str | None = None
    search: SearchCall | None = None
    rerank: str | None = None
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """The result of a call of a model."""

    number: int
    profile: Profile | None = None
    vector: str = ""
    matches: Matches = field(default_factory=Matches)
    scores: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReady:
    """A process has opened the store."""


Message = Settings | ProcessReady | RecallQuestion | RecallAnswer | ModelCall | ModelResult
# Made once: `json.dumps` makes one for each call.
_encode: Callable[[object], str] = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_KINDS = {
    kind.__name__: kind for kind in (Settings, ProcessReady, RecallQuestion, RecallAnswer, ModelCall, ModelResult)
}


def pack(vector: Vector) -> str:
    """Return a vector as text."""
    return _pack(vector, np.float32)


def pack_seconds(seconds: Sequence[float]) -> str:
    """Return seconds as text."""
    return _pack(seconds, np.float64)


def unpack(text: str) -> Vector:
    """Read the text of a vector."""
    return _unpack(text, np.float32)


def _pack(numbers: Sequence[float] | Vector, kind: type[np.generic]) -> str:
    return base64.b64encode(np.asarray(numbers, kind).tobytes()).decode("ascii")


def _unpack(text: str, kind: type[Number]) -> NDArray[Number]:
    return np.frombuffer(base64.b64decode(text), kind)


class ProcessConnection(asyncio.Protocol):
    """Sends and receives messages, each a line of JSON."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to send."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Hand on each message that is complete."""
        *lines, self._received = (self._received + data).split(_SEPARATOR)
        for line in lines:
            name, value = json.loads(line)
            self.receive(cast("Message", from_json(_KINDS[name], value)))

    @abstractmethod
    def receive(self, message: Message) -> None:
        """Take a message."""

    def send(self, message: Message) -> None:
        """Send a message; if the other process is gone, it is dropped."""
        if self._transport is not None and not self._transport.is_closing():
            text = _encode([type(message).__name__, to_json_without_defaults(message)])
            self._transport.write(text.encode() + _SEPARATOR)

    def close(self) -> None:
        """End the connection."""
        if self._transport is not None:
            self._transport.close()
