"""Scrubjay's own tokens: create and revoke them; the form of their secrets."""

import base64
import binascii
import hashlib
import logging
import re
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches

from scrubjay.errors import Ambiguous, InvalidInput, NameTaken, NotFound, TooLarge
from scrubjay.model.caller import ALL_SPACES, TOKEN_LEVELS, Access
from scrubjay.model.checks import (
    name_problem,
    normal_name,
    require_flag,
    require_integer,
    require_own_look,
    require_text,
    require_texts,
)
from scrubjay.model.identity import is_id, new_id
from scrubjay.model.requests import CreateTokenRequest
from scrubjay.model.timestamps import parse_moment
from scrubjay.model.token import NewToken, Token, TokenState
from scrubjay.ports import Tokens
from scrubjay.text.screening.secrets import require_no_secret

_log = logging.getLogger(__name__)

PREFIX = "sj_"
MAX_NAME = 100
MAX_SPACES = 100
_MAX_REQUESTS = 10_000_000
_MAX_BODY = 1 << 40
_MAX_LIFETIME = timedelta(days=3660)
_RANDOM_BYTES = 32
_SECRET = re.compile(r"sj_[A-Za-z0-9_-]{43}(?P<check>[A-Za-z0-9_-]{6})")
_DURATION = re.compile(r"(?P<number>[0-9]{1,6}) ?(?P<unit>[mhdw])")
_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


async def create(request: CreateTokenRequest, *, tokens: Tokens, now: datetime, spaces: Sequence[str] = ()) -> NewToken:
    """Create a token and store the digest of its secret; only the result contains the secret itself.

    `spaces` exist: those of the token must not look like another one.
    """
    access = _access(request.access)
    token = Token(
        id=new_id(),
        name=_name(request.name),
        spaces=_spaces(request.spaces, access=access),
        access=access,
        created_at=now,
        expires_at=_expiry(request.expires, now=now),
        requests_per_minute=require_integer(
            request.requests_per_minute, field="requests_per_minute", least=0, most=_MAX_REQUESTS
        ),
        body_bytes=require_integer(request.body_bytes, field="body_bytes", least=0, most=_MAX_BODY),
        mcp_only=require_flag(request.mcp_only, field="mcp_only"),
        trusted_imports=require_flag(request.trusted_imports, field="trusted_imports"),
    )
    _require_use(token)
    for name in token.spaces:
        require_own_look(name, [] if name in spaces else spaces, field="spaces")
    await _require_free(token.name, tokens=tokens, now=now)
    secret = new_secret()
    await tokens.add_token(token, digest_of(secret))
    _log.info("token created", extra={"fields": {"token": token.id, "name": token.name, "access": access.value}})
    return NewToken(token=token, secret=secret)


async def revoke(ref: str, *, tokens: Tokens, now: datetime) -> Token:
    """Revoke the token with an id, a name or a secret, at once and for good; a revoked one stays as it is."""
    reference = require_text(ref, field="ref").strip()
    if not reference.startswith(PREFIX):
        token = _find(reference, await tokens.tokens(), now=now)
    elif (token := await tokens.token_by_digest(digest_of(reference))) is None:
        # A secret is the only name of a token that was found by chance. The error never repeats it.
        raise NotFound("no token has this secret", hint="See `scrubjay tokens list`")
    revoked = await tokens.revoke_token(token.id, at=now)
    if revoked is None:
        raise NotFound(f"there is no token {token.id}", hint="See `scrubjay tokens list`", ref=token.id)
    _log.info("token revoked", extra={"fields": {"token": revoked.id, "name": revoked.name}})
    return revoked


def space_problem(name: str) -> str:
    """Return what is wrong with the name of a space, or nothing."""
    if not name or name != name.strip():
        return "is empty, or begins or ends with a blank"
    if name != normal_name(name):
        # Another spelling of a name, in a claim that users choose, must not open the space of that name.
        return "is not in the normal form of Unicode (NFKC)"
    return f"is longer than {MAX_NAME} characters" if len(name) > MAX_NAME else name_problem(name)


def new_secret() -> str:
    """Return a random secret. Its checksum detects typing errors, and texts that only look like a secret."""
    body = PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    return body + _checksum(body)


def is_secret(text: str) -> bool:
    """Return whether a text has the form of a secret; it need not belong to a token."""
    match = _SECRET.fullmatch(text)
    return match is not None and _checksum(text[: -len(match["check"])]) == match["check"]


def digest_of(secret: str) -> bytes:
    """Return the digest by which a secret is stored and looked up.

    One round of SHA-256 is enough: slow hashes protect secrets that people choose, and 256 random bits cannot be tried
    out. Nor does the time of a lookup help to guess, because a guesser cannot choose the digest of a guess.
    """
    return hashlib.sha256(secret.encode()).digest()


def _checksum(body: str) -> str:
    return base64.urlsafe_b64encode(binascii.crc32(body.encode()).to_bytes(4, "big")).decode().rstrip("=")


