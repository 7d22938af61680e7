"""Tokens of our own: made, and ended."""

import logging
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches

from scrubjay.auth.token_secret import PREFIX, digest_of, new_secret
from scrubjay.errors import Ambiguous, InvalidInput, NameTaken, NotFound, TooLarge
from scrubjay.model.checks import require_integer, require_text, require_texts
from scrubjay.model.grant import ALL_SPACES, Access
from scrubjay.model.identity import is_id, new_id
from scrubjay.model.timestamps import parse_moment
from scrubjay.model.token import NewToken, Token, TokenRequest, TokenState
from scrubjay.ports import Tokens

_log = logging.getLogger(__name__)

LONGEST_NAME = 100
MOST_SPACES = 100
_MOST_REQUESTS = 10_000_000
_LARGEST_BODY = 1 << 40
_LONGEST_LIFE = timedelta(days=3660)
_WHILE = re.compile(r"(?P<number>[0-9]{1,6}) ?(?P<unit>[mhdw])")
_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


async def create(wish: TokenRequest, *, tokens: Tokens, now: datetime) -> NewToken:
    """Make a token and keep the digest of its secret; the secret itself is in the answer and nowhere else."""
    access = _access(wish.access)
    token = Token(
        id=new_id(),
        name=_name(wish.name),
        spaces=_spaces(wish.spaces, access=access),
        access=access,
        created_at=now,
        expires_at=_end(wish.expires, now=now),
        requests_per_minute=require_integer(
            wish.requests_per_minute, field="requests_per_minute", least=0, most=_MOST_REQUESTS
        ),
        body_bytes=require_integer(wish.body_bytes, field="body_bytes", least=0, most=_LARGEST_BODY),
    )
    await _require_free(token.name, tokens=tokens, now=now)
    secret = new_secret()
    await tokens.add_token(token, digest_of(secret))
    _log.info("token created", extra={"fields": {"token": token.id, "name": token.name, "access": access.value}})
    return NewToken(token=token, secret=secret)


async def revoke(ref: str, *, tokens: Tokens, now: datetime) -> Token:
    """End the token of an id, a name or a secret, at once and for good; one that has ended stays as it is."""
    wanted = require_text(ref, field="ref").strip()
    if wanted.startswith(PREFIX):
        token = await _of_secret(wanted, tokens=tokens)
    else:
        token = _named(wanted, among=await tokens.tokens(), now=now)
    revoked = await tokens.revoke_token(token.id, at=now)
    if revoked is None:
        raise NotFound(f"there is no token {token.id}", hint="See `scrubjay tokens list`", ref=token.id)
    _log.info("token revoked", extra={"fields": {"token": revoked.id, "name": revoked.name}})
    return revoked


def space_problem(name: str) -> str:
    """What is wrong with the name of a space, for whoever opens it to others; empty when nothing is."""
    if not name or name != name.strip():
        return "is empty, or has blanks around it"
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    return "" if name.isprintable() else "has characters that cannot be seen"


async def _of_secret(secret: str, *, tokens: Tokens) -> Token:
    """Whoever finds a token lying about has nothing else to name it by. What was given is never repeated."""
    token = await tokens.token_by_digest(digest_of(secret))
    if token is None:
        raise NotFound("no token here has this secret", hint="See `scrubjay tokens list`")
    return token


def _named(ref: str, *, among: Sequence[Token], now: datetime) -> Token:
    """Whoever answers to a reference: by id, else by name, those that still open something first."""
    found = [token for token in among if token.id == ref.lower()]
    for state in TokenState:
        found = found or [token for token in among if token.name == ref and token.state(now) is state]
    # Of several with one name, all revoked, any will do: nothing is left to end.
    if len(found) > 1 and found[-1].revoked_at is None:
        ids = tuple(token.id for token in found)
        raise Ambiguous(
            f"{len(found)} tokens are called {ref[:100]!r}", hint="Name one by its id", ref=ref[:100], ids=ids
        )
    if not found:
        near = tuple(get_close_matches(ref[:100], [token.name for token in among], n=3))
        hint = f"Did you mean {' or '.join(near)}?" if near else "See `scrubjay tokens list`"
        raise NotFound(f"there is no token {ref[:100]!r}", hint=hint, ref=ref[:100], suggestions=near)
    return found[-1]


async def _require_free(name: str, *, tokens: Tokens, now: datetime) -> None:
    for token in await tokens.tokens():
        if token.name == name and token.state(now) is TokenState.LIVE:
            raise NameTaken(
                f"there is a live token called {name!r}",
                hint="Choose another name, or revoke that one first",
                name=name,
                token=token.id,
            )


def _name(given: object) -> str:
    name = require_text(given, field="name").strip()
    if not name:
        raise InvalidInput("a token needs a name", hint="For example that of the machine it is for", field="name")
    if len(name) > LONGEST_NAME:
        raise TooLarge(
            f"name has {len(name):,} characters; the limit is {LONGEST_NAME}", field="name", limit=LONGEST_NAME
        )
    if not name.isprintable():
        raise InvalidInput("name has characters that cannot be seen", hint="Use letters and digits", field="name")
    if is_id(name) or name.startswith(PREFIX):
        raise InvalidInput("name is spelled like an id or a secret", hint="Use words, as for a person", field="name")
    return name


def _access(given: object) -> Access:
    text = require_text(given, field="access")
    try:
        return Access(text)
    except ValueError:
        choices = ", ".join(Access)
        raise InvalidInput(f"access must be one of {choices}, not {text[:60]!r}", field="access") from None


def _spaces(given: object, *, access: Access) -> tuple[str, ...]:
    spaces = tuple(dict.fromkeys(require_texts(given, field="spaces")))
    if access is Access.METRICS:
        if spaces:
            raise InvalidInput(
                "a token for metrics opens no space", hint="Leave spaces out, or choose read", field="spaces"
            )
        return ()
    if not spaces:
        raise InvalidInput(
            "a token must name the spaces it opens",
            hint=f"For example work,home; {ALL_SPACES} is every space",
            field="spaces",
        )
    if len(spaces) > MOST_SPACES:
        raise TooLarge(
            f"a token opens at most {MOST_SPACES} spaces, not {len(spaces):,}",
            hint=f"{ALL_SPACES} opens every space",
            field="spaces",
            limit=MOST_SPACES,
        )
    for name in spaces:
        if problem := space_problem(name):
            raise InvalidInput(f"the space {name[:100]!r} {problem}", hint="Check its name", field="spaces")
    return spaces


def _end(given: object, *, now: datetime) -> datetime | None:
    text = require_text(given, field="expires").strip()
    if not text:
        return None
    found = _WHILE.fullmatch(text.lower())
    life = int(found["number"]) * _UNITS[found["unit"]] if found else _moment(text) - now
    if life <= timedelta(0):
        raise InvalidInput(
            f"expires: {text[:80]!r} is not in the future", hint="Write a while, such as 90d or 12h", field="expires"
        )
    if life > _LONGEST_LIFE:
        raise InvalidInput(
            "expires: that is more than ten years from now",
            hint="Choose an earlier time; without one a token holds until it is revoked",
            field="expires",
        )
    return now + life


def _moment(text: str) -> datetime:
    try:
        return parse_moment(text, field="expires")
    except InvalidInput:
        raise InvalidInput(
            f"expires: {text[:80]!r} is neither a while nor a time",
            hint="Write 90d, 12h, or a time such as 2027-01-31T12:00:00Z",
            field="expires",
        ) from None
