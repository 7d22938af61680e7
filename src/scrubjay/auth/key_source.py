"""Getting an issuer's keys, from an address or a file: never for long, and never more than keys can be."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urljoin, urlsplit

from scrubjay.auth.issuer import address_problem, is_loopback, shown

if TYPE_CHECKING:
    import httpx2

_SECONDS = 5.0
_LARGEST = 1_000_000
_MOST_HOPS = 3
_OK = 200
_MOVED = frozenset({301, 302, 303, 307, 308})


class CannotFetch(Exception):
    """The keys cannot be had now; the text says why."""


class Source(Protocol):
    """Where keys come from."""

    async def fetch(self) -> bytes:
        """The whole document; raises CannotFetch."""
        ...


def source_of(place: str) -> Source:
    """The source at an address or in a file."""
    return WebSource(place) if "://" in place else FileSource(Path(place).expanduser())


class FileSource:
    """Keys in a file, which may be replaced while we run."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def fetch(self) -> bytes:
        """What is in the file now."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                found = file.read(_LARGEST + 1)
        except OSError as error:
            raise CannotFetch(f"{self._path}: {error.strerror}") from error
        _require_fit(len(found))
        return found


class WebSource:
    """Keys behind an address."""

    def __init__(self, url: str, *, seconds: float = _SECONDS) -> None:
        self._url = url
        self._seconds = seconds

    async def fetch(self) -> bytes:
        """What the server answers, all in all within a few seconds."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._follow(self._url)
        except TimeoutError as error:
            raise CannotFetch(f"{shown(self._url)} did not answer within {self._seconds:g} s") from error

    async def _follow(self, url: str) -> bytes:
        for _ in range(_MOST_HOPS + 1):
            found = await _get(url)
            if isinstance(found, bytes):
                return found
            target = urljoin(url, found)
            # Also from https to a server on this machine: who answers there need not be who was asked.
            if address_problem(target) or urlsplit(target).scheme != urlsplit(url).scheme:
                raise CannotFetch(f"{shown(url)} leads on to an address that keys are not taken from")
            url = target
        raise CannotFetch(f"{shown(self._url)} leads on and on")


async def _get(url: str) -> bytes | str:
    """The body of an answer, or where it says to go instead."""
    # Loaded by those who have an issuer. In a thread: the package and the certificates take a while.
    client = await asyncio.to_thread(_client, url)
    import httpx2  # noqa: PLC0415 - loaded by now

    try:
        async with client, client.stream("GET", url) as response:
            if response.status_code in _MOVED and "location" in response.headers:
                return response.headers["location"]
            if response.status_code != _OK:
                raise CannotFetch(f"{shown(url)} answered with status {response.status_code}")
            found = bytearray()
            # As they come: what is packed could be of any size once it is unpacked.
            async for chunk in response.aiter_raw():
                found += chunk
                _require_fit(len(found))
            return bytes(found)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise CannotFetch(f"{shown(url)} cannot be reached ({str(error) or type(error).__name__})") from error


def _client(url: str) -> "httpx2.AsyncClient":
    import httpx2  # noqa: PLC0415

    headers = {"accept": "application/json", "accept-encoding": "identity"}
    # No proxy leads to this machine.
    proxied = not is_loopback(urlsplit(url).hostname or "")
    return httpx2.AsyncClient(headers=headers, timeout=_SECONDS, follow_redirects=False, trust_env=proxied)


def _require_fit(size: int) -> None:
    if size > _LARGEST:
        raise CannotFetch(f"more than {_LARGEST:,} bytes are no set of keys")
