"""The client of the current HTTP request."""

import asyncio
import sys
from contextvars import ContextVar

caller_gone: ContextVar["asyncio.Future[None] | None"] = ContextVar("caller_gone", default=None)
"""Is done once the client of the current HTTP request has disconnected."""


def disconnect() -> Exception:
    """Return the error of a request whose client is gone."""
    from starlette.requests import ClientDisconnect  # noqa: PLC0415 - the request has loaded it

    return ClientDisconnect()


def is_disconnect(error: Exception) -> bool:
    """Return whether the client of a request is gone."""
    # Without a request by HTTP, the package is not loaded, and need not be.
    return "starlette.requests" in sys.modules and isinstance(error, type(disconnect()))
