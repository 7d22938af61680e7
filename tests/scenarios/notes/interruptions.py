"""Simulated crashes: before or after the n-th change to the folder or the ledger."""

from collections.abc import Callable
from typing import cast

from scrubjay.notes.files.folder import Folder
from scrubjay.notes.files.ledger import Ledger
from scrubjay.notes.vault import Vault

_CHANGES = ("write", "move", "remove", "put", "set_missing_links", "set_cursor")


class SimulatedCrash(Exception):
    """The end of a process."""


class CrashPoint:
    """Crashes at one of the changes; `reached` is whether there were so many."""

    def __init__(self, number: int, *, after: bool) -> None:
        self.left = number
        self.after = after
        self.reached = False

    def install(self, vault: Vault) -> None:
        """Make the folder and the ledger of a vault crash."""
        vault._context.folder = self._wrap(vault._context.folder)  # type: ignore[assignment]
        vault._context.ledger = self._wrap(vault._context.ledger)  # type: ignore[assignment]

    def _wrap(self, target: Folder | Ledger) -> object:
        guard = self._guard

        class Proxy:
            def __getattr__(self, name: str) -> object:
                attribute = getattr(target, name)
                return guard(cast("Callable[..., object]", attribute)) if name in _CHANGES else attribute

        return Proxy()

    def _guard(self, change: Callable[..., object]) -> Callable[..., object]:
        def guarded(*args: object, **kwargs: object) -> object:
            self.left -= 1
            if self.left < 0 and not self.after:
                self.reached = True
                raise SimulatedCrash
            result = change(*args, **kwargs)
            if self.left < 0:
                self.reached = True
                raise SimulatedCrash
            return result

        return guarded
