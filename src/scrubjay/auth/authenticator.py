"""The authenticator: turns the `Authorization` header of a request into a grant."""

import re
from typing import Protocol

from scrubjay.auth.tokens import PREFIX, digest_of, is_secret
from scrubjay.errors import NotAdmitted
from scrubjay.model.caller import Grant
from scrubjay.model.token import TokenState
from scrubjay.ports import Clock, Tokens

ANONYMOUS = Grant(name="anyone")
"""A caller without a token, where none is required. It is not the owner, who uses the socket."""

JWT_PREFIX = "jwt:"
"""The ids of grants from an issuer's tokens begin with this."""

_MAX_HEADER = 8192
_BEARER = re.compile(r"bearer +(?P<token>[A-Za-z0-9._~+/-]+=*)", re.IGNORECASE | re.ASCII)
_HINT = "Send the header `Authorization: Bearer TOKEN`; `scrubjay tokens create` makes one"
_JWT_DOTS = 2


class Verifier(Protocol):
    """Verifies the tokens of a trusted issuer."""

    async def verify(self, token: str) -> Grant:
        """Return the grant of a token; raises NotAdmitted, NotAllowed or KeysUnavailable."""
        ...


class Authenticator:
    """Authenticates requests. With `requires_token`, a request without a token is refused."""

    def __init__(self, tokens: Tokens, *, clock: Clock, requires_token: bool, verifier: Verifier | None = None) -> None:
        self._tokens = tokens
        self._clock = clock
        self._requires_token = requires_token
        self._verifier = verifier

    @property
    def requires_token(self) -> bool:
        """Whether every request needs a token."""
        return self._requires_token

    async def authenticate(self, authorization: str | None) -> Grant:
        """Return the grant of a request with this header; raises NotAdmitted.

        An invalid header is refused even if no token is required: its sender meant to authenticate.
        """
        if authorization is None:
            if self._requires_token:
                raise NotAdmitted("this server requires a token", hint=_HINT, reason="missing")
            return ANONYMOUS
        match = _BEARER.fullmatch(authorization) if len(authorization) <= _MAX_HEADER else None
        if match is None:
            raise invalid_token()
        token = match["token"]
        if token.startswith(PREFIX):
            return await self._verify_own(token)
        if self._verifier is not None and token.count(".") == _JWT_DOTS:
            return await self._verifier.verify(token)
        raise invalid_token()

    async def is_valid(self, grant: Grant) -> bool:
        """Return whether a grant is still valid: a stream may outlive the token that opened it."""
        now = self._clock.now()
        if grant.expires_at is not None and grant.expires_at <= now:
            return False
        if not grant.id or grant.id.startswith(JWT_PREFIX):
            return True
        token = await self._tokens.token(grant.id)
        return token is not None and token.state(now) is TokenState.LIVE

    async def _verify_own(self, secret: str) -> Grant:
        token = await self._tokens.token_by_digest(digest_of(secret)) if is_secret(secret) else None
        if token is None:
            raise invalid_token()
        # Only the holder of a real token learns its state.
        state = token.state(self._clock.now())
        if state is TokenState.REVOKED:
            raise NotAdmitted("this token was revoked", hint="Ask for a new one", reason=state.value)
        if state is TokenState.EXPIRED:
            raise NotAdmitted("this token has expired", hint="Ask for a new one", reason=state.value)
        return token.grant


def invalid_token() -> NotAdmitted:
    """Return the error for every invalid token: the same for all, so that it does not help to guess."""
    return NotAdmitted("this token is not valid here", hint=_HINT, reason="invalid")
