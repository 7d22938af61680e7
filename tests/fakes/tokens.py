"""The tokens of the fake store."""

from dataclasses import replace
from datetime import datetime

from scrubjay.errors import Conflict
from scrubjay.model.token import Token
from tests.fakes.state import FakePart


class FakeTokens(FakePart):
    """The port `Tokens`."""

    async def add_token(self, token: Token, digest: bytes) -> None:
        """Store a new token."""
        if digest in self._state.tokens or await self.token(token.id) is not None:
            raise Conflict("a token with this id or secret exists already", token=token.id)
        self._state.tokens[digest] = token

    async def token_by_digest(self, digest: bytes) -> Token | None:
        """Return the token of a secret."""
        return self._state.tokens.get(digest)

    async def token(self, token_id: str) -> Token | None:
        """Return a token by id."""
        return next((token for token in self._state.tokens.values() if token.id == token_id), None)

    async def tokens(self) -> list[Token]:
        """Return all tokens, oldest first."""
        return sorted(self._state.tokens.values(), key=lambda memory: memory.created_at)

    async def revoke_token(self, token_id: str, *, at: datetime) -> Token | None:
        """Revoke a token."""
        for digest, token in self._state.tokens.items():
            if token.id == token_id:
                self._state.tokens[digest] = replace(token, revoked_at=token.revoked_at or at)
                return self._state.tokens[digest]
        return None
