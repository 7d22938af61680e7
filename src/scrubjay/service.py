"""The front door: every surface calls the verbs of the memory through one object."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from scrubjay.errors import ScrubjayError, WrongState
from scrubjay.model.arguments import Request
from scrubjay.model.caller import Caller
from scrubjay.model.requests import ExportRequest, ImportRequest
from scrubjay.model.transfer import Imported, Lines, Progress
from scrubjay.model.verbs import Verb, verb_of

if TYPE_CHECKING:
    from scrubjay.engine import Engine
    from scrubjay.notes.service import Notes

R = TypeVar("R")
# The verbs of the engine whose results tell where files are, and the fields that do, in these and in those of notes.
_TELLS_PATHS = frozenset({"status", "doctor", "jobs", "retry_job", "cancel_job"})
_PATH_FIELDS = frozenset(
    {
        "data", "file", "path", "file_path", "folder", "store", "index", "vault", "problem", "problems", "checks",
        "detail", "fix", "outcome", "warnings", "notes", "results", "backlinks", "links", "templates", "about",
    }
)  # fmt: skip


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
        if not verb.reads:
            await self.engine.require_own_look(who)
        target = await self._target(verb)
        carry_out = cast("Callable[..., Awaitable[R]]", getattr(target, verb.name))
        try:
            result = await (
                carry_out(request, who=who, progress=progress) if verb.progress else carry_out(request, who=who)
            )  # fmt: skip
        except ScrubjayError as error:
            if who.sees_paths:
                raise
            raise error.without_places() from error
        if who.sees_paths or not (verb.notes or verb.name in _TELLS_PATHS):
            return result
        return cast("R", _hide_folders(result, _folders(self.engine, target)))

    async def _target(self, verb: Verb) -> object:
        """Return what carries out a verb."""
        if verb.notes:
            return await self._notes()
        if verb.curation:
            return _opened(self.engine.curator, "curation")
        if verb.code:
            # A program calls the verbs by the same door as everybody.
            return _opened(self.engine.programs, "programs").bound_to(self.call, engine=self.engine)
        return self.engine

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
        await self.engine.require_own_look(who)
        return await self.engine.import_(request, lines, who=who, progress=progress)


def _opened(part: R | None, name: str) -> R:
    if part is None:
        raise WrongState(f"this engine was opened without {name}", hint="Open it with `open_engine`")
    return part


def _folders(engine: "Engine", target: object) -> list[str]:
    """Return the folders of a server that the holder of a token need not know, the longest first."""
    vaults = getattr(target, "vaults", None)
    folders = {engine.data, engine.data.resolve(), *([vaults.folder, vaults.folder.resolve()] if vaults else [])}
    return sorted(map(str, folders), key=len, reverse=True)


def _hide_folders(value: object, folders: Sequence[str]) -> object:
    """Return a result with files named from the folder that contains them; the texts of memories stay as they are."""
    if isinstance(value, str):
        for folder in folders:
            value = value.replace(f"{folder}{os.sep}", "").replace(folder, "the folder of the server")
        return value
    if isinstance(value, tuple | list):
        items = [_hide_folders(item, folders) for item in cast("Sequence[object]", value)]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, Mapping):
        named = cast("Mapping[str, object]", value)
        return {name: _hide_folders(item, folders) for name, item in named.items()}
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if field.name in _PATH_FIELDS]
        return replace(value, **{name: _hide_folders(getattr(value, name), folders) for name in names})
    return value
