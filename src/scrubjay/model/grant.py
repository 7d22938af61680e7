"""Grants: the spaces that a caller may use, read or write, and its limits."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from scrubjay.errors import NotAllowed
from scrubjay.model.caller import Caller

ALL_SPACES = "*"
"""Means all spaces."""


class Access(StrEnum):
    """The level of access. Write includes read; metrics includes neither."""

    METRICS = "metrics"
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The rights of one caller. Requests go to the first space unless they name another.

    `id` names the token in limits and logs; empty means the owner of the data. A limit of 0 means the server's own.
    """

    spaces: tuple[str, ...] = (ALL_SPACES,)
    access: Access = Access.WRITE
    id: str = ""
    name: str = ""
    requests_per_minute: int = 0
    body_bytes: int = 0
    expires_at: datetime | None = None

    @property
    def allows_all_spaces(self) -> bool:
        """Whether the caller may use every space."""
        return ALL_SPACES in self.spaces

    @property
    def named_spaces(self) -> tuple[str, ...]:
        """The spaces it names."""
        return tuple(space for space in self.spaces if space != ALL_SPACES)

    def allows(self, space: str) -> bool:
        """Whether the caller may use a space."""
        return self.allows_all_spaces or space in self.spaces

    def limited_to(self, space: str) -> "Grant":
        """Return the same grant for one space alone."""
        return Grant(
            spaces=(self.require(space),), access=self.access, id=self.id, name=self.name,
            requests_per_minute=self.requests_per_minute, body_bytes=self.body_bytes, expires_at=self.expires_at,
        )  # fmt: skip

    def require(self, space: str) -> str:
        """Return the space, or raise NotAllowed; the error does not reveal whether the space exists."""
        if not self.allows(space):
            raise NotAllowed(
                f"you may not use the space {space[:100]!r}",
                hint=f"You may use: {', '.join(self.named_spaces) or 'none'}",
                field="space",
            )
        return space

    def require_write(self, verb: str) -> None:
        """Raise NotAllowed if the grant is not for writing."""
        if self.access is not Access.WRITE:
            raise NotAllowed(
                f"{verb} changes the memory, and you may only read it", hint="Ask for a token that may write", verb=verb
            )

    def require_read(self, verb: str) -> None:
        """Raise NotAllowed if the grant is for metrics alone."""
        if self.access is Access.METRICS:
            raise NotAllowed(
                f"{verb} reads the memory, and you may only read its metrics",
                hint="Ask for a token that may read",
                verb=verb,
            )

    def caller(self, *, space: str = "", agent: str = "", run: str = "", default: str = "default") -> Caller:
        """Return the caller in one space; without a name in the first of the grant, reading all of them."""
        spaces = self.named_spaces
        chosen = self.require(space or (spaces[0] if spaces else default))
        return Caller(space=chosen, also=() if space else spaces[1:], agent=agent, run=run)


OWNER = Grant()
"""The owner of the data may do everything."""