def _find(ref: str, tokens: Sequence[Token], *, now: datetime) -> Token:
    """Return the token with an id, else with a name, live ones first."""
    matches = [token for token in tokens if token.id == ref.lower()]
    for state in TokenState:
        matches = matches or [token for token in tokens if token.name == ref and token.state(now) is state]
    # If all tokens of a name are revoked, any of them will do.
    if len(matches) > 1 and matches[-1].revoked_at is None:
        ids = tuple(token.id for token in matches)
        raise Ambiguous(
            f"{len(matches)} tokens are called {ref[:100]!r}", hint="Name one by its id", ref=ref[:100], ids=ids
        )
    if not matches:
        near = tuple(get_close_matches(ref[:100], [token.name for token in tokens], n=3))
        hint = f"Did you mean {' or '.join(near)}?" if near else "See `scrubjay tokens list`"
        raise NotFound(f"there is no token {ref[:100]!r}", hint=hint, ref=ref[:100], suggestions=near)
    return matches[-1]


async def _require_free(name: str, *, tokens: Tokens, now: datetime) -> None:
    live = [token for token in await tokens.tokens() if token.state(now) is TokenState.LIVE]
    require_own_look(name, (token.name for token in live), field="name")
    for token in live:
        if token.name == name:
            raise NameTaken(
                f"there is a live token called {name!r}",
                hint="Choose another name, or revoke that one first",
                name=name,
                token=token.id,
            )


def _name(value: object) -> str:
    name = normal_name(require_text(value, field="name"))
    if not name:
        raise InvalidInput("a token needs a name", hint="For example the name of its machine", field="name")
    if len(name) > MAX_NAME:
        raise TooLarge(f"name has {len(name):,} characters; the limit is {MAX_NAME}", field="name", limit=MAX_NAME)
    if problem := name_problem(name):
        raise InvalidInput(f"name {problem}", hint="Use letters and digits", field="name")
    if is_id(name) or name.startswith(PREFIX):
        raise InvalidInput("name looks like an id or a secret", hint="Use words", field="name")
    return require_no_secret(name, field="name")


def _access(value: object) -> Access:
    text = require_text(value, field="access")
    if text not in TOKEN_LEVELS:
        raise InvalidInput(f"access must be one of {', '.join(TOKEN_LEVELS)}, not {text[:60]!r}", field="access")
    return Access(text)


def _require_use(token: Token) -> None:
    """Raise InvalidInput for a token whose options exclude each other."""
    if token.mcp_only and token.access is Access.METRICS:
        raise InvalidInput("a token for metrics is not one for MCP", hint="Leave mcp_only out", field="mcp_only")
    if token.trusted_imports and (token.mcp_only or token.access is not Access.WRITE):
        raise InvalidInput(
            "only a token of the level write imports, and not over MCP", hint="Leave trusted_imports out",
            field="trusted_imports",
        )  # fmt: skip


def _spaces(value: object, *, access: Access) -> tuple[str, ...]:
    # Blanks around a name are a mistake of the caller; other spellings of it are not.
    names = require_texts(value, field="spaces")
    spaces = tuple(dict.fromkeys(name if name != name.strip() else normal_name(name) for name in names))
    if access is Access.METRICS:
        if spaces:
            raise InvalidInput(
                "a token for metrics has no spaces", hint="Leave spaces out, or choose read", field="spaces"
            )
        return ()
    if not spaces:
        raise InvalidInput(
            "a token needs the spaces that it may use",
            hint=f"For example work,home; {ALL_SPACES} means every space",
            field="spaces",
        )
    if len(spaces) > MAX_SPACES:
        raise TooLarge(
            f"a token has at most {MAX_SPACES} spaces, not {len(spaces):,}",
            hint=f"{ALL_SPACES} means every space",
            field="spaces",
            limit=MAX_SPACES,
        )
    for name in spaces:
        require_no_secret(name, field="spaces")
        if problem := space_problem(name):
            raise InvalidInput(f"the space {name[:100]!r} {problem}", hint="Check its name", field="spaces")
    return spaces


def _expiry(value: object, *, now: datetime) -> datetime | None:
    text = require_text(value, field="expires").strip()
    if not text:
        return None
    match = _DURATION.fullmatch(text.lower())
    lifetime = int(match["number"]) * _UNITS[match["unit"]] if match else _moment(text) - now
    if lifetime <= timedelta(0):
        raise InvalidInput(
            f"expires: {text[:80]!r} is not in the future", hint="Write a duration, such as 90d or 12h", field="expires"
        )
    if lifetime > _MAX_LIFETIME:
        raise InvalidInput(
            "expires: that is more than ten years from now",
            hint="Choose an earlier time; without one a token is valid until it is revoked",
            field="expires",
        )
    return now + lifetime


def _moment(text: str) -> datetime:
    try:
        return parse_moment(text, field="expires")
    except InvalidInput:
        raise InvalidInput(
            f"expires: {text[:80]!r} is neither a duration nor a time",
            hint="Write 90d, 12h, or a time such as 2027-01-31T12:00:00Z",
            field="expires",
        ) from None
