"""Keeps web pages out: a page may make a browser send requests to this machine, but not under our own name."""

import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from scrubjay.errors import NotAllowed

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{0,5})?")


class OriginCheck:
    """Refuses requests whose Host or Origin is not this server, on every route.

    `numbers`: it listens everywhere, so any address in numbers may be its own; names, which somebody else's name
    server can point here, must be among the known ones.
    """

    def __init__(self, *, hosts: Sequence[str], port: int, numbers: bool = False) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._port = port
        self._numbers = numbers

    def check(self, headers: Headers) -> None:
        """Raises NotAllowed for a request that was not meant for us."""
        host = ", ".join(headers.getlist("host"))
        name = _name(host)
        if not self._is_ours(name):
            raise NotAllowed(
                f"this server is not {host[:100]!r}",
                hint=f"Ask for it as {', '.join(sorted(self._hosts))}, or add the name to SCRUBJAY_HOSTS",
                header="Host",
            )
        for origin in headers.getlist("origin"):
            if not self._is_own(origin, name):
                raise NotAllowed(
                    f"pages of {origin[:100]!r} may not use this server",
                    hint="Call it from a program, or from a page that it serves itself",
                    header="Origin",
                )

    def _is_ours(self, name: str | None) -> bool:
        return name is not None and (name in self._hosts or (self._numbers and _is_number(name)))

    def _is_own(self, origin: str, name: str | None) -> bool:
        """Whether a page comes from here; another server on this machine is not us."""
        try:
            address = urlsplit(origin)
            port = address.port
        except ValueError:
            return False
        if address.hostname in LOOPBACK:
            return address.hostname in self._hosts and port == self._port
        # Behind a proxy we are known by another port. A number may be anybody's, unless we were asked for by it.
        return address.hostname is not None and (address.hostname in self._hosts or address.hostname == name)


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _name(host: str) -> str | None:
    """The name in a Host header, which has a port at most beside it."""
    results = _HOST.fullmatch(host)
    return results["name"].strip("[]").lower() if results else None
