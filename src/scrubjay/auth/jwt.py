"""Tokens of a trusted issuer: a JWT, checked against its keys, becomes a grant."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import cast

import jwt

from scrubjay.auth.authenticator import FOREIGN, refusal
from scrubjay.auth.issuer import TrustedIssuer
from scrubjay.auth.jwks import ALGORITHMS, Key, KeyRing
from scrubjay.auth.key_source import source_of
from scrubjay.auth.tokens import MOST_SPACES, space_problem
from scrubjay.errors import NotAdmitted, NotAllowed
from scrubjay.model.grant import ALL_SPACES, Access, Grant
from scrubjay.ports import Clock

_LEEWAY_SECONDS = 30
_LONGEST_SUBJECT = 255
_SUBJECT = "sub"
_NEEDED = ["exp", "iss", "aud", _SUBJECT]
# The widest first: whoever may write may read.
_SCOPES = {
    "scrubjay:write": Access.WRITE,
    "scrubjay:read": Access.READ,
    "scrubjay:metrics": Access.METRICS,
}
# Past it no date can be written.
_LAST_SECOND = 253_402_300_799


class JwtVerifier:
    """Checks JWTs of one issuer. What fails before the signature is proven is refused without a word on why."""

    def __init__(self, trust: TrustedIssuer, *, clock: Clock, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._trust = trust
        self._clock = clock
        self._ring = KeyRing(source_of(trust.jwks), monotonic=monotonic)

    async def verify(self, token: str) -> Grant:
        """What a token opens; raises NotAdmitted, NotAllowed if it opens nothing here, or KeysUnavailable."""
        key = await self._key_of(token)
        if key is None:
            raise refusal()
        claims = self._claims(token, key)
        until = _until(claims, now=self._clock.now().timestamp())
        subject = claims[_SUBJECT]
        if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT or not subject.isprintable():
            raise refusal()
        access = _access(claims)
        return Grant(
            spaces=() if access is Access.METRICS else self._spaces(claims),
            access=access,
            id=f"{FOREIGN}{subject}",
            name=subject,
            expires_at=until,
        )

    async def _key_of(self, token: str) -> Key | None:
        try:
            header: Mapping[str, object] = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, RecursionError):
            return None
        algorithm, kid = header.get("alg"), header.get("kid")
        # Refused before any key is looked for: `none`, secrets shared with an issuer, and what nobody has heard of.
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS or not isinstance(kid, str | None):
            return None
        return await self._ring.find(kid, algorithm)

    def _claims(self, token: str, key: Key) -> Mapping[str, object]:
        """What a token says, if the issuer has signed it for us."""
        try:
            # The algorithms are those of the key, whatever the token would like; times are checked by our own clock.
            return jwt.decode(
                token,
                key=key.material,
                algorithms=key.algorithms,
                issuer=self._trust.issuer,
                audience=self._trust.audience,
                options={"require": _NEEDED, "verify_exp": False, "verify_nbf": False, "verify_iat": False},
            )
        except (jwt.PyJWTError, RecursionError):
            raise refusal() from None

    def _spaces(self, claims: Mapping[str, object]) -> tuple[str, ...]:
        claim = self._trust.spaces_claim
        found = claims.get(claim)
        # A subject is one space, blanks and all: split, one person's name could open another's space.
        names = [found] if claim == _SUBJECT and isinstance(found, str) else _words(found)
        spaces = tuple(dict.fromkeys(names))
        # Claims may hold what people call themselves, and nobody becomes everybody by calling himself so.
        if not spaces or len(spaces) > MOST_SPACES or ALL_SPACES in spaces or any(map(space_problem, spaces)):
            raise NotAllowed(
                f"the claim {claim!r} of this token names no spaces that can be opened",
                hint="Ask its issuer for a token that does",
                claim=claim,
            )
        return spaces


def _until(claims: Mapping[str, object], *, now: float) -> datetime:
    """Until when a token lets anybody in; raises NotAdmitted when that is not now."""
    end, begin, issued = (_seconds(claims, name) for name in ("exp", "nbf", "iat"))
    latest = now + _LEEWAY_SECONDS
    if end is None or not (begin is None or begin <= latest) or not (issued is None or issued <= min(latest, end)):
        raise refusal()
    if end + _LEEWAY_SECONDS <= now:
        raise NotAdmitted("this token has expired", hint="Ask for a new one", reason="expired")
    return datetime.fromtimestamp(min(end + _LEEWAY_SECONDS, _LAST_SECOND), UTC)


def _seconds(claims: Mapping[str, object], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    # Also refuses what is no number at all, which JSON of some makers has a word for.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LAST_SECOND:
        raise refusal()
    return float(value)


def _access(claims: Mapping[str, object]) -> Access:
    scopes = {*_words(claims.get("scope")), *_words(claims.get("scp"))}
    for scope, access in _SCOPES.items():
        if scope in scopes:
            return access
    raise NotAllowed(
        "this token has no scope that opens anything here",
        hint=f"Ask its issuer for one of {', '.join(_SCOPES)}",
        claim="scope",
    )


def _words(value: object) -> list[str]:
    """A claim that is a list of texts, or a text of words."""
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list):
        return [one for one in cast("list[object]", value) if isinstance(one, str)]
    return []
