"""The public keys of an issuer: fetched from a URL or a file, cached, and each valid for its own algorithms only."""

import asyncio
import json
import logging
import math
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import urljoin, urlsplit

import jwt

from scrubjay.auth.issuer import is_loopback, redact, url_problem
from scrubjay.errors import KeysUnavailable
from scrubjay.lazy import dataclass

if TYPE_CHECKING:
    import httpx2
    from jwt.algorithms import AllowedPublicKeys

_log = logging.getLogger(__name__)

_FRESH_SECONDS = 600.0
# The pause between two attempts: with keys in the cache, and without.
_PAUSE_SECONDS = 30.0
_SHORT_PAUSE_SECONDS = 5.0
# An unavailable issuer must not lock its users out; a withdrawn key must not work for ever.
_MAX_AGE_SECONDS = 86_400.0
_MAX_KEYS = 100
_MAX_KID = 1000
_MIN_RSA = 2048 // 8
_MAX_RSA = 8192 // 8
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
# The type of a key, its public members and its algorithms. Symmetric algorithms are missing on purpose: a server that
# could check such a signature could also make one.
_KEY_TYPES: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("RSA", ""): (("kty", "n", "e"), _RSA),
    ("EC", "P-256"): (("kty", "crv", "x", "y"), ("ES256",)),
    ("EC", "P-384"): (("kty", "crv", "x", "y"), ("ES384",)),
    ("EC", "P-521"): (("kty", "crv", "x", "y"), ("ES512",)),
    ("OKP", "Ed25519"): (("kty", "crv", "x"), ("EdDSA",)),
}
ALGORITHMS = frozenset(name for _, names in _KEY_TYPES.values() for name in names)

_FETCH_SECONDS = 5.0
_MAX_DOCUMENT = 1_000_000
_MAX_REDIRECTS = 3
_OK = 200
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """A public key, and the algorithms that its signatures may use."""

    kid: str
    algorithms: tuple[str, ...]
    material: "AllowedPublicKeys" = field(repr=False)


class KeysNotFetched(Exception):
    """The keys cannot be fetched now; the text says why."""


class KeySource(Protocol):
    """The place of an issuer's keys."""

    async def fetch(self) -> bytes:
        """Return the whole document; raises KeysNotFetched."""
        ...


