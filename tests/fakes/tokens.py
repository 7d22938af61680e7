"""The tokens of the fake store."""

from dataclasses import replace
from datetime import datetime

from scrubjay.errors import Conflict
from scrubjay.model.token import Token
from tests.fakes.state import Housed


class FakeTokens(Housed):
    """The port `Tokens`."""

    async def add_token(self, token: Token, digest: bytes) -> None:
        """Keep a new token."""
        if digest in self._house.tokens or await self.token(token.id) is not None:
            raise Conflict("there is a token with this id or secret already", token=token.id)
        self._house.tokens[digest] = token

    async def token_by_digest(self, digest: bytes) -> Token | None:
        """The token of a secret."""
        return self._house.tokens.get(digest)

    async def token(self, token_id: str) -> Token | None:
        """One token."""
        return next((token for token in self._house.tokens.values() if token.id == token_id), None)

    async def tokens(self) -> list[Token]:
        """All tokens, oldest first."""
        return sorted(self._house.tokens.values(), key=lambda one: one.created_at)

    async def revoke_token(self, token_id: str, *, at: datetime) -> Token | None:
        """End a token."""
        for digest, token in self._house.tokens.items():
            if token.id == token_id:
                self._house.tokens[digest] = replace(token, revoked_at=token.revoked_at or at)
                return self._house.tokens[digest]
        return None
