"""Where a Qdrant server is, and how its collection is laid out; without the client, which is slow to import."""

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from scrubjay.errors import InvalidInput

if TYPE_CHECKING:
    from scrubjay.vectors.qdrant import QdrantIndex


LOCAL = ":memory:"


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantPlace:
    """A server or cluster, and the one collection of all spaces. `shards` and the rest count when it is made."""

    url: str
    collection: str = "scrubjay"
    key: str = field(default="", repr=False)
    shards: int = 1
    replicas: int = 1
    on_disk: bool = False

    @property
    def is_local(self) -> bool:
        """Whether it is the client's own stand-in inside this process, to try things out; it keeps nothing."""
        return self.url == LOCAL

    @property
    def shown_url(self) -> str:
        """The address without what may be secret in it."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()

    @property
    def write_consistency(self) -> int:
        """How many replicas must have taken a write: as many as are left when fewer than half of them fail."""
        return max(1, (self.replicas + 1) // 2)


def load_qdrant(place: QdrantPlace) -> "type[QdrantIndex]":
    """The kind of index that can be `at` this place. Takes a second or two the first time; asks nobody anything.

    Raises InvalidInput for settings that cannot be, and without the extra.
    """
    _require_sound(place)
    try:
        module = importlib.import_module("scrubjay.vectors.qdrant")
    except ModuleNotFoundError as error:
        raise InvalidInput(
            "the package qdrant-client is not installed",
            hint="Install it with: pip install 'scrubjay[qdrant]'",
            setting="SCRUBJAY_QDRANT_URL",
        ) from error
    return cast("type[QdrantIndex]", module.QdrantIndex)


def _require_sound(place: QdrantPlace) -> None:
    parts = urlsplit(place.url)
    if not place.is_local and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise InvalidInput(
            "the address of Qdrant is not that of an HTTP server",
            hint="SCRUBJAY_QDRANT_URL is like http://localhost:6333",
            setting="SCRUBJAY_QDRANT_URL",
        )
    if place.shards < 1 or place.replicas < 1:
        raise InvalidInput(
            "a collection of Qdrant has one shard and one replica at least",
            hint="See SCRUBJAY_QDRANT_SHARDS and SCRUBJAY_QDRANT_REPLICAS",
            shards=place.shards,
            replicas=place.replicas,
        )
