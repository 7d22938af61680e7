"""What an index must offer that several servers share, and what servers offer each other."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from scrubjay.ports import VectorIndex
from scrubjay.ports.cluster import Leadership

Leader = AbstractAsyncContextManager[Leadership]
"""Stands for some work while the block lasts."""
Listening = Callable[[Callable[[], None]], AbstractAsyncContextManager[None]]
"""Calls what it is given soon after anybody has committed something, while the block lasts."""


class Standing(Protocol):
    """How far an index has come, as it says itself."""

    @property
    def cursor(self) -> int | None:
        """The last change it has applied; None when there is no whole index of this store."""
        ...

    @property
    def is_foreign(self) -> bool:
        """Whether it is the index of another store."""
        ...

    @property
    def wished(self) -> bool:
        """Whether somebody wants it built anew."""
        ...

    @property
    def why(self) -> str:
        """What is wrong when there is none."""
        ...


class RemoteIndex(VectorIndex, Protocol):
    """An index on a server. Whatever asks it raises IndexUnavailable when that cannot answer."""

    @property
    def name(self) -> str:
        """What `status` calls its kind."""
        ...

    @property
    def title(self) -> str:
        """What tells it from all other indexes there."""
        ...

    @property
    def labels(self) -> dict[str, str]:
        """Where it is, for `status`; no secrets."""
        ...

    async def look(self, *, closely: bool = False) -> Standing:
        """Read how far it has come, which `cursor` tells from then on; `closely` also checks how it was made."""
        ...

    async def begin(self, *, keep: bool) -> None:
        """Start to build it anew; with `keep` it stays whole meanwhile, and `apply` moves its cursor."""
        ...

    async def finish(self, *, cursor: int) -> None:
        """Remove what is of no use any more, and make it whole."""
        ...

    async def wish(self) -> None:
        """Have whoever keeps it build it anew."""
        ...

    def step_back(self, count: int) -> None:
        """Have the last changes applied once more."""
        ...

    async def count(self) -> int:
        """How many points it has."""
        ...
