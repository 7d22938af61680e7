"""The doorman: looks at what a request shows, and says what whoever sent it may do."""

import re
from typing import Protocol

from scrubjay.auth.token_secret import PREFIX, digest_of, is_secret
from scrubjay.errors import NotAdmitted
from scrubjay.model.grant import Grant
from scrubjay.model.token import TokenState
from scrubjay.ports import Clock, Tokens

ANYONE = Grant(name="anyone")
"""Whoever comes without a token where none is asked for. Not the owner, who comes by the socket."""

FOREIGN = "jwt:"
"""How the ids of grants begin that an issuer has vouched for."""

_LONGEST = 8192
_BEARER = re.compile(r"bearer +(?P<token>[A-Za-z0-9._~+/-]+=*)", re.IGNORECASE | re.ASCII)
_HINT = "Send the header `Authorization: Bearer TOKEN`; `scrubjay tokens create` makes one"
_JWT_DOTS = 2


class Verifier(Protocol):
    """Says what a token of a trusted issuer opens."""

    async def verify(self, token: str) -> Grant:
        """What it opens; raises NotAdmitted, NotAllowed or KeysUnavailable."""
        ...


class Authenticator:
    """Turns the `Authorization` of a request into a grant. `must`: nobody comes in without a token."""

    def __init__(self, tokens: Tokens, *, clock: Clock, must: bool, verifier: Verifier | None = None) -> None:
        self._tokens = tokens
        self._clock = clock
        self._must = must
        self._verifier = verifier

    @property
    def must(self) -> bool:
        """Whether nobody comes in without a token."""
        return self._must

    async def admit(self, authorization: str | None) -> Grant:
        """What whoever sent this header may do; raises NotAdmitted.

        A header that says nothing good is refused also where none is asked for: its sender meant to be somebody.
        """
        if authorization is None:
            if self._must:
                raise NotAdmitted("this server asks for a token", hint=_HINT, reason="missing")
            return ANYONE
        shown = _BEARER.fullmatch(authorization) if len(authorization) <= _LONGEST else None
        if shown is None:
            raise refusal()
        token = shown["token"]
        if token.startswith(PREFIX):
            return await self._own(token)
        if self._verifier is not None and token.count(".") == _JWT_DOTS:
            return await self._verifier.verify(token)
        raise refusal()

    async def still(self, grant: Grant) -> bool:
        """Whether a grant still holds: for streams, which may outlive the token that opened them."""
        now = self._clock.now()
        if grant.expires_at is not None and grant.expires_at <= now:
            return False
        if not grant.id or grant.id.startswith(FOREIGN):
            return True
        token = await self._tokens.token(grant.id)
        return token is not None and token.state(now) is TokenState.LIVE

    async def _own(self, secret: str) -> Grant:
        token = await self._tokens.token_by_digest(digest_of(secret)) if is_secret(secret) else None
        if token is None:
            raise refusal()
        # Only whoever holds a real token learns what has become of it.
        state = token.state(self._clock.now())
        if state is TokenState.REVOKED:
            raise NotAdmitted("this token was revoked", hint="Ask for a new one", reason=state.value)
        if state is TokenState.EXPIRED:
            raise NotAdmitted("this token has expired", hint="Ask for a new one", reason=state.value)
        return token.grant


def refusal() -> NotAdmitted:
    """One answer to everything that opens nothing: it teaches nobody what a better guess would be."""
    return NotAdmitted("this token opens nothing here", hint=_HINT, reason="invalid")
