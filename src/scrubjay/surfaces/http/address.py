"""The address of the HTTP server, which a daemon binds before it loads the server itself."""

import errno
import logging
import socket
from contextlib import suppress

from scrubjay.errors import InvalidInput

_log = logging.getLogger(__name__)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MAX_PORT = 65535
# The system closes a connection whose client reads nothing for this long.
_UNREAD_MILLISECONDS = 30_000
SETTING = "SCRUBJAY_HTTP"
ALL_INTERFACES = ("0.0.0.0", "::")  # noqa: S104 - only compared


def bind_http(http: str, *, required: bool) -> socket.socket | None:
    """Bind the socket for HTTP, before anything is opened, so that an error about the port comes first.

    An address that the user named is required; the default one may be in use by another daemon.
    """
    host, port = _split(http)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol, because asyncio disables Nagle's algorithm only for sockets that it recognizes as TCP; else a
    # response in two parts waits 40 ms for a delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with suppress(AttributeError, OSError):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MILLISECONDS)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        if not required and error.errno == errno.EADDRINUSE:
            _log.warning("the HTTP port is in use; serving the socket only", extra={"fields": {"http": http}})
            return None
        raise InvalidInput(
            f"HTTP cannot be served on {http}: {error.strerror}",
            hint="Choose another port with --http 127.0.0.1:PORT, or none with --http off",
            setting=SETTING,
        ) from error
    return listener


def http_address(listener: socket.socket) -> str:
    """Return the URL of a bound socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def http_addresses(http: str) -> dict[str, str]:
    """Return the address of each interface at a URL, which is that of the dashboard."""
    return {
        "address": http, "mcp": f"{http}/mcp", "rest": f"{http}/api/v1", "docs": f"{http}/docs",
        "metrics": f"{http}/metrics",
    }  # fmt: skip


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > _MAX_PORT:
        raise InvalidInput(f"{address!r} is not an address", hint="For example --http 127.0.0.1:7272", setting=SETTING)
    return (host.strip("[]") or LOOPBACK[0]), int(port)
