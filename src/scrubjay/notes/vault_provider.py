"""The provider of a store's vault, which opens it when it is first needed, so that others do not wait for it."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.errors import ScrubjayError
from scrubjay.model.attachments import LARGEST_ATTACHMENT

if TYPE_CHECKING:
    from scrubjay.notes.vault import Vault

__all__ = ["VaultProvider"]

# How often to look for a vault that another process may create.
_POLL_SECONDS = 5.0
_log = logging.getLogger(__name__)
OpenVault = Callable[..., "AbstractAsyncContextManager[Vault]"]


class VaultProvider:
    """Holds the vault of one space. `expected`: the user has named its folder, so it is created before the first note.

    `problem` is why the vault could not be opened; the next request tries again. `news` are messages for the next
    result, which are reported once.
    """

    def __init__(
        self,
        folder: Path,
        *,
        space: str,
        opens: OpenVault,
        expected: bool = False,
        fixed: bool = False,
        naming: str = "auto",
        largest_attachment: int = LARGEST_ATTACHMENT,
    ) -> None:
        self.folder = folder
        self.largest_attachment = largest_attachment
        self.space = space
        self.problem = ""
        self.news: tuple[str, ...] = ()
        # The settings name the folder, so that the next start would return to it.
        self.fixed = fixed
        self.naming = naming
        self._opens = opens
        self._expected = expected
        self._vault: Vault | None = None
        self._stack = AsyncExitStack()
        self._follower: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._opened = asyncio.Event()

    async def vault(self, *, make: bool = False) -> "Vault | None":
        """Return the vault if it exists, or on `make` create it; return None if it cannot be opened."""
        if self._vault is not None:
            return self._vault
        try:
            is_needed = make or self._expected or await asyncio.to_thread(self.folder.is_dir)
            return await self.require() if is_needed else None
        except ScrubjayError as error:
            if self.problem != str(error):
                _log.warning("the notes cannot be synchronized", extra={"fields": {"error": str(error)}})
            self.problem = str(error)
            return None

    async def require(self, *, adopt: bool = False) -> "Vault":
        """Open or create the vault, or on `adopt` take it over from another store; raise an error if that fails."""
        async with self._lock:
            if self._vault is None:
                self._vault = await self._stack.enter_async_context(self._opens(adopt=True) if adopt else self._opens())
                self.problem = ""
                self._opened.set()
            return self._vault

    async def wait_until_open(self) -> "Vault":
        """Wait until the vault exists, because another request creates it or its folder becomes available."""
        while (vault := await self.vault()) is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._opened.wait()
        return vault

    async def switch(self, folder: Path) -> "Vault":
        """Open the vault in another folder, and close the present one; if that fails, the present folder stays."""
        async with self._lock:
            if self._follower is not None:
                self._follower.cancel()
                await asyncio.wait([self._follower])
            await self.close()
            vault = await self._stack.enter_async_context(self._opens(folder=folder))
            self._opens = partial(self._opens, folder=folder)
            self.folder, self._vault, self.problem = folder, vault, ""
            self._opened.set()
            return vault

    async def follow(self, run: "Callable[[Vault], Coroutine[object, object, None]]") -> None:
        """Run a function with the vault as soon as there is one, and again with each that replaces it."""
        while True:
            vault = await self.wait_until_open()
            self._follower = task = asyncio.create_task(run(vault))
            try:
                await asyncio.wait([task])
            finally:
                self._follower = None
                task.cancel()
            if not task.cancelled():
                task.result()
                return
            async with self._lock:
                # Wait until the vault has been replaced.
                pass

    def take_news(self) -> tuple[str, ...]:
        """Return the news and clear them."""
        news, self.news = self.news, ()
        return news

    async def close(self) -> None:
        """Close the vault."""
        await self._stack.aclose()
        self._vault = None
