"""Whose tokens are taken beside our own: an issuer, the audience it must name, and where its keys are."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from scrubjay.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedIssuer:
    """One issuer. `jwks` is an address or a file; `spaces_claim` is what tells which spaces its tokens open."""

    issuer: str
    audience: str
    jwks: str
    spaces_claim: str = "spaces"

    def __post_init__(self) -> None:
        if not self.spaces_claim:
            raise InvalidInput("the claim that names the spaces must not be empty", setting="SCRUBJAY_JWT_SPACES_CLAIM")
        if "://" in self.jwks:
            problem = address_problem(self.jwks)
        else:
            problem = "" if Path(self.jwks).expanduser().is_file() else "is neither an address nor a file"
        if problem:
            raise InvalidInput(
                f"{shown(self.jwks)} {problem}",
                hint="SCRUBJAY_JWT_JWKS is https://…, http:// on this machine, or a file",
                setting="SCRUBJAY_JWT_JWKS",
            )


def trust_of(*, issuer: str, audience: str, jwks: str, spaces_claim: str) -> TrustedIssuer | None:
    """The issuer that the settings name; None when they name none, an error when they do so by half."""
    needed = {"SCRUBJAY_JWT_ISSUER": issuer, "SCRUBJAY_JWT_AUDIENCE": audience, "SCRUBJAY_JWT_JWKS": jwks}
    missing = [name for name, value in needed.items() if not value]
    if len(missing) == len(needed):
        return None
    if missing:
        raise InvalidInput(
            f"tokens of an issuer need {', '.join(needed)} together; not set: {', '.join(missing)}",
            hint="Set all three, or none",
            setting=missing[0],
        )
    return TrustedIssuer(issuer=issuer, audience=audience, jwks=jwks, spaces_claim=spaces_claim)


def address_problem(url: str) -> str:
    """Why keys are not fetched from an address; empty when they may be. Who alters them on the way lets himself in."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "is no address"
    if parts.scheme not in ("http", "https") or not host or port == 0:
        return "is no address of a web server"
    if parts.username is not None or parts.password is not None:
        return "holds a name or a password, which would end up in logs"
    if parts.scheme == "http" and not is_loopback(host):
        return "is not https, and not on this machine"
    return ""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def shown(place: str) -> str:
    """An address as logs and errors show it: without what may be secret in it."""
    try:
        parts = urlsplit(place)
    except ValueError:
        return "the address of the keys"
    if not parts.scheme or not parts.netloc:
        return place
    host = parts.netloc.rpartition("@")[2]
    return SplitResult(parts.scheme, host, parts.path, "", "").geturl()
