"""Tokens: what is kept of a bearer token, which is all but the token itself."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from scrubjay.model.grant import Access, Grant


class TokenState(StrEnum):
    """Whether a token lets anybody in."""

    LIVE = "live"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What a token opens and until when. A limit of 0 is the server's own."""

    id: str
    name: str
    spaces: tuple[str, ...]
    access: Access
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    requests_per_minute: int = 0
    body_bytes: int = 0

    def state(self, now: datetime) -> TokenState:
        """Whether it lets its holder in now; what was revoked stays so, also past its time."""
        if self.revoked_at is not None:
            return TokenState.REVOKED
        if self.expires_at is not None and self.expires_at <= now:
            return TokenState.EXPIRED
        return TokenState.LIVE

    @property
    def grant(self) -> Grant:
        """What its holder may do."""
        return Grant(
            spaces=self.spaces, access=self.access, id=self.id, name=self.name,
            requests_per_minute=self.requests_per_minute, body_bytes=self.body_bytes, expires_at=self.expires_at,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """A token that somebody would like to have. `expires` is a while, such as 90d, or a moment; empty is never."""

    name: str
    spaces: tuple[str, ...] = ()
    access: str = Access.READ.value
    expires: str = ""
    requests_per_minute: int = 0
    body_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token just made, with its secret: the one time that anybody sees it."""

    token: Token
    secret: str = field(repr=False)
