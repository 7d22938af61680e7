"""Who may use HTTP; known before the first client comes, so that a daemon without a token for others does not start."""

import logging
import socket

from scrubjay.auth.authenticator import Authenticator, Verifier
from scrubjay.auth.issuer import TrustedIssuer, issuer_from_settings
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput
from scrubjay.model.caller import Caller
from scrubjay.model.requests import TokensRequest
from scrubjay.model.token import TokenState
from scrubjay.ports import RecordStore
from scrubjay.settings import Settings
from scrubjay.surfaces.http.address import LOOPBACK, SETTING

_log = logging.getLogger(__name__)


async def make_authenticator(
    engine: Engine, store: RecordStore, settings: Settings, listener: socket.socket
) -> Authenticator:
    """Return what admits the clients of a bound socket; raises InvalidInput if a token is needed and there is none."""
    host, names = listener.getsockname()[0], host_names(settings)
    issuer = issuer_from_settings(
        issuer=settings.jwt_issuer, audience=settings.jwt_audience, jwks=settings.jwt_jwks,
        spaces_claim=settings.jwt_spaces_claim,
    )  # fmt: skip
    # A client that uses another name of this server comes from elsewhere, for example through a proxy.
    is_local = host in LOOPBACK and not names
    if not is_local and issuer is None and not await _has_token(engine):
        raise InvalidInput(
            f"HTTP on {', '.join((host, *names))} needs a token, and there is none",
            hint="Create one with `scrubjay tokens create`, or serve on 127.0.0.1 without SCRUBJAY_HOSTS",
            setting=SETTING,
        )
    if not is_local:
        _log.warning("tokens cross the network in clear unless a proxy in front of the daemon provides TLS")
    return Authenticator(
        store,
        clock=engine.clock,
        requires_token=settings.require_token or not is_local,
        verifier=_verifier(issuer, engine),
    )


def host_names(settings: Settings) -> tuple[str, ...]:
    """Return the names of this server for other machines."""
    return tuple(name.strip() for name in settings.hosts.split(",") if name.strip())


def _verifier(issuer: TrustedIssuer | None, engine: Engine) -> Verifier | None:
    if issuer is None:
        return None
    # Loaded only for a trusted issuer.
    from scrubjay.auth.jwt import JwtVerifier  # noqa: PLC0415

    return JwtVerifier(issuer, clock=engine.clock)


async def _has_token(engine: Engine) -> bool:
    now = engine.clock.now()
    return any(token.state(now) is TokenState.LIVE for token in await engine.tokens(TokensRequest(), who=Caller()))
