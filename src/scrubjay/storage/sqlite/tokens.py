"""Bearer tokens: found by the digest of their secret, which is all that is kept of it."""

import json
from datetime import datetime

import apsw

from scrubjay.errors import Conflict
from scrubjay.model.timestamps import to_micros
from scrubjay.model.token import Token
from scrubjay.storage.rows import micros_of, token_of

_COLUMNS = "id, name, spaces, access, created_at, expires_at, revoked_at, requests_per_minute, body_bytes"
_Row = tuple[str, str, str, str, int, int | None, int | None, int, int]


def add(connection: apsw.Connection, *, token: Token, digest: bytes) -> None:
    """Keep a new token."""
    row = (
        digest, token.id, token.name, json.dumps(token.spaces, ensure_ascii=False), token.access.value,
        to_micros(token.created_at), micros_of(token.expires_at), micros_of(token.revoked_at),
        token.requests_per_minute, token.body_bytes,
    )  # fmt: skip
    connection.execute(
        f"INSERT OR IGNORE INTO tokens(digest, {_COLUMNS}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )
    if not connection.changes():
        raise Conflict("there is a token with this id or secret already", hint="Make another", token=token.id)


def by_digest(connection: apsw.Connection, digest: bytes) -> Token | None:
    """The token of a secret."""
    return _token(connection.execute(f"SELECT {_COLUMNS} FROM tokens WHERE digest = ?", (digest,)).fetchone())


def by_id(connection: apsw.Connection, token_id: str) -> Token | None:
    """One token."""
    return _token(connection.execute(f"SELECT {_COLUMNS} FROM tokens WHERE id = ?", (token_id,)).fetchone())


def every(connection: apsw.Connection) -> list[Token]:
    """All tokens, oldest first."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM tokens ORDER BY created_at, no")
    return [token for row in rows if (token := _token(row)) is not None]


def digests(connection: apsw.Connection) -> dict[str, bytes]:
    """The digests of all secrets, by the tokens' ids."""
    return {str(row[0]): bytes(row[1]) for row in connection.execute("SELECT id, digest FROM tokens")}


def revoke(connection: apsw.Connection, *, token_id: str, at: datetime) -> Token | None:
    """End a token; one that has ended keeps its moment."""
    connection.execute(
        "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (to_micros(at), token_id)
    )
    return by_id(connection, token_id)


def _token(row: _Row | None) -> Token | None:
    if row is None:
        return None
    return token_of((*row[:2], json.loads(row[2]), *row[3:]))
