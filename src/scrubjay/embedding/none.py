"""The embedder that embeds nothing: search uses words alone."""

from collections.abc import Sequence
from typing import NoReturn

from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile


class NoEmbedder:
    """An embedder whose calls all raise EmbeddingUnavailable."""

    async def profile(self) -> Profile:
        _refuse()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:  # noqa: ARG002 - named by the port
        _refuse()

    async def embed_query(self, text: str) -> Vector:  # noqa: ARG002 - named by the port
        _refuse()

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:  # noqa: ARG002 - named by the port
        _refuse()

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


def _refuse() -> NoReturn:
    raise EmbeddingUnavailable("embedding is switched off")
