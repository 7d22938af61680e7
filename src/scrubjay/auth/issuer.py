"""A trusted issuer of tokens: its audience and the place of its keys."""

import ipaddress
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedIssuer:
    """One issuer. `jwks` is a URL or a file; `spaces_claim` names the claim with the spaces of a token."""

    issuer: str
    audience: str
    jwks: str
    spaces_claim: str = "spaces"

    def __post_init__(self) -> None:
        if not self.spaces_claim:
            raise InvalidInput("the claim that names the spaces must not be empty", setting="SCRUBJAY_JWT_SPACES_CLAIM")
        if "://" in self.jwks:
            problem = url_problem(self.jwks)
        else:
            problem = "" if Path(self.jwks).expanduser().is_file() else "is neither a URL nor a file"
        if problem:
            raise InvalidInput(
                f"{redact(self.jwks)} {problem}",
                hint="SCRUBJAY_JWT_JWKS is https://…, http:// on this machine, or a file",
                setting="SCRUBJAY_JWT_JWKS",
            )


def issuer_from_settings(*, issuer: str, audience: str, jwks: str, spaces_claim: str) -> TrustedIssuer | None:
    """Return the issuer of the settings, or None without one; raises InvalidInput if settings are missing."""
    settings = {"SCRUBJAY_JWT_ISSUER": issuer, "SCRUBJAY_JWT_AUDIENCE": audience, "SCRUBJAY_JWT_JWKS": jwks}
    missing = [name for name, value in settings.items() if not value]
    if len(missing) == len(settings):
        return None
    if missing:
        raise InvalidInput(
            f"tokens of an issuer need {', '.join(settings)} together; not set: {', '.join(missing)}",
            hint="Set all three, or none",
            setting=missing[0],
        )
    return TrustedIssuer(issuer=issuer, audience=audience, jwks=jwks, spaces_claim=spaces_claim)


def url_problem(url: str) -> str:
    """Return why keys cannot be fetched from a URL, or nothing: altered keys would let an attacker forge tokens."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme not in ("http", "https") or not host or port == 0:
        return "is not the URL of a web server"
    if parts.username is not None or parts.password is not None:
        return "contains a name or a password, which would appear in logs"
    if parts.scheme == "http" and not is_loopback(host):
        return "is not https, and not on this machine"
    return ""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def redact(place: str) -> str:
    """Return a URL or path for logs and errors, without parts that may be secret."""
    try:
        parts = urlsplit(place)
    except ValueError:
        return "the URL of the keys"
    if not parts.scheme or not parts.netloc:
        return place
    host = parts.netloc.rpartition("@")[2]
    return SplitResult(parts.scheme, host, parts.path, "", "").geturl()