class KeyRing:
    """An issuer's keys. Concurrent callers share one fetch."""

    def __init__(self, source: KeySource, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._monotonic = monotonic
        self._fetching = asyncio.Lock()
        self._keys: tuple[PublicKey, ...] = ()
        self._fetched_at = -math.inf
        self._tried_at = -math.inf
        self._has_failed = False

    async def find(self, kid: str | None, algorithm: str) -> PublicKey | None:
        """Return the key that a token names, if it fits the algorithm; raises KeysUnavailable.

        A token without a key id matches if exactly one key fits.
        """
        await self._refresh(max_age=_FRESH_SECONDS)
        if kid is not None and not any(key.kid == kid for key in self._keys):
            # It may be a new key. Callers can invent key ids, so not every unknown id causes a fetch.
            await self._refresh(max_age=_PAUSE_SECONDS)
            if self._has_failed and not any(key.kid == kid for key in self._keys):
                raise self._unavailable()
        fitting = [key for key in self._keys if algorithm in key.algorithms and kid in (None, key.kid)]
        return fitting[0] if len(fitting) == 1 else None

    async def _refresh(self, *, max_age: float) -> None:
        """Fetch the keys if they are older; if that fails, keep the cached ones unless they are too old."""
        if self._age(self._fetched_at) >= max_age:
            async with self._fetching:
                # Another caller may have fetched them, or failed, while this one waited for the lock.
                if self._age(self._fetched_at) >= max_age and not self._is_pausing:
                    await self._fetch()
        if self._age(self._fetched_at) >= _MAX_AGE_SECONDS:
            raise self._unavailable()

    async def _fetch(self) -> None:
        try:
            self._keys = parse_jwks(await self._source.fetch())
        except KeysNotFetched as error:
            self._has_failed = True
            _log.warning("the keys of the issuer cannot be fetched", extra={"fields": {"reason": str(error)}})
        else:
            self._has_failed = False
            self._fetched_at = self._monotonic()
        self._tried_at = self._monotonic()

    @property
    def _is_pausing(self) -> bool:
        """Whether a fetch failed just now: callers do not wait for another one so soon."""
        return self._has_failed and self._age(self._tried_at) < self._pause

    @property
    def _pause(self) -> float:
        return _PAUSE_SECONDS if self._keys else _SHORT_PAUSE_SECONDS

    def _age(self, moment: float) -> float:
        return self._monotonic() - moment

    def _unavailable(self) -> KeysUnavailable:
        wait = max(1, math.ceil(self._pause - self._age(self._tried_at)))
        return KeysUnavailable(
            "the keys to check this token are not available",
            hint=f"Try again in {wait} s; the server's log gives the reason",
            retry_after=wait,
        )


def parse_jwks(document: bytes) -> tuple[PublicKey, ...]:
    """Return the usable keys of a JWKS and skip the others; raises KeysNotFetched if it is not a JWKS."""
    try:
        jwks: object = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise KeysNotFetched("the document is not JSON") from error
    members = cast("Mapping[str, object]", jwks).get("keys") if isinstance(jwks, dict) else None
    if not isinstance(members, list):
        raise KeysNotFetched("the document is not a set of keys")
    entries = cast("list[object]", members)[:_MAX_KEYS]
    keys = [_parse_key(cast("Mapping[str, object]", entry)) for entry in entries if isinstance(entry, dict)]
    return tuple(key for key in keys if key is not None)


def source_of(place: str) -> KeySource:
    """Return the source for a URL or a file."""
    return WebSource(place) if "://" in place else FileSource(Path(place).expanduser())


class FileSource:
    """Keys in a file, which may be replaced while the server runs."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def fetch(self) -> bytes:
        """Return the current content of the file."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                document = file.read(_MAX_DOCUMENT + 1)
        except OSError as error:
            raise KeysNotFetched(f"{self._path}: {error.strerror}") from error
        _require_size(len(document))
        return document


class WebSource:
    """Keys at a URL."""

    def __init__(self, url: str, *, seconds: float = _FETCH_SECONDS) -> None:
        self._url = url
        self._seconds = seconds

    async def fetch(self) -> bytes:
        """Return the server's document; all redirects together have a few seconds."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._follow(self._url)
        except TimeoutError as error:
            raise KeysNotFetched(f"{redact(self._url)} did not answer within {self._seconds:g} s") from error

    async def _follow(self, url: str) -> bytes:
        for _ in range(_MAX_REDIRECTS + 1):
            response = await _get(url)
            if isinstance(response, bytes):
                return response
            target = urljoin(url, response)
            # Not even from https to a server on this machine: it need not belong to the issuer.
            if url_problem(target) or urlsplit(target).scheme != urlsplit(url).scheme:
                raise KeysNotFetched(f"{redact(url)} redirects to a URL that keys are not fetched from")
            url = target
        raise KeysNotFetched(f"{redact(self._url)} redirects too often")


async def _get(url: str) -> bytes | str:
    """Return the body of a response, or the target of a redirect."""
    # Loaded only with an issuer, and in a thread: the package and the certificates take a while.
    client = await asyncio.to_thread(_make_client, url)
    import httpx2  # noqa: PLC0415 - loaded by now

    try:
        async with client, client.stream("GET", url) as response:
            if response.status_code in _REDIRECTS and "location" in response.headers:
                return response.headers["location"]
            if response.status_code != _OK:
                raise KeysNotFetched(f"{redact(url)} answered with status {response.status_code}")
            body = bytearray()
            # The raw bytes: a compressed body could have any size once it is unpacked.
            async for chunk in response.aiter_raw():
                body += chunk
                _require_size(len(body))
            return bytes(body)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise KeysNotFetched(f"{redact(url)} cannot be reached ({str(error) or type(error).__name__})") from error


def _make_client(url: str) -> "httpx2.AsyncClient":
    import httpx2  # noqa: PLC0415

    headers = {"accept": "application/json", "accept-encoding": "identity"}
    # A proxy cannot reach this machine.
    proxied = not is_loopback(urlsplit(url).hostname or "")
    return httpx2.AsyncClient(headers=headers, timeout=_FETCH_SECONDS, follow_redirects=False, trust_env=proxied)


def _require_size(size: int) -> None:
    if size > _MAX_DOCUMENT:
        raise KeysNotFetched(f"the document has more than {_MAX_DOCUMENT:,} bytes, which is too much for keys")


def _parse_key(entry: Mapping[str, object]) -> PublicKey | None:
    kind, curve, kid, required = (entry.get(name, "") for name in ("kty", "crv", "kid", "alg"))
    if not (isinstance(kind, str) and isinstance(curve, str) and isinstance(kid, str) and len(kid) <= _MAX_KID):
        return None
    names, supported = _KEY_TYPES.get((kind, curve), ((), ()))
    algorithms = tuple(name for name in supported if required in ("", name))
    if not algorithms or not _is_for_signatures(entry) or not all(isinstance(entry.get(name), str) for name in names):
        return None
    if "n" in names and not _MIN_RSA <= _byte_length(str(entry["n"])) <= _MAX_RSA:
        return None
    try:
        # Only the public members, in case an issuer publishes more.
        public = jwt.PyJWK({name: entry[name] for name in names}, algorithm=algorithms[0])
    except (jwt.PyJWTError, ValueError):
        return None
    return PublicKey(kid=kid, algorithms=algorithms, material=cast("AllowedPublicKeys", public.key))


def _is_for_signatures(entry: Mapping[str, object]) -> bool:
    operations = entry.get("key_ops")
    may_verify = operations is None or (isinstance(operations, list) and "verify" in operations)
    return entry.get("use") in (None, "sig") and may_verify


def _byte_length(number: str) -> int:
    """Return the number of bytes of a base64url number."""
    try:
        return len(urlsafe_b64decode(number + "=" * (-len(number) % 4)).lstrip(b"\0"))
    except ValueError:
        return 0
