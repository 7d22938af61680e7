"""The connection of a client to a memory: a server, the running daemon, or the store itself."""

import asyncio
import sys
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from scrubjay.errors import DaemonUnavailable, InvalidInput, StoreError
from scrubjay.paths import known_socket
from scrubjay.rpc.client import RpcClient, Transport
from scrubjay.rpc.socket_transport import SocketTransport
from scrubjay.service import LocalService, Service
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
        self._service: Service | None = None
        self._notes: Notes | None = None
        self._opening_notes = asyncio.Lock()

    @property
    def is_remote(self) -> bool:
        """Whether it leads to a server by its address, which has other files than this machine."""
        return bool(self._url)

    @property
    def service(self) -> Service:
        """The verbs; raises StoreError if the connection is not open."""
        if self._service is None:
            raise StoreError("the client is not open", hint="Use it as `async with MemoryClient() as memory:`")
        return self._service

    async def open(self) -> Service:
        """Connect to the server or the daemon, else open the store."""
        self._service = await self._choose()
        return self._service

    async def close(self) -> None:
        """Close the engine and its connections."""
        self._service = self._notes = None
        await self._stack.aclose()

    async def _choose(self) -> Service:
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
        try:
            from scrubjay.app import open_engine  # noqa: PLC0415
        except ModuleNotFoundError as error:
            if error.name != "scrubjay.app":
                raise
            raise self._no_engine_error() from None
        engine = await self._stack.enter_async_context(open_engine(self._settings))
        return LocalService(engine, notes=partial(self._open_notes, engine))

    async def _open_notes(self, engine: "Engine") -> "Notes":
        """Return the notes over the engine, opened on first use."""
        async with self._opening_notes:
            if self._notes is None:
                from scrubjay.app.notes import open_notes  # noqa: PLC0415 - few clients need notes

                self._notes = await self._stack.enter_async_context(open_notes(self._settings, engine))
            return self._notes

    def _no_engine_error(self) -> DaemonUnavailable | InvalidInput:
        """Return the error of `scrubjay-client`, which can only call a server or a daemon."""
        if self._alone:
            return InvalidInput(
                "scrubjay-client cannot open a store",
                hint="Install the package `scrubjay`, or give the url of a server",
                field="path",
            )
        return DaemonUnavailable(
            f"no daemon runs for {self._settings.data}, and scrubjay-client cannot open the store itself",
            hint="Start `scrubjay serve`, give the url of a server, or install the package `scrubjay`",
            sent=False,
        )

    async def _remote(self, transport: Transport) -> RpcClient:
        try:
            await transport.open()
        except BaseException:
            await transport.close()
            raise
        client = RpcClient(transport)
        self._stack.push_async_callback(client.close)
        return client


class BorrowedConnection:
    """A connection to an engine, and notes, that another owner opened and closes."""

    is_remote = False

    def __init__(self, engine: "Engine", notes: "Notes | None") -> None:
        self.service = LocalService.over(engine, notes)

    async def open(self) -> LocalService:
        """Return the verbs of the engine, which is open."""
        return self.service

    async def close(self) -> None:
        """Leave the engine to its owner."""
