"""The HTTP side of the daemon: where it listens, who is let in, and what is served there."""

import errno
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from starlette.types import ASGIApp

from scrubjay.auth.authenticator import Authenticator, Verifier
from scrubjay.auth.issuer import TrustedIssuer, issuer_from_settings
from scrubjay.auth.rate_limit import RateLimiter
from scrubjay.auth.rate_limit_shared import SharedRateLimiter
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput
from scrubjay.model.token import TokenState
from scrubjay.observability.prometheus import Metrics
from scrubjay.ports.cluster import ClusterStore
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.http_app import web_app
from scrubjay.surfaces.daemon.lazy import made_beside, opened_beside
from scrubjay.surfaces.daemon.logs import access
from scrubjay.surfaces.daemon.mcp_sessions import McpSessions, load_protocol
from scrubjay.surfaces.daemon.rpc_dispatch import Counter
from scrubjay.surfaces.http.auth_middleware import LOOPBACK, OriginCheck, RequestPolicy, RequestRecord
from scrubjay.surfaces.http.body import BodyReader
from scrubjay.surfaces.http.server import ConnectionLimits, RunningServer, serve_http

_log = logging.getLogger(__name__)
_LARGEST_PORT = 65535
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - what it is compared with
# Whoever takes nothing of what it is sent for so long is cut off by the system itself.
_UNREAD_MILLISECONDS = 30_000
_SETTING = "SCRUBJAY_HTTP"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServer:
    """All that is served over HTTP."""

    counter: Counter
    agents: McpSessions
    metrics: Metrics
    settings: Settings
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    heartbeat_seconds: float = 15.0
    send_seconds: float = 10.0

    @asynccontextmanager
    async def open(self, web: socket.socket) -> AsyncGenerator[RunningServer]:
        """Serve on a bound socket."""
        host, port = web.getsockname()[:2]
        authenticator = await self._authenticator(host)
        async with (
            # The quicker one first.
            made_beside(lambda: self._rest(authenticator)) as rest,
            opened_beside(load_protocol, lambda: self.agents.site(authenticator.is_valid)) as agents,
        ):
            app = web_app(self.counter, policy=self._policy(authenticator, host, port), rest=rest, agents=agents)
            async with serve_http(app, web, limits=self.limits) as served:
                self.metrics.clients("http", lambda: served.connections)
                _log.info("listening", extra={"fields": {"http": address_of(web)}})
                yield served

    def _rest(self, authenticator: Authenticator) -> ASGIApp:
        # A third of a second that the socket need not wait for.
        from scrubjay.surfaces.rest.app import make_rest_app  # noqa: PLC0415
        from scrubjay.surfaces.rest.deps import RestDependencies  # noqa: PLC0415

        dependencies = RestDependencies(
            engine=self.counter.engine, notes=self.counter.notes, gate=self.counter.gate, changes=self.agents.changes,
            authenticator=authenticator, metrics=self.metrics, space=self.settings.space,
            heartbeat_seconds=self.heartbeat_seconds, send_seconds=self.send_seconds,
        )  # fmt: skip
        return make_rest_app(dependencies)

    async def _authenticator(self, host: str) -> Authenticator:
        chosen, engine = self.settings, self.counter.engine
        trust = issuer_from_settings(
            issuer=chosen.jwt_issuer, audience=chosen.jwt_audience, jwks=chosen.jwt_jwks,
            spaces_claim=chosen.jwt_spaces_claim,
        )  # fmt: skip
        # Whoever has another name for this server comes from elsewhere, through a proxy for example.
        is_here = host in LOOPBACK and not self._names
        if not is_here and trust is None and not await _has_token(engine):
            raise InvalidInput(
                f"HTTP on {', '.join((host, *self._names))} needs a token, and there is none",
                hint="Make one with `scrubjay tokens create`, or serve on 127.0.0.1 without SCRUBJAY_HOSTS",
                setting=_SETTING,
            )
        if not is_here:
            _log.warning("tokens cross the network in clear unless something before us speaks TLS")
        must = chosen.require_token or not is_here
        return Authenticator(engine.store, clock=engine.clock, requires_token=must, verifier=_verifier(trust, engine))

    @property
    def _names(self) -> tuple[str, ...]:
        """What others call this server."""
        return tuple(name.strip() for name in self.settings.hosts.split(",") if name.strip())

    def _policy(self, authenticator: Authenticator, host: str, port: int) -> RequestPolicy:
        chosen = self.settings
        hosts = (*LOOPBACK, *self._names, *(() if host in _EVERYWHERE else (host,)))
        return RequestPolicy(
            origin_check=OriginCheck(hosts=hosts, port=port, any_address=host in _EVERYWHERE),
            authenticator=authenticator,
            rate_limiter=self._rates,
            body_reader=BodyReader(seconds=chosen.operation_seconds),
            body_bytes=chosen.max_body_bytes,
            record=self._record,
        )

    @property
    def _rates(self) -> RateLimiter | SharedRateLimiter:
        store, per_minute = self.counter.engine.store, self.settings.requests_per_minute
        return SharedRateLimiter(store, per_minute) if isinstance(store, ClusterStore) else RateLimiter(per_minute)

    def _record(self, record: RequestRecord) -> None:
        self.metrics.http(route=record.route, method=record.method, status=record.status, seconds=record.seconds)
        access(
            method=record.method, route=record.route, status=record.status, seconds=record.seconds, token=record.token
        )


def _verifier(trust: TrustedIssuer | None, engine: Engine) -> Verifier | None:
    if trust is None:
        return None
    # Who trusts no issuer need not wait for it to load.
    from scrubjay.auth.jwt import JwtVerifier  # noqa: PLC0415

    return JwtVerifier(trust, clock=engine.clock)


async def _has_token(engine: Engine) -> bool:
    now = engine.clock.now()
    return any(token.state(now) is TokenState.LIVE for token in await engine.tokens())


def web_socket(http: str, *, must: bool) -> socket.socket | None:
    """The socket for HTTP, bound early so that a taken port is told before anything is opened.

    An address that was asked for must be had; the default one may be taken by another daemon.
    """
    host, port = _split(http)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named: asyncio sends small answers at once only where it can see that this is TCP, and else an
    # answer in two pieces waits 40 ms for the other side's kernel.
    web = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    web.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with suppress(AttributeError, OSError):
        web.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MILLISECONDS)
    try:
        web.bind((host, port))
    except OSError as error:
        web.close()
        if not must and error.errno == errno.EADDRINUSE:
            _log.warning("the HTTP port is taken; serving the socket only", extra={"fields": {"http": http}})
            return None
        raise InvalidInput(
            f"HTTP cannot be served on {http}: {error.strerror}",
            hint="Choose another port with --http 127.0.0.1:PORT, or none with --http off",
            setting=_SETTING,
        ) from error
    return web


def address_of(web: socket.socket) -> str:
    """What to type to get there."""
    host, port = web.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > _LARGEST_PORT:
        raise InvalidInput(f"{address!r} is no address", hint="For example --http 127.0.0.1:7272", setting=_SETTING)
    return (host.strip("[]") or LOOPBACK[0]), int(port)
