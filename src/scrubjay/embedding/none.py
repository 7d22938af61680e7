"""No embedding at all: search goes by words alone."""

from collections.abc import Sequence
from typing import NoReturn

from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile


class NoEmbedder:
    """Stands where an embedder would, and says that there is none."""

    async def profile(self) -> Profile:
        _refuse()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:  # noqa: ARG002 - the port names it
        _refuse()

    async def embed_query(self, text: str) -> Vector:  # noqa: ARG002 - the port names it
        _refuse()

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:  # noqa: ARG002 - the port names it
        _refuse()

    async def close(self) -> None:
        """Nothing to let go of."""


def _refuse() -> NoReturn:
    raise EmbeddingUnavailable("embedding is switched off")
