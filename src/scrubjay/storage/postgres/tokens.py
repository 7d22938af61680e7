"""Bearer tokens, by the digest of their secret: the secret itself is not stored."""

from datetime import datetime

from scrubjay.errors import Conflict
from scrubjay.model.timestamps import to_micros
from scrubjay.model.token import Token
from scrubjay.storage.postgres.database import Database, Transaction
from scrubjay.storage.rows import COLUMNS_OF_TOKENS, micros_of, token_of

_SELECT = f"SELECT {COLUMNS_OF_TOKENS} FROM scrubjay.tokens"


async def add_token(database: Database, token: Token, digest: bytes) -> None:
    """Store a new token."""

    async def job(transaction: Transaction) -> int:
        return await transaction.execute(
            f"""INSERT INTO scrubjay.tokens(digest, {COLUMNS_OF_TOKENS})
                VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
                ON CONFLICT DO NOTHING""",
            digest, token.id, token.name, list(token.spaces), token.access.value, to_micros(token.created_at),
            micros_of(token.expires_at), micros_of(token.revoked_at), token.requests_per_minute, token.body_bytes,
            token.mcp_only, token.trusted_imports,
        )  # fmt: skip

    if not await database.write(job, unrestricted=True):
        raise Conflict("a token with this id or secret exists already", hint="Create another one", token=token.id)


async def token_by_digest(database: Database, digest: bytes) -> Token | None:
    """Return the token of a secret, by its digest."""
    rows = await database.rows(f"{_SELECT} WHERE digest = %s", digest, unrestricted=True)
    return token_of(rows[0]) if rows else None


async def token_by_id(database: Database, token_id: str) -> Token | None:
    """Return a token by id."""
    if "\x00" in token_id:
        return None
    rows = await database.rows(f"{_SELECT} WHERE id = %s", token_id, unrestricted=True)
    return token_of(rows[0]) if rows else None


async def all_tokens(database: Database) -> list[Token]:
    """Return all tokens, oldest first."""
    return [token_of(row) for row in await database.rows(f"{_SELECT} ORDER BY created_at, no", unrestricted=True)]


async def token_digests(database: Database) -> dict[str, bytes]:
    """Return the digests of all secrets, by token id."""
    rows = await database.rows("SELECT id, digest FROM scrubjay.tokens", unrestricted=True)
    return {str(token_id): bytes(digest) for token_id, digest in rows}


async def revoke_token(database: Database, token_id: str, *, at: datetime) -> Token | None:
    """Revoke a token; one that is revoked already keeps its time."""

    async def job(transaction: Transaction) -> None:
        await transaction.execute(
            "UPDATE scrubjay.tokens SET revoked_at = %s WHERE id = %s AND revoked_at IS NULL", to_micros(at), token_id
        )

    await database.write(job, unrestricted=True)
    return await token_by_id(database, token_id)
