"""What whoever knocks may do: which spaces, read or write, and how much of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from scrubjay.errors import NotAllowed
from scrubjay.model.draft import Caller

EVERY = "*"
"""Stands for all spaces."""


class Access(StrEnum):
    """How far a grant goes. Who may write may read; who may see figures sees nothing else."""

    METRICS = "metrics"
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What one caller may do. The first space is where it works unless it names another.

    `id` names the token in limits and logs; empty is the owner of the data. A limit of 0 is the server's own.
    """

    spaces: tuple[str, ...] = (EVERY,)
    access: Access = Access.WRITE
    id: str = ""
    name: str = ""
    requests_per_minute: int = 0
    body_bytes: int = 0
    expires_at: datetime | None = None

    @property
    def is_everywhere(self) -> bool:
        """Whether every space is open."""
        return EVERY in self.spaces

    @property
    def named(self) -> tuple[str, ...]:
        """The spaces it names."""
        return tuple(space for space in self.spaces if space != EVERY)

    def opens(self, space: str) -> bool:
        """Whether it opens a space."""
        return self.is_everywhere or space in self.spaces

    def within(self, space: str) -> "Grant":
        """The same for one space alone."""
        return Grant(
            spaces=(self.require(space),), access=self.access, id=self.id, name=self.name,
            requests_per_minute=self.requests_per_minute, body_bytes=self.body_bytes, expires_at=self.expires_at,
        )  # fmt: skip

    def require(self, space: str) -> str:
        """The space, if it is open; whether it exists is told to nobody else."""
        if not self.opens(space):
            raise NotAllowed(
                f"the space {space[:100]!r} is not open to you",
                hint=f"Open to you: {', '.join(self.named) or 'none'}",
                field="space",
            )
        return space

    def require_write(self, verb: str) -> None:
        """Raises NotAllowed where nothing may be changed."""
        if self.access is not Access.WRITE:
            raise NotAllowed(
                f"{verb} changes the memory, and you may only read it", hint="Ask for a token that may write", verb=verb
            )

    def require_read(self, verb: str) -> None:
        """Raises NotAllowed where not even reading is open."""
        if self.access is Access.METRICS:
            raise NotAllowed(
                f"{verb} reads the memory, and you may only see its figures",
                hint="Ask for a token that may read",
                verb=verb,
            )

    def caller(self, *, space: str = "", agent: str = "", run: str = "", default: str = "default") -> Caller:
        """Whoever holds this, at work in one space; without a named one in its first, and reading all of its own."""
        own = self.named
        chosen = self.require(space or (own[0] if own else default))
        return Caller(space=chosen, also=() if space else own[1:], agent=agent, run=run)


OWNER = Grant()
"""The owner of the data: everything."""
