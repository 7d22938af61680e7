"""Qdrant for tests: the in-memory mode of the client, and a real server if one is configured."""

import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from qdrant_client import AsyncQdrantClient

from scrubjay.model.identity import new_id
from scrubjay.vectors.qdrant import QdrantIndex
from scrubjay.vectors.qdrant_address import QdrantAddress
from scrubjay.vectors.qdrant_codec import ModelNamespace
from scrubjay.vectors.qdrant_collection import QdrantTuning
from tests.fakes.build import DIMENSION, MODEL

URL = os.environ.get("SCRUBJAY_TEST_QDRANT_URL", "")
QDRANT_BACKENDS = ("local", "server") if URL else ("local",)


@dataclass(kw_only=True)
class QdrantBackend:
    """A collection of its own, which may not exist yet, and a connection that tests can break."""

    server: AsyncQdrantClient
    tuning: QdrantTuning | None
    address: QdrantAddress
    unreachable: AsyncQdrantClient | None = None

    def index(self, *, store_id: str = "s", model: str = MODEL, dimension: int = DIMENSION) -> QdrantIndex:
        """Return an index in the collection, in any state."""
        namespace = ModelNamespace(model=model, dimension=dimension)
        return QdrantIndex(self, self.address, store_id=store_id, namespace=namespace, tuning=self.tuning)

    async def complete_index(
        self, *, store_id: str = "s", model: str = MODEL, dimension: int = DIMENSION
    ) -> QdrantIndex:
        """Create an empty, complete index."""
        index = self.index(store_id=store_id, model=model, dimension=dimension)
        await index.begin_build(keep=False)
        await index.finish_build(cursor=0)
        return index

    async def client(self) -> AsyncQdrantClient:
        """Return a client of the server, or of an address where no server listens."""
        return self.unreachable or self.server

    async def close(self) -> None:
        """Do nothing: other indexes share the connection."""

    def disconnect(self) -> None:
        """Make the server unreachable."""
        self.unreachable = AsyncQdrantClient(url=refused_url(), timeout=2, check_compatibility=False)

    def reconnect(self) -> None:
        """Make the server reachable again."""
        self.unreachable = None


@asynccontextmanager
async def qdrant_backend(kind: str) -> AsyncGenerator[QdrantBackend]:
    """Provide a collection, and delete it at the end."""
    is_local = kind == "local"
    server = (
        AsyncQdrantClient(":memory:") if is_local else AsyncQdrantClient(url=URL, timeout=10, check_compatibility=False)
    )
    address = QdrantAddress(url="http://localhost:6333" if is_local else URL, collection=f"test-{new_id()}")
    try:
        yield QdrantBackend(server=server, tuning=None if is_local else QdrantTuning(), address=address)
    finally:
        await server.delete_collection(address.collection)
        await server.close()


def refused_url() -> str:
    """Return an address of this machine where no server listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
