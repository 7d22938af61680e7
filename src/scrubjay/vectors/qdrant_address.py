"""The address of a Qdrant server and the settings of its collection; without the client, which is slow to import."""

import importlib
from dataclasses import field
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass

if TYPE_CHECKING:
    from scrubjay.vectors.qdrant import QdrantIndex


LOCAL = ":memory:"


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantAddress:
    """A server or cluster, and the collection of all spaces. `shards`, `replicas` and `on_disk` apply at creation."""

    url: str
    collection: str = "scrubjay"
    key: str = field(default="", repr=False)
    shards: int = 1
    replicas: int = 1
    on_disk: bool = False

    @property
    def is_local(self) -> bool:
        """Whether it is the in-memory mode of the client, for experiments; it stores nothing."""
        return self.url == LOCAL

    @property
    def shown_url(self) -> str:
        """The address without its secrets."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()

    @property
    def write_consistency(self) -> int:
        """The number of replicas that must confirm a write: as many as remain when fewer than half of them fail."""
        return max(1, (self.replicas + 1) // 2)


def load_qdrant(address: QdrantAddress) -> "type[QdrantIndex]":
    """Import the index on Qdrant, which takes a second or two the first time; contacts no server.

    Raises InvalidInput for invalid settings, and without the extra.
    """
    _require_valid(address)
    try:
        module = importlib.import_module("scrubjay.vectors.qdrant")
    except ModuleNotFoundError as error:
        raise InvalidInput(
            "the package qdrant-client is not installed",
            hint="Install it with: pip install 'scrubjay[qdrant]'",
            setting="SCRUBJAY_QDRANT_URL",
        ) from error
    return cast("type[QdrantIndex]", module.QdrantIndex)


def _require_valid(address: QdrantAddress) -> None:
    parts = urlsplit(address.url)
    if not address.is_local and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise InvalidInput(
            "the address of Qdrant is not an HTTP URL",
            hint="SCRUBJAY_QDRANT_URL is like http://localhost:6333",
            setting="SCRUBJAY_QDRANT_URL",
        )
    if address.shards < 1 or address.replicas < 1:
        raise InvalidInput(
            "a collection on Qdrant needs at least one shard and one replica",
            hint="See SCRUBJAY_QDRANT_SHARDS and SCRUBJAY_QDRANT_REPLICAS",
            shards=address.shards,
            replicas=address.replicas,
        )
