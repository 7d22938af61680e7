"""Bearer tokens: found by the digest of their secret, which is all that is kept of it."""

from datetime import datetime

from scrubjay.errors import Conflict
from scrubjay.model.timestamps import to_micros
from scrubjay.model.token import Token
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.query import Work
from scrubjay.storage.rows import micros_of, token_of

_COLUMNS = "id, name, spaces, access, created_at, expires_at, revoked_at, requests_per_minute, body_bytes"
_SELECT = f"SELECT {_COLUMNS} FROM scrubjay.tokens"


async def add(database: Database, token: Token, digest: bytes) -> None:
    """Keep a new token."""

    async def job(work: Work) -> int:
        return await work.do(
            f"""INSERT INTO scrubjay.tokens(digest, {_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
                ON CONFLICT DO NOTHING""",
            digest, token.id, token.name, list(token.spaces), token.access.value, to_micros(token.created_at),
            micros_of(token.expires_at), micros_of(token.revoked_at), token.requests_per_minute, token.body_bytes,
        )  # fmt: skip

    if not await database.write(job, keeper=True):
        raise Conflict("there is a token with this id or secret already", hint="Make another", token=token.id)


async def by_digest(database: Database, digest: bytes) -> Token | None:
    """The token of a secret."""
    rows = await database.rows(f"{_SELECT} WHERE digest = %s", digest, keeper=True)
    return token_of(rows[0]) if rows else None


async def by_id(database: Database, token_id: str) -> Token | None:
    """One token."""
    if "\x00" in token_id:
        return None
    rows = await database.rows(f"{_SELECT} WHERE id = %s", token_id, keeper=True)
    return token_of(rows[0]) if rows else None


async def every(database: Database) -> list[Token]:
    """All tokens, oldest first."""
    return [token_of(row) for row in await database.rows(f"{_SELECT} ORDER BY created_at, no", keeper=True)]


async def digests(database: Database) -> dict[str, bytes]:
    """The digests of all secrets, by the tokens' ids."""
    rows = await database.rows("SELECT id, digest FROM scrubjay.tokens", keeper=True)
    return {str(token_id): bytes(digest) for token_id, digest in rows}


async def revoke(database: Database, token_id: str, *, at: datetime) -> Token | None:
    """End a token; one that has ended keeps its moment."""

    async def job(work: Work) -> None:
        await work.do(
            "UPDATE scrubjay.tokens SET revoked_at = %s WHERE id = %s AND revoked_at IS NULL", to_micros(at), token_id
        )

    await database.write(job, keeper=True)
    return await by_id(database, token_id)
