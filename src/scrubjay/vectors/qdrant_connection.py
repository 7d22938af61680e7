"""The way to a Qdrant server."""

import asyncio
from typing import Protocol

from qdrant_client import AsyncQdrantClient

from scrubjay.vectors.qdrant_address import QdrantPlace

# For what is asked without a limit of its own.
_LONGEST_SECONDS = 30


class QdrantConnection(Protocol):
    """The way to a server."""

    async def client(self) -> AsyncQdrantClient:
        """Who speaks to it, whether it answers or not."""
        ...

    async def close(self) -> None:
        """Hang up."""
        ...


class QdrantServerConnection:
    """A client that is made when it is first needed, and finds its server again by itself."""

    def __init__(self, place: QdrantPlace) -> None:
        self._place = place
        self._client: AsyncQdrantClient | None = None
        self._making = asyncio.Lock()

    async def client(self) -> AsyncQdrantClient:
        """The client. To make one takes a tenth of a second, for certificates: a thread does it."""
        async with self._making:
            if self._client is None:
                self._client = await asyncio.to_thread(self._made)
            return self._client

    async def close(self) -> None:
        """Close the client; the next use makes another."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _made(self) -> AsyncQdrantClient:
        if self._place.is_local:
            return AsyncQdrantClient(self._place.url)
        # As a header, because the client warns of a key without TLS, which is in order inside one machine.
        headers = {"api-key": self._place.key} if self._place.key else None
        return AsyncQdrantClient(
            url=self._place.url, headers=headers, timeout=_LONGEST_SECONDS, check_compatibility=False
        )
