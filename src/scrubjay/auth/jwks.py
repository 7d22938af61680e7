"""The keys of an issuer: fetched when needed, kept for a while, and each good for its own kind of signature only."""

import asyncio
import json
import logging
import math
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import jwt

from scrubjay.auth.key_source import CannotFetch, Source
from scrubjay.errors import KeysUnavailable

if TYPE_CHECKING:
    from jwt.algorithms import AllowedPublicKeys

_log = logging.getLogger(__name__)

_FRESH_SECONDS = 600.0
# Between two attempts: with keys at hand, and with none.
_PAUSE_SECONDS = 30.0
_SHORT_PAUSE_SECONDS = 5.0
# An issuer that is away must not lock everybody out; a key that it has withdrawn must not work for ever.
_LONGEST_SECONDS = 86_400.0
_MOST_KEYS = 100
_LONGEST_KID = 1000
_SMALLEST_RSA = 2048 // 8
_LARGEST_RSA = 8192 // 8
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
# What a key is, what of it is public, and the signatures it is good for. There are no secrets shared with an issuer
# here: whoever could check such a signature could make one.
_KINDS: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("RSA", ""): (("kty", "n", "e"), _RSA),
    ("EC", "P-256"): (("kty", "crv", "x", "y"), ("ES256",)),
    ("EC", "P-384"): (("kty", "crv", "x", "y"), ("ES384",)),
    ("EC", "P-521"): (("kty", "crv", "x", "y"), ("ES512",)),
    ("OKP", "Ed25519"): (("kty", "crv", "x"), ("EdDSA",)),
}
ALGORITHMS = frozenset(name for _, names in _KINDS.values() for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A public key, and the algorithms that its signatures may be made by."""

    kid: str
    algorithms: tuple[str, ...]
    material: "AllowedPublicKeys" = field(repr=False)


class KeyRing:
    """An issuer's keys. Callers who need them fetched share one fetch."""

    def __init__(self, source: Source, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._monotonic = monotonic
        self._fetching = asyncio.Lock()
        self._keys: tuple[Key, ...] = ()
        self._fetched_at = -math.inf
        self._tried_at = -math.inf
        self._is_away = False

    async def find(self, kid: str | None, algorithm: str) -> Key | None:
        """The key that a token says it was signed with, if it fits the algorithm; raises KeysUnavailable.

        A token that names none is taken if there is only one that it can mean.
        """
        await self._refresh(older_than=_FRESH_SECONDS)
        if kid is not None and not any(key.kid == kid for key in self._keys):
            # Perhaps a new one. Anybody can ask for keys that do not exist, so this is not done for each.
            await self._refresh(older_than=_PAUSE_SECONDS)
            if self._is_away and not any(key.kid == kid for key in self._keys):
                raise self._unavailable()
        fitting = [key for key in self._keys if algorithm in key.algorithms and kid in (None, key.kid)]
        return fitting[0] if len(fitting) == 1 else None

    async def _refresh(self, *, older_than: float) -> None:
        """Fetch the keys if they are older; go on with those there are if that fails and they are not too old."""
        if self._age(self._fetched_at) >= older_than:
            async with self._fetching:
                # Somebody else may have fetched them, or tried in vain, while we waited.
                if self._age(self._fetched_at) >= older_than and not self._is_resting:
                    await self._fetch()
        if self._age(self._fetched_at) >= _LONGEST_SECONDS:
            raise self._unavailable()

    async def _fetch(self) -> None:
        try:
            self._keys = keys_in(await self._source.fetch())
        except CannotFetch as error:
            self._is_away = True
            _log.warning("the keys of the issuer cannot be had", extra={"fields": {"reason": str(error)}})
        else:
            self._is_away = False
            self._fetched_at = self._monotonic()
        self._tried_at = self._monotonic()

    @property
    def _is_resting(self) -> bool:
        """Whether the issuer was asked in vain just now: nobody is kept waiting for it again so soon."""
        return self._is_away and self._age(self._tried_at) < self._pause

    @property
    def _pause(self) -> float:
        return _PAUSE_SECONDS if self._keys else _SHORT_PAUSE_SECONDS

    def _age(self, moment: float) -> float:
        return self._monotonic() - moment

    def _unavailable(self) -> KeysUnavailable:
        wait = max(1, math.ceil(self._pause - self._age(self._tried_at)))
        return KeysUnavailable(
            "the keys that this token would be checked with cannot be had",
            hint=f"Try again in {wait} s; the server's log says what is wrong",
            retry_after=wait,
        )


def keys_in(document: bytes) -> tuple[Key, ...]:
    """The usable keys of a JWKS; others are passed over. Raises CannotFetch for what is no JWKS at all."""
    try:
        found: object = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise CannotFetch("what came is not JSON") from error
    listed = cast("Mapping[str, object]", found).get("keys") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise CannotFetch("what came is no set of keys")
    entries = cast("list[object]", listed)[:_MOST_KEYS]
    keys = [_key(cast("Mapping[str, object]", entry)) for entry in entries if isinstance(entry, dict)]
    return tuple(key for key in keys if key is not None)


def _key(entry: Mapping[str, object]) -> Key | None:
    kind, curve, kid, meant = (entry.get(name, "") for name in ("kty", "crv", "kid", "alg"))
    if not (isinstance(kind, str) and isinstance(curve, str) and isinstance(kid, str) and len(kid) <= _LONGEST_KID):
        return None
    names, algorithms = _KINDS.get((kind, curve), ((), ()))
    chosen = tuple(name for name in algorithms if meant in ("", name))
    if not chosen or not _is_for_signatures(entry) or not all(isinstance(entry.get(name), str) for name in names):
        return None
    if "n" in names and not _SMALLEST_RSA <= _size(str(entry["n"])) <= _LARGEST_RSA:
        return None
    try:
        # The public parts alone, in case an issuer shows more.
        public = jwt.PyJWK({name: entry[name] for name in names}, algorithm=chosen[0])
    except (jwt.PyJWTError, ValueError):
        return None
    return Key(kid=kid, algorithms=chosen, material=cast("AllowedPublicKeys", public.key))


def _is_for_signatures(entry: Mapping[str, object]) -> bool:
    operations = entry.get("key_ops")
    may_verify = operations is None or (isinstance(operations, list) and "verify" in operations)
    return entry.get("use") in (None, "sig") and may_verify


def _size(number: str) -> int:
    """How many bytes a number has that is written as base64url."""
    try:
        return len(urlsafe_b64decode(number + "=" * (-len(number) % 4)).lstrip(b"\0"))
    except ValueError:
        return 0
