"""Embedders for measuring: one that makes nothing yet, and one whose cosine is worth something else."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Embedder, Profile


class Silent:
    """Makes no vectors: they are made later, all together."""

    async def profile(self) -> Profile:
        raise self._later()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:  # noqa: ARG002 - the port names it
        raise self._later()

    async def embed_query(self, text: str) -> Vector:  # noqa: ARG002 - the port names it
        raise self._later()

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:  # noqa: ARG002 - the port names it
        raise self._later()

    async def close(self) -> None:
        """Nothing to let go of."""

    def _later(self) -> EmbeddingUnavailable:
        return EmbeddingUnavailable("vectors are made later")


class Weighing:
    """An embedder with another weight, that embeds each question once whatever the weight."""

    def __init__(self, embedder: Embedder, *, weight: float | None = None) -> None:
        self._embedder = embedder
        self._weight = weight
        self._questions: dict[str, Vector] = {}

    def at(self, weight: float) -> "Weighing":
        """The same with another weight, and with the same memory for questions."""
        other = Weighing(self._embedder, weight=weight)
        other._questions = self._questions
        return other

    async def profile(self) -> Profile:
        profile = await self._embedder.profile()
        return profile if self._weight is None else replace(profile, weight=self._weight)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self._embedder.embed(texts)

    async def embed_query(self, text: str) -> Vector:
        if text not in self._questions:
            self._questions[text] = await self._embedder.embed_query(text)
        return self._questions[text]

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        return await self._embedder.embed_media(items)

    async def close(self) -> None:
        """The embedder below belongs to somebody else."""
