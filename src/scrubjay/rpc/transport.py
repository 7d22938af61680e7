"""What a remote engine needs of a way to the daemon, be it a socket or HTTP."""

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Protocol, cast

from scrubjay.model.draft import Caller
from scrubjay.model.memory import Json
from scrubjay.model.transfer import Progress
from scrubjay.rpc.codec import error_from
from scrubjay.rpc.frames import Frame


class Transport(Protocol):
    """A way to the daemon.

    Raises DaemonUnavailable with the field `sent`: whether the daemon may have got the call.
    """

    @property
    def peer(self) -> str:
        """Which process answered last; empty when that is not known. One that is gone can write nothing any more."""
        ...

    async def open(self) -> None:
        """Make sure that somebody is there."""
        ...

    async def call(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> Json:
        """Have the daemon do one thing."""
        ...

    def pull(
        self, verb: str, arguments: Mapping[str, Json], *, who: Caller, progress: Progress | None = None
    ) -> AsyncIterator[str]:
        """Lines that the daemon gives, as many as there are."""
        ...

    async def push(self, verb: str, lines: Iterable[str], *, who: Caller, progress: Progress | None = None) -> Json:
        """Give the daemon lines, and get its answer when it has them all."""
        ...

    async def close(self) -> None:
        """Hang up."""
        ...


def heard(frame: Frame, *, progress: Progress | None) -> Frame:
    """A frame of an answer: an error is raised, and progress is told to whoever wants to know."""
    if "error" in frame:
        raise error_from(cast("Frame", frame["error"]))
    if "progress" in frame and progress is not None:
        done, total = cast("list[int]", frame["progress"])
        progress(done, total)
    return frame
