"""Keeps web pages out: a page may make a browser send requests to this machine, but not under our own name."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from scrubjay.errors import NotAllowed, codes_of
from scrubjay.remote.shapes import plain_error

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Guard:
    """Refuses requests whose Host or Origin is not this server, on every route."""

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str], port: int) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] in ("http", "websocket") and (error := self._objection(Headers(scope=scope))) is not None:
            refusal = JSONResponse({"error": plain_error(error)}, status_code=codes_of(error).http)
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _objection(self, headers: Headers) -> NotAllowed | None:
        host = headers.get("host", "")
        if _name(f"//{host}") not in self._hosts:
            return NotAllowed(
                f"this server is not {host[:100]!r}",
                hint=f"Ask for it as {', '.join(sorted(self._hosts))}",
                header="Host",
            )
        for origin in headers.getlist("origin"):
            if self._is_own(origin):
                continue
            return NotAllowed(
                f"pages of {origin[:100]!r} may not use this server",
                hint="Call it from a program, or from a page that it serves itself",
                header="Origin",
            )
        return None

    def _is_own(self, origin: str) -> bool:
        """Whether a page comes from here; another server on this machine is not us."""
        try:
            address = urlsplit(origin)
            port = address.port
        except ValueError:
            return False
        return address.hostname in self._hosts and port == self._port


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
