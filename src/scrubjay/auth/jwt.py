"""Tokens of a trusted issuer: verifies a JWT with the issuer's keys and turns it into a grant."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import cast

import jwt

from scrubjay.auth.authenticator import JWT_PREFIX, invalid_token
from scrubjay.auth.issuer import TrustedIssuer
from scrubjay.auth.jwks import ALGORITHMS, KeyRing, PublicKey, source_of
from scrubjay.auth.tokens import MAX_SPACES, space_problem
from scrubjay.errors import NotAdmitted, NotAllowed
from scrubjay.model.caller import ALL_SPACES, Access, Grant
from scrubjay.ports import Clock

_LEEWAY_SECONDS = 30
_MAX_SUBJECT = 255
_SUBJECT = "sub"
_REQUIRED = ["exp", "iss", "aud", _SUBJECT]
# The widest first: each includes the next, except metrics.
_SCOPES = {
    "scrubjay:write": Access.WRITE,
    "scrubjay:agent": Access.AGENT,
    "scrubjay:read": Access.READ,
    "scrubjay:metrics": Access.METRICS,
}
# The last second that a date can represent.
_LAST_SECOND = 253_402_300_799


class JwtVerifier:
    """Verifies the JWTs of one issuer. Until the signature is verified, an error gives no reason."""

    def __init__(self, issuer: TrustedIssuer, *, clock: Clock, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._clock = clock
        self._ring = KeyRing(source_of(issuer.jwks), monotonic=monotonic)

    async def verify(self, token: str) -> Grant:
        """Return the grant of a token; raises NotAdmitted, NotAllowed if it grants nothing here, or KeysUnavailable."""
        key = await self._find_key(token)
        if key is None:
            raise invalid_token()
        claims = self._verify_claims(token, key)
        expires_at = _expiry(claims, now=self._clock.now().timestamp())
        subject = claims[_SUBJECT]
        if not isinstance(subject, str) or not 0 < len(subject) <= _MAX_SUBJECT or not subject.isprintable():
            raise invalid_token()
        access = _access(claims)
        return Grant(
            spaces=() if access is Access.METRICS else self._spaces(claims),
            access=access,
            id=f"{JWT_PREFIX}{subject}",
            name=subject,
            expires_at=expires_at,
        )

    async def _find_key(self, token: str) -> PublicKey | None:
        try:
            header: Mapping[str, object] = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, RecursionError):
            return None
        algorithm, kid = header.get("alg"), header.get("kid")
        # Refuse `none`, symmetric and unknown algorithms before looking for any key.
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS or not isinstance(kid, str | None):
            return None
        return await self._ring.find(kid, algorithm)

    def _verify_claims(self, token: str, key: PublicKey) -> Mapping[str, object]:
        """Return the claims of a token that the issuer signed for this audience."""
        try:
            # The key decides the algorithms, not the token; the times are checked with our own clock.
            return jwt.decode(
                token,
                key=key.material,
                algorithms=key.algorithms,
                issuer=self._issuer.issuer,
                audience=self._issuer.audience,
                options={"require": _REQUIRED, "verify_exp": False, "verify_nbf": False, "verify_iat": False},
            )
        except (jwt.PyJWTError, RecursionError):
            raise invalid_token() from None

    def _spaces(self, claims: Mapping[str, object]) -> tuple[str, ...]:
        claim = self._issuer.spaces_claim
        value = claims.get(claim)
        # A subject is one space, blanks included: if it were split, one person's name could open another's space.
        names = [value] if claim == _SUBJECT and isinstance(value, str) else _words(value)
        spaces = tuple(dict.fromkeys(names))
        # A claim may contain a name that users choose, so the name for all spaces is not allowed in it.
        if not spaces or len(spaces) > MAX_SPACES or ALL_SPACES in spaces or any(map(space_problem, spaces)):
            raise NotAllowed(
                f"the claim {claim!r} of this token names no usable spaces",
                hint="Ask its issuer for a token that does",
                claim=claim,
            )
        return spaces


def _expiry(claims: Mapping[str, object], *, now: float) -> datetime:
    """Return when a token expires; raises NotAdmitted if it is not valid now."""
    end, begin, issued = (_seconds(claims, name) for name in ("exp", "nbf", "iat"))
    latest = now + _LEEWAY_SECONDS
    if end is None or not (begin is None or begin <= latest) or not (issued is None or issued <= min(latest, end)):
        raise invalid_token()
    if end + _LEEWAY_SECONDS <= now:
        raise NotAdmitted("this token has expired", hint="Ask for a new one", reason="expired")
    return datetime.fromtimestamp(min(end + _LEEWAY_SECONDS, _LAST_SECOND), UTC)


def _seconds(claims: Mapping[str, object], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    # This also refuses NaN, which some JSON encoders write.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LAST_SECOND:
        raise invalid_token()
    return float(value)


def _access(claims: Mapping[str, object]) -> Access:
    scopes = {*_words(claims.get("scope")), *_words(claims.get("scp"))}
    for scope, access in _SCOPES.items():
        if scope in scopes:
            return access
    raise NotAllowed(
        "this token has no scope of this server",
        hint=f"Ask its issuer for one of {', '.join(_SCOPES)}",
        claim="scope",
    )


def _words(value: object) -> list[str]:
    """Return the texts of a claim: of a list, or the words of a text."""
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list):
        return [item for item in cast("list[object]", value) if isinstance(item, str)]
    return []
