"""Where tests find a Qdrant: the client's own stand-in, and a real server too when there is one."""

import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from qdrant_client import AsyncQdrantClient

from scrubjay.model.identity import new_id
from scrubjay.vectors.qdrant import QdrantIndex
from scrubjay.vectors.qdrant_address import QdrantPlace
from scrubjay.vectors.qdrant_codec import Series
from scrubjay.vectors.qdrant_layout import ServerTuning
from tests.fakes.build import DIMENSION, MODEL

URL = os.environ.get("SCRUBJAY_TEST_QDRANT_URL", "")
GROUNDS = ("local", "server") if URL else ("local",)


@dataclass(kw_only=True)
class Ground:
    """A collection of its own, which may not be there yet. Those who share it can be cut off from its server."""

    server: AsyncQdrantClient
    tuning: ServerTuning | None
    place: QdrantPlace
    nowhere: AsyncQdrantClient | None = None

    def index(self, *, store_id: str = "s", model: str = MODEL, dimension: int = DIMENSION) -> QdrantIndex:
        """An index there."""
        series = Series(model=model, dimension=dimension)
        return QdrantIndex(self, self.place, store_id=store_id, series=series, tuning=self.tuning)

    async def whole_index(self, *, store_id: str = "s", model: str = MODEL, dimension: int = DIMENSION) -> QdrantIndex:
        """An empty index that is whole."""
        index = self.index(store_id=store_id, model=model, dimension=dimension)
        await index.begin(keep=False)
        await index.finish(cursor=0)
        return index

    async def client(self) -> AsyncQdrantClient:
        """The way to the server, or to where nobody listens."""
        return self.nowhere or self.server

    async def close(self) -> None:
        """Others may be using it."""

    def cut(self) -> None:
        """Have nobody answer."""
        self.nowhere = AsyncQdrantClient(url=refused_url(), timeout=2, check_compatibility=False)

    def mend(self) -> None:
        """Have the server answer again."""
        self.nowhere = None


@asynccontextmanager
async def a_ground(kind: str) -> AsyncGenerator[Ground]:
    """A place to keep an index in; nothing stays of it."""
    is_local = kind == "local"
    server = (
        AsyncQdrantClient(":memory:") if is_local else AsyncQdrantClient(url=URL, timeout=10, check_compatibility=False)
    )
    place = QdrantPlace(url="http://localhost:6333" if is_local else URL, collection=f"test-{new_id()}")
    try:
        yield Ground(server=server, tuning=None if is_local else ServerTuning(), place=place)
    finally:
        await server.delete_collection(place.collection)
        await server.close()


def refused_url() -> str:
    """An address of this machine where nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
