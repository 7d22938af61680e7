"""Bearer tokens: found by the digest of their secret, which is all that is kept of it."""

import json
from datetime import datetime

import apsw

from scrubjay.errors import Conflict
from scrubjay.model.grant import Access
from scrubjay.model.moment import from_micros, to_micros
from scrubjay.model.token import Token

_COLUMNS = "id, name, spaces, access, created_at, expires_at, revoked_at, requests_per_minute, body_bytes"
_Row = tuple[str, str, str, str, int, int | None, int | None, int, int]


def add(connection: apsw.Connection, *, token: Token, digest: bytes) -> None:
    """Keep a new token."""
    row = (
        digest, token.id, token.name, json.dumps(token.spaces, ensure_ascii=False), token.access.value,
        to_micros(token.created_at), _micros(token.expires_at), _micros(token.revoked_at),
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


def revoke(connection: apsw.Connection, *, token_id: str, at: datetime) -> Token | None:
    """End a token; one that has ended keeps its moment."""
    connection.execute(
        "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (to_micros(at), token_id)
    )
    return by_id(connection, token_id)


def _token(row: _Row | None) -> Token | None:
    if row is None:
        return None
    token_id, name, spaces, access, created_at, expires_at, revoked_at, requests_per_minute, body_bytes = row
    return Token(
        id=token_id,
        name=name,
        spaces=tuple(json.loads(spaces)),
        access=Access(access),
        created_at=from_micros(created_at),
        expires_at=_moment(expires_at),
        revoked_at=_moment(revoked_at),
        requests_per_minute=requests_per_minute,
        body_bytes=body_bytes,
    )


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
