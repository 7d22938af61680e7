"""Embedders around the product's own: one looks at the clock, one remembers what was ever embedded."""

import time
from collections.abc import MutableMapping, Sequence

from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Embedder, Profile


class TimedEmbedder:
    """Counts the seconds that callers wait for vectors, and keeps the vectors of questions."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._spent = 0.0
        self.heard: dict[str, Vector] = {}

    def take(self) -> float:
        """The seconds since it was last asked."""
        spent, self._spent = self._spent, 0.0
        return spent

    async def profile(self) -> Profile:
        """The model's profile; loading the model counts."""
        began = time.perf_counter()
        try:
            return await self._inner.profile()
        finally:
            self._spent += time.perf_counter() - began

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors of texts, timed."""
        began = time.perf_counter()
        try:
            return await self._inner.embed(texts)
        finally:
            self._spent += time.perf_counter() - began

    async def embed_query(self, text: str) -> Vector:
        """The vector of a question, timed."""
        began = time.perf_counter()
        try:
            vector = await self._inner.embed_query(text)
        finally:
            self._spent += time.perf_counter() - began
        self.heard[text] = vector
        return vector

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Vectors of media, in order; not timed."""
        return await self._inner.embed_media(items)

    async def close(self) -> None:
        """Let go of the model."""
        await self._inner.close()


class KnowingEmbedder:
    """Answers at once what it knows, and asks the model for the rest."""

    def __init__(self, inner: Embedder, known: MutableMapping[str, Vector]) -> None:
        self._inner = inner
        self._known = known

    async def profile(self) -> Profile:
        """The model's profile."""
        return await self._inner.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors of texts, in order."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._known]
        if fresh:
            for text, vector in zip(fresh, await self._inner.embed(fresh), strict=True):
                self._known[text] = vector
        return [self._known[text] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        if text not in self._known:
            self._known[text] = await self._inner.embed_query(text)
        return self._known[text]

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Vectors of media, in order."""
        return await self._inner.embed_media(items)

    async def close(self) -> None:
        """Let go of the model."""
        await self._inner.close()
