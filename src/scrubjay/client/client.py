"""`MemoryClient`: the verbs for Python programs, executed by a daemon or by an engine in this process."""

import asyncio
import weakref
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeVar, cast

from scrubjay.client.aliases import AsyncAliases
from scrubjay.client.connect import BorrowedConnection, Connection
from scrubjay.errors import InvalidInput, NotAllowed, TooLarge
from scrubjay.model.arguments import Request
from scrubjay.model.caller import Caller
from scrubjay.model.requests import (
    AttachFileRequest,
    AttachPathRequest,
    EmbedMissingRequest,
    ExportRequest,
    ImportRequest,
)
from scrubjay.model.transfer import Imported, Lines, Progress
from scrubjay.service import LocalService, Service
from scrubjay.settings import Settings

if TYPE_CHECKING:
    from scrubjay.engine import Engine
    from scrubjay.notes.service import Notes

R = TypeVar("R")


class MemoryClient(AsyncAliases):
    """One space of one memory, opened by the first call and closed when `asyncio.run` ends.

    `async with` closes it at the end of the block, and `aclose` at once. One event loop at a time may use it.

    It talks to the daemon of the data folder if one runs, else it opens the store itself. With `url` it talks to a
    server over HTTP and sends the `token`; with `path` it opens the store in that folder, even if others use it.
    """

    def __init__(
        self,
        *,
        path: str | Path | None = None,
        url: str = "",
        token: str | None = None,
        space: str | None = None,
        agent: str | None = None,
        run: str = "",
        settings: Settings | None = None,
    ) -> None:
        if path and url:
            raise InvalidInput("a client needs a folder or an address, not both", hint="Give path or url", field="url")
        chosen = settings or Settings.load(home=str(path) if path else None, space=space, agent=agent)
        chosen = chosen.with_overrides(token=token)
        home = str(path) if path else chosen.home
        self._settings = replace(chosen, home=home, space=space or chosen.space, agent=agent or chosen.agent)
        self._who = Caller(space=self._settings.space, agent=self._settings.agent, run=run)
        names_space = space is not None or self._settings.space != Settings().space
        connection = Connection(settings=self._settings, url=url, alone=path is not None, names_space=names_space)
        self._connection: Connection | BorrowedConnection = connection
        weakref.finalize(self, connection.drop).atexit = False

    @classmethod
    def over(cls, engine: "Engine", who: Caller, *, notes: "Notes | None" = None) -> "MemoryClient":
        """Return a client over an engine and notes that another owner opened and closes."""
        return cls.through(LocalService.over(engine, notes), who)

    @classmethod
    def through(cls, service: Service, who: Caller) -> "MemoryClient":
        """Return a client of verbs that another owner opened and closes."""
        return _BorrowingClient(service, who)

    async def __aenter__(self) -> Self:
        await self._connection.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    async def aclose(self) -> None:
        """Close it, as the end of a `with` block does."""
        await self._connection.close()

    async def call(self, request: Request[R], *, progress: Progress | None = None) -> R:
        """Carry out a request; the methods of this class are short forms of it."""
        service = await self._connection.ready()
        sent: object = request
        if isinstance(sent, AttachPathRequest) and self._connection.is_remote:
            sent = await self._as_upload(sent)
        return await service.call(cast("Request[R]", sent), who=self._who, progress=progress)

    async def _as_upload(self, request: AttachPathRequest) -> AttachFileRequest:
        """Read the file here: a server on another machine does not see it."""
        data = await asyncio.to_thread(_read_bytes, request.path, limit=self._settings.max_attachment_bytes)
        return AttachFileRequest(
            note=request.note, name=request.name or request.path.name, data=data, caption=request.caption
        )

    def export(
        self,
        *,
        format: Literal["scrubjay", "kg"] = "scrubjay",
        include: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> AsyncIterator[str]:
        """Return all memories with their versions as JSON Lines; `kg` is the format of the reference graph server.

        `include` adds sections: `documents`, `answers` (of idempotency keys) and `vectors`.
        """
        request = ExportRequest.of(format=format, include=include)
        return self._export(request, progress=progress)

    async def _export(self, request: ExportRequest, *, progress: Progress | None) -> AsyncIterator[str]:
        service = await self._connection.ready()
        async for line in service.export(request, who=self._who, progress=progress):
            yield line

    async def import_lines(
        self, lines: Sequence[str] | Path, *, progress: Progress | None = None, embed: bool = True
    ) -> Imported:
        """Import an export; everything is checked before anything is stored."""
        service = await self._connection.ready()
        imported = await service.import_(ImportRequest(), _line_source(lines), who=self._who, progress=progress)
        if embed:
            # A server on which this client may not embed does it by itself.
            with suppress(NotAllowed):
                await service.call(EmbedMissingRequest(), who=self._who, progress=progress)
        return imported


class _BorrowingClient(MemoryClient):
    """A client that does not own its engine."""

    def __init__(self, service: Service, who: Caller) -> None:
        self._who = who
        self._settings = Settings()
        self._connection = BorrowedConnection(service)


def _read_bytes(path: Path, *, limit: int) -> bytes:
    """Read a file up to a size limit."""
    try:
        if not path.is_file():
            raise InvalidInput(f"{path} is not a file", field="file")
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", field="file") from error
    if len(data) > limit:
        raise TooLarge(f"{path} has more than {limit:,} bytes", hint="Raise SCRUBJAY_MAX_ATTACHMENT_BYTES", limit=limit)
    return data


def _line_source(lines: Sequence[str] | Path) -> Lines:
    """Return a function that opens the lines of a file or a list from the start."""

    def read() -> Iterable[str]:
        if isinstance(lines, Path):
            with lines.open(encoding="utf-8") as file:
                yield from file
        else:
            yield from lines

    return read
