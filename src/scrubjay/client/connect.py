"""The connection of a client to a memory: a server, the running daemon, or the store itself."""

import asyncio
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from scrubjay.errors import DaemonUnavailable, StoreError
from scrubjay.paths import known_socket
from scrubjay.rpc.client import Transport
from scrubjay.rpc.engine import RemoteEngine
from scrubjay.rpc.socket_transport import SocketTransport
from scrubjay.settings import Settings

if TYPE_CHECKING:
    from scrubjay.engine import Engine
    from scrubjay.notes.service import Notes


class Connection:
    """Chooses its target when it is opened. `alone`: open the store here, even if a daemon serves it.

    `names_space`: whether the caller chose the space; if not, a server uses the first space of the token.
    """

    def __init__(self, *, settings: Settings, url: str = "", alone: bool = False, names_space: bool = True) -> None:
        self._settings = settings
        self._url = "" if alone else url or settings.url
        self._names_space = names_space
        self._alone = alone
        self._stack = AsyncExitStack()
        self._engine: Engine | RemoteEngine | None = None
        self._notes: Notes | None = None
        self._opening_notes = asyncio.Lock()

    @property
    def is_remote(self) -> bool:
        """Whether it leads to a server by its address, which has other files than this machine."""
        return bool(self._url)

    @property
    def engine(self) -> "Engine | RemoteEngine":
        """The engine, here or in a daemon; raises StoreError if the connection is not open."""
        if self._engine is None:
            raise StoreError("the client is not open", hint="Use it as `async with MemoryClient() as memory:`")
        return self._engine

    async def open(self) -> "Engine | RemoteEngine":
        """Connect to the server or the daemon, else open the store."""
        self._engine = await self._choose()
        return self._engine

    async def notes(self) -> "Notes | RemoteEngine":
        """Return the verbs of notes: those of the daemon, or over the engine here, opened on first use."""
        engine = self.engine
        if isinstance(engine, RemoteEngine):
            return engine
        async with self._opening_notes:
            if self._notes is None:
                from scrubjay.app.notes import open_notes  # noqa: PLC0415 - few clients need notes

                self._notes = await self._stack.enter_async_context(open_notes(self._settings, engine))
            return self._notes

    async def close(self) -> None:
        """Close the engine and its connections."""
        self._engine = self._notes = None
        await self._stack.aclose()

    async def _choose(self) -> "Engine | RemoteEngine":
        if self._url:
            # Loaded on demand: the HTTP library takes as long to load as a whole command may take.
            from scrubjay.rpc.http_transport import HttpTransport  # noqa: PLC0415

            token = self._settings.token
            return await self._remote(HttpTransport(self._url, token=token, names_space=self._names_space))
        if not self._alone and sys.platform != "win32":
            try:
                return await self._remote(SocketTransport(known_socket(self._settings.data)))
            except DaemonUnavailable as error:
                # A daemon of another version runs: the store belongs to it.
                if "version" in error.fields:
                    raise
        # Loaded on demand: the engine takes longer to load than a daemon takes to answer.
        from scrubjay.app import open_engine  # noqa: PLC0415

        return await self._stack.enter_async_context(open_engine(self._settings))

    async def _remote(self, transport: Transport) -> RemoteEngine:
        try:
            await transport.open()
        except BaseException:
            await transport.close()
            raise
        engine = RemoteEngine(transport)
        self._stack.push_async_callback(engine.close)
        return engine


class BorrowedConnection:
    """A connection to an engine, and notes, that another owner opened and closes."""

    is_remote = False

    def __init__(self, engine: "Engine", notes: "Notes | None") -> None:
        self.engine = engine
        self._notes = notes

    async def open(self) -> "Engine":
        """Return the engine, which is open."""
        return self.engine

    async def notes(self) -> "Notes":
        """Return the verbs of notes over the engine."""
        if self._notes is None:
            from scrubjay.notes.service import Notes  # noqa: PLC0415 - few clients need notes

            self._notes = Notes(engine=self.engine)
        return self._notes

    async def close(self) -> None:
        """Leave the engine to its owner."""
