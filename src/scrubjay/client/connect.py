"""The connection of a client to a memory: a server, the running daemon, or the store itself."""

import asyncio
import sys
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, ClassVar

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
        self._is_closed = False
        self._open_task: _OpenTask | None = None

    @property
    def is_remote(self) -> bool:
        """Whether it leads to a server by its address, which has other files than this machine."""
        return bool(self._url)

    async def ready(self) -> Service:
        """Return the verbs. What is not open is opened, and closed when `asyncio.run` ends the event loop."""
        if self._open_task is None and self._service is not None:
            return self._service
        if self._is_closed:
            raise StoreError("the client is closed", hint="Open it again with `with`, or make another client")
        if self._open_task is None or not self._open_task.is_usable:
            self._open_task = _OpenTask(self)
        return await self._open_task.opened()

    async def open(self) -> Service:
        """Open it for a caller that closes it."""
        self._is_closed = False
        if self._open_task is not None and self._open_task.is_usable:
            return await self._open_task.opened()
        self._open_task = None
        return await self.connect()

    async def connect(self) -> Service:
        """Connect to the server or the daemon, else open the store."""
        # What an event loop left behind that was not ended properly cannot be closed on another.
        self._stack, self._notes, self._opening_notes = AsyncExitStack(), None, asyncio.Lock()
        self._service = await self._choose()
        return self._service

    async def close(self) -> None:
        """Close it; calls are refused until it is opened again."""
        self._is_closed = True
        open_task, self._open_task = self._open_task, None
        await (self.release() if open_task is None else open_task.end())

    async def release(self) -> None:
        """Close the engine and its connections."""
        self._service = self._notes = None
        await self._stack.aclose()

    def drop(self) -> None:
        """Close it soon, when no one holds the client any more; callable from any thread."""
        if self._open_task is not None:
            self._open_task.drop()

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


class _OpenTask:
    """A task that holds a connection open: `asyncio.run` cancels it at the end, and so closes the connection.

    The same task opens and closes, and does so before the generators of the loop are shut down, in any order, which
    would close the parts of an engine beneath it.
    """

    # A loop knows its tasks by weak references only.
    _running: ClassVar[set[asyncio.Task[None]]] = set()

    def __init__(self, connection: Connection) -> None:
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[Service] = self._loop.create_future()
        self._stop = asyncio.Event()
        self._task = self._loop.create_task(self._hold(connection), name="scrubjay-client")
        self._running.add(self._task)
        self._task.add_done_callback(self._running.discard)
        # A caller may be cancelled while it waits: then no one reads the error.
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())

    @property
    def is_usable(self) -> bool:
        """Whether it holds the connection, or opens it, on the loop that runs."""
        return not self._task.done() and self._loop is asyncio.get_running_loop()

    async def opened(self) -> Service:
        """Return the verbs when the connection is open."""
        if not self._ready.done():
            await asyncio.wait((self._task, self._ready), return_when=asyncio.FIRST_COMPLETED)
        if not self._ready.done():
            self._task.result()
        return self._ready.result()

    async def end(self) -> None:
        """Close the connection and wait for it; that of a loop that has ended is closed or lost."""
        if self.is_usable:
            self._stop.set()
            await self._task

    def drop(self) -> None:
        """Close the connection soon, from any thread."""
        if not self._task.done() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop.set)

    async def _hold(self, connection: Connection) -> None:
        try:
            self._ready.set_result(await connection.connect())
            await self._stop.wait()
        finally:
            await connection.release()


class BorrowedConnection:
    """A connection to verbs that another owner opened and closes."""

    is_remote = False

    def __init__(self, service: Service) -> None:
        self.service = service

    async def open(self) -> Service:
        """Return the verbs, which are open."""
        return self.service

    async def ready(self) -> Service:
        """Return the verbs of the engine."""
        return self.service

    async def close(self) -> None:
        """Leave the engine to its owner."""
