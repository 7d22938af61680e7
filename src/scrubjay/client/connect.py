"""The way from a client to the memory: the daemon that runs, or the store itself."""

import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from scrubjay.errors import DaemonUnavailable
from scrubjay.paths import known_socket
from scrubjay.rpc.client import Transport
from scrubjay.rpc.engine import RemoteEngine
from scrubjay.rpc.socket_transport import SocketTransport
from scrubjay.settings import Settings

if TYPE_CHECKING:
    from scrubjay.engine import Engine
    from scrubjay.notes.service import Notes


class ConnectionTarget:
    """Chosen when it is entered. `alone`: open the store here, even if a daemon serves it.

    `names_space`: whether somebody chose the space; else a server takes the first that the token opens.
    """

    def __init__(self, *, settings: Settings, url: str = "", alone: bool = False, names_space: bool = True) -> None:
        self._settings = settings
        self._url = "" if alone else url or settings.url
        self._names_space = names_space
        self._alone = alone
        self._stack = AsyncExitStack()

    @property
    def is_far(self) -> bool:
        """Whether it leads to a server by its address, which has other files than this machine."""
        return bool(self._url)

    async def enter(self) -> "Engine | RemoteEngine":
        """An engine, here or afar."""
        if self._url:
            # Loaded by those who need it: the library takes as long to load as a whole command may.
            from scrubjay.rpc.http_transport import HttpTransport  # noqa: PLC0415

            token = self._settings.token
            return await self._remote(HttpTransport(self._url, token=token, names_space=self._names_space))
        if not self._alone and sys.platform != "win32":
            try:
                return await self._remote(SocketTransport(known_socket(self._settings.data)))
            except DaemonUnavailable as error:
                # Somebody is there who cannot be understood: the store is theirs.
                if "version" in error.fields:
                    raise
        # Here the ways part: the engine takes longer to load than a daemon takes to answer.
        from scrubjay.app import open_engine  # noqa: PLC0415

        return await self._stack.enter_async_context(open_engine(self._settings))

    async def notes(self, engine: "Engine") -> "Notes":
        """The verbs of notes over an engine that was opened here."""
        from scrubjay.app.notes import open_notes  # noqa: PLC0415 - for the few who keep notes

        return await self._stack.enter_async_context(open_notes(self._settings, engine))

    async def leave(self) -> None:
        """Close what was opened."""
        await self._stack.aclose()

    async def _remote(self, line: Transport) -> RemoteEngine:
        try:
            await line.open()
        except BaseException:
            await line.close()
            raise
        engine = RemoteEngine(line)
        self._stack.push_async_callback(engine.close)
        return engine
