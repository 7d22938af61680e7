"""The limits of the HTTP server; a daemon needs them before it loads the server itself."""

import sys

from scrubjay.lazy import dataclass

BACKLOG = 2048
"""Connections that wait until the server accepts them."""
ACCEPTED_AT_ONCE = 32
"""Connections that the event loop accepts before it looks at them: they have descriptors and are not counted yet."""
_MAX_CONNECTIONS = 4096
# Descriptors for the store, the files, the clients on the socket, and connections that are accepted but not counted.
_RESERVED_DESCRIPTORS = 384
_WANTED_DESCRIPTORS = 2 * _MAX_CONNECTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """How long the server waits for clients, how large a request's head may be, and how many clients may connect."""

    head_seconds: float = 20.0
    head_bytes: int = 64 * 1024
    keep_alive_seconds: int = 30
    ping_seconds: float = 20.0
    close_seconds: int = 5
    connections: int = _MAX_CONNECTIONS


def allowed_connections() -> int:
    """Raise this process's limit of open files, and return how many connections leave enough of them for the rest."""
    if sys.platform == "win32":
        return _MAX_CONNECTIONS
    import resource  # noqa: PLC0415 - not available on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # `RLIM_INFINITY` is negative on some systems.
    limit = _WANTED_DESCRIPTORS if hard < 0 else min(hard, _WANTED_DESCRIPTORS)
    if 0 <= soft < limit:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        except (OSError, ValueError):
            limit = soft
    return min(_MAX_CONNECTIONS, max(limit // 4, limit - _RESERVED_DESCRIPTORS))
