"""Tokens: everything about a bearer token except its secret."""

from dataclasses import field
from datetime import datetime
from enum import StrEnum

from scrubjay.lazy import dataclass
from scrubjay.model.caller import Access, Grant


class TokenState(StrEnum):
    """Whether a token is valid."""

    LIVE = "live"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """The rights of a token and their expiry. A limit of 0 means the server's own.

    `mcp_only` and `trusted_imports` are those of its grant.
    """

    id: str
    name: str
    spaces: tuple[str, ...]
    access: Access
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    requests_per_minute: int = 0
    body_bytes: int = 0
    mcp_only: bool = False
    trusted_imports: bool = False

    def state(self, now: datetime) -> TokenState:
        """Return the state at a time; a revoked token stays revoked after it expires."""
        if self.revoked_at is not None:
            return TokenState.REVOKED
        if self.expires_at is not None and self.expires_at <= now:
            return TokenState.EXPIRED
        return TokenState.LIVE

    @property
    def grant(self) -> Grant:
        """The rights of its holder."""
        return Grant(
            spaces=self.spaces, access=self.access, id=self.id, name=self.name,
            requests_per_minute=self.requests_per_minute, body_bytes=self.body_bytes, expires_at=self.expires_at,
            mcp_only=self.mcp_only, trusted_imports=self.trusted_imports,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A new token with its secret, which is shown only once."""

    token: Token
    secret: str = field(repr=False)
