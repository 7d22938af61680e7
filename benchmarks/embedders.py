"""Wrappers of the product's embedder: one measures time, one caches vectors."""

import time
from collections.abc import MutableMapping, Sequence

from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Embedder, Profile


class TimedEmbedder:
    """Measures the time that callers wait for vectors, and keeps the vectors of questions."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._spent = 0.0
        self.query_vectors: dict[str, Vector] = {}

    def take(self) -> float:
        """Return the embedding seconds since the last call."""
        spent, self._spent = self._spent, 0.0
        return spent

    async def profile(self) -> Profile:
        """Return the model's profile; loading the model counts."""
        began = time.perf_counter()
        try:
            return await self._inner.profile()
        finally:
            self._spent += time.perf_counter() - began

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts, timed."""
        began = time.perf_counter()
        try:
            return await self._inner.embed(texts)
        finally:
            self._spent += time.perf_counter() - began

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question, timed."""
        began = time.perf_counter()
        try:
            vector = await self._inner.embed_query(text)
        finally:
            self._spent += time.perf_counter() - began
        self.query_vectors[text] = vector
        return vector

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return the vectors of media in order, not timed."""
        return await self._inner.embed_media(items)

    async def close(self) -> None:
        """Close the model."""
        await self._inner.close()


class CachedEmbedder:
    """Returns cached vectors, and computes the missing ones with the model."""

    def __init__(self, inner: Embedder, vectors: MutableMapping[str, Vector]) -> None:
        self._inner = inner
        self._vectors = vectors

    async def profile(self) -> Profile:
        """Return the model's profile."""
        return await self._inner.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts in order."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            for text, vector in zip(missing, await self._inner.embed(missing), strict=True):
                self._vectors[text] = vector
        return [self._vectors[text] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        if text not in self._vectors:
            self._vectors[text] = await self._inner.embed_query(text)
        return self._vectors[text]

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return the vectors of media in order."""
        return await self._inner.embed_media(items)

    async def close(self) -> None:
        """Close the model."""
        await self._inner.close()
