"""Being cut off anywhere: before or after the n-th thing that is done to the folder or to the ledger."""

from collections.abc import Callable
from typing import cast

from scrubjay.notes.files.folder import Folder
from scrubjay.notes.files.ledger import Ledger
from scrubjay.notes.vault import Vault

_DEEDS = ("write", "move", "remove", "put", "drop", "want", "set_cursor")


class Cut(Exception):
    """The end of a process."""


class Shears:
    """Cuts off at one of the steps; `reached` tells whether there were so many."""

    def __init__(self, at: int, *, after: bool) -> None:
        self.left = at
        self.after = after
        self.reached = False

    def over(self, tool: Folder | Ledger) -> object:
        """A folder or a ledger that is cut off."""
        shears = self

        class Handle:
            def __getattr__(self, name: str) -> object:
                results = getattr(tool, name)
                return shears._guarded(cast("Callable[..., object]", results)) if name in _DEEDS else results

        return Handle()

    def put_to(self, vault: Vault) -> None:
        """Have a vault work with what is cut off."""
        vault._context.folder = self.over(vault._context.folder)  # type: ignore[assignment]
        vault._context.ledger = self.over(vault._context.ledger)  # type: ignore[assignment]

    def _guarded(self, deed: Callable[..., object]) -> Callable[..., object]:
        def guarded(*args: object, **kwargs: object) -> object:
            self.left -= 1
            if self.left < 0 and not self.after:
                self.reached = True
                raise Cut
            done = deed(*args, **kwargs)
            if self.left < 0:
                self.reached = True
                raise Cut
            return done

        return guarded
