"""Where the vault of a store is: opened when it is first needed, so that nobody waits for it who keeps no notes."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.errors import ScrubjayError
from scrubjay.notes.attachments.results import LARGEST_ATTACHMENT

if TYPE_CHECKING:
    from scrubjay.notes.vault import Vault

__all__ = ["VaultProvider"]

# So often it is looked for where nobody here makes it.
_LOOK = 5.0
_log = logging.getLogger(__name__)
OpenVault = Callable[..., "AbstractAsyncContextManager[Vault]"]


class VaultProvider:
    """Holds the vault of one space. `expected`: somebody has named its folder, so it is made before anything is in it.

    What keeps it from being opened is told by `problem`, and tried again with the next verb. `news` are for the next
    one who asks, and told once.
    """

    def __init__(
        self,
        folder: Path,
        *,
        space: str,
        opens: OpenVault,
        expected: bool = False,
        largest_attachment: int = LARGEST_ATTACHMENT,
    ) -> None:
        self.folder = folder
        self.largest_attachment = largest_attachment
        self.space = space
        self.problem = ""
        self.news: tuple[str, ...] = ()
        self._opens = opens
        self._expected = expected
        self._vault: Vault | None = None
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._opened = asyncio.Event()

    async def vault(self, *, make: bool = False) -> "Vault | None":
        """The vault, if there is one or one is to be made; None also where it cannot be opened."""
        if self._vault is not None:
            return self._vault
        try:
            return await self.require() if make or await self._is_there() else None
        except ScrubjayError as error:
            if self.problem != str(error):
                _log.warning("the notes cannot be kept in step", extra={"fields": {"error": str(error)}})
            self.problem = str(error)
            return None

    async def require(self, *, adopt: bool = False) -> "Vault":
        """The vault, made where there is none, or with `adopt` taken over; raises what keeps it from being opened."""
        async with self._lock:
            if self._vault is None:
                self._vault = await self._stack.enter_async_context(self._opens(adopt=True) if adopt else self._opens())
                self.problem = ""
                self._opened.set()
            return self._vault

    async def opened(self) -> "Vault":
        """The vault, as soon as there is one: somebody may make it, or give back the folder that cannot be had now."""
        while (vault := await self.vault()) is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK):
                    await self._opened.wait()
        return vault

    def take_news(self) -> tuple[str, ...]:
        """What is to be told once, by whoever answers first."""
        news, self.news = self.news, ()
        return news

    async def close(self) -> None:
        """Let go of it."""
        await self._stack.aclose()
        self._vault = None

    async def _is_there(self) -> bool:
        return self._expected or await asyncio.to_thread(self.folder.is_dir)
