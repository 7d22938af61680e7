"""The front door: every surface calls the verbs of the memory through one object."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from scrubjay.model.arguments import Request
from scrubjay.model.caller import Caller
from scrubjay.model.requests import ExportRequest, ImportRequest
from scrubjay.model.transfer import Imported, Lines, Progress
from scrubjay.model.verbs import verb_of

if TYPE_CHECKING:
    from scrubjay.engine import Engine
    from scrubjay.notes.service import Notes

R = TypeVar("R")


class Service(Protocol):
    """The verbs, in this process or in a daemon."""

    async def call(self, request: Request[R], *, who: Caller, progress: Progress | None = None) -> R:
        """Carry out a request."""
        ...

    def export(
        self, request: ExportRequest, *, who: Caller, progress: Progress | None = None
    ) -> AsyncIterator[str]:  # fmt: skip
        """Return the lines of an export."""
        ...

    async def import_(
        self, request: ImportRequest, lines: Lines, *, who: Caller, progress: Progress | None = None
    ) -> Imported:  # fmt: skip
        """Import lines."""
        ...


class LocalService:
    """The verbs of an engine in this process; the notes are opened for the first verb that needs them.

    It holds every caller, of every surface, to the level of access that the registry declares for a verb.
    """

    def __init__(self, engine: "Engine", *, notes: "Callable[[], Awaitable[Notes]]") -> None:
        self.engine = engine
        self._notes = notes

    @classmethod
    def over(cls, engine: "Engine", notes: "Notes | None" = None) -> "LocalService":
        """Return the verbs of an engine, and of notes that are open; without them, notes have no files."""

        async def open_notes() -> "Notes":
            from scrubjay.notes.service import Notes  # noqa: PLC0415 - few callers need notes

            return notes or Notes(engine=engine)

        return cls(engine, notes=open_notes)

    async def call(self, request: Request[R], *, who: Caller, progress: Progress | None = None) -> R:
        """Carry out a request."""
        verb = verb_of(request)
        who.access.require(verb.needs, verb=verb.name)
        target = await self._notes() if verb.notes else self.engine
        carry_out = cast("Callable[..., Awaitable[R]]", getattr(target, verb.name))
        return await (
            carry_out(request, who=who, progress=progress) if verb.progress else carry_out(request, who=who)
        )  # fmt: skip

    def export(
        self, request: ExportRequest, *, who: Caller, progress: Progress | None = None
    ) -> AsyncIterator[str]:  # fmt: skip
        """Return the lines of an export."""
        who.access.require(verb_of(request).needs, verb="export")
        return self.engine.export(request, who=who, progress=progress)

    async def import_(
        self, request: ImportRequest, lines: Lines, *, who: Caller, progress: Progress | None = None
    ) -> Imported:  # fmt: skip
        """Import lines."""
        who.access.require(verb_of(request).needs, verb="import")
        return await self.engine.import_(request, lines, who=who, progress=progress)
