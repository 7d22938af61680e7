"""Bearer tokens, by the digest of their secret: the secret itself is not stored."""

import json
from datetime import datetime

import apsw

from scrubjay.errors import Conflict
from scrubjay.model.timestamps import to_micros
from scrubjay.model.token import Token
from scrubjay.storage.rows import COLUMNS_OF_TOKENS, micros_of, token_of

_Row = tuple[str, str, str, str, int, int | None, int | None, int, int, int, int]


def add_token(connection: apsw.Connection, *, token: Token, digest: bytes) -> None:
    """Store a new token."""
    row = (
        digest, token.id, token.name, json.dumps(token.spaces, ensure_ascii=False), token.access.value,
        to_micros(token.created_at), micros_of(token.expires_at), micros_of(token.revoked_at),
        token.requests_per_minute, token.body_bytes, token.mcp_only, token.trusted_imports,
    )  # fmt: skip
    connection.execute(
        f"INSERT OR IGNORE INTO tokens(digest, {COLUMNS_OF_TOKENS}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )
    if not connection.changes():
        raise Conflict("a token with this id or secret exists already", hint="Create another one", token=token.id)


def token_by_digest(connection: apsw.Connection, digest: bytes) -> Token | None:
    """Return the token of a secret, by its digest."""
    return _token(connection.execute(f"SELECT {COLUMNS_OF_TOKENS} FROM tokens WHERE digest = ?", (digest,)).fetchone())


def token_by_id(connection: apsw.Connection, token_id: str) -> Token | None:
    """Return a token by id."""
    return _token(connection.execute(f"SELECT {COLUMNS_OF_TOKENS} FROM tokens WHERE id = ?", (token_id,)).fetchone())


def all_tokens(connection: apsw.Connection) -> list[Token]:
    """Return all tokens, oldest first."""
    rows = connection.execute(f"SELECT {COLUMNS_OF_TOKENS} FROM tokens ORDER BY created_at, no")
    return [token for row in rows if (token := _token(row)) is not None]


def token_digests(connection: apsw.Connection) -> dict[str, bytes]:
    """Return the digests of all secrets, by token id."""
    return {str(row[0]): bytes(row[1]) for row in connection.execute("SELECT id, digest FROM tokens")}


def revoke_token(connection: apsw.Connection, *, token_id: str, at: datetime) -> Token | None:
    """Revoke a token; one that is revoked already keeps its time."""
    connection.execute(
        "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (to_micros(at), token_id)
    )
    return token_by_id(connection, token_id)


def _token(row: _Row | None) -> Token | None:
    if row is None:
        return None
    return token_of((*row[:2], json.loads(row[2]), *row[3:]))
