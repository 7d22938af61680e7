"""Indexes, models, media and the clock."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Protocol, runtime_checkable

from scrubjay.lazy import dataclass
from scrubjay.model.conflict import DatedStatement, PairShares
from scrubjay.model.media import Media
from scrubjay.model.memory import Json, Memory
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter

ENGLISH_MODEL = re.compile(r"^all-|-en(?:-|$)|english")
"""The names of models that know English alone: the bundled one, and others whose names say so."""


class PassageSearcher(Protocol):
    """The one method that the write path and recall need of a vector index."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return (passage number, cosine), best first."""
        ...


@runtime_checkable
class BatchSearcher(Protocol):
    """An index that searches for several vectors in one call."""

    async def search_many(
        self, space: str, vectors: Sequence[Vector], filter: Filter, *, limit: int
    ) -> list[list[tuple[int, float]]]:
        """Return (passage number, cosine), best first, for each vector."""
        ...


class VectorIndex(Protocol):
    """A vector search. It can always be rebuilt from the store."""

    @property
    def cursor(self) -> int:
        """The last change it applied."""
        ...

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        """Remove stale points, add new ones, and record the log position."""
        ...

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return (passage number, cosine), best first; never fewer than pass the filter, up to the limit."""
        ...

    async def close(self) -> None:
        """Make applied changes durable and release resources."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The parameters of an embedding model.

    `weight` converts cosine to BM25 points. Two texts count as the same from a similarity of `same`, as the similarity
    gate computes it from cosine and words; texts of one session belong together from a cosine of `related`. `measured`
    lists the parameters that were calibrated with this model; the others are taken from similar models. `media` lists
    the groups of media, such as `image`, that it embeds into one space with texts. `arithmetic` says how this machine
    computes it.
    """

    model: str
    dimension: int
    weight: float = 4.0
    query_prefix: str = ""
    text_prefix: str = ""
    pooling: str = "mean"
    same: float = 0.96
    related: float = 0.6
    measured: tuple[str, ...] = ()
    media: tuple[str, ...] = ()
    arithmetic: str = field(default="", compare=False)

    @property
    def is_english(self) -> bool:
        """Whether its name says that it knows English alone, as the bundled model does."""
        return ENGLISH_MODEL.search(self.model) is not None


class Embedder(Protocol):
    """Turns texts into unit vectors, and the media that its profile lists."""

    async def profile(self) -> Profile:
        """Return the profile; loads the model if necessary. Raises EmbeddingUnavailable."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts to store, in order."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        ...

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return the vectors of media, in order, None for unreadable ones.

        Raises EmbeddingUnavailable for a group of media that is not in the profile.
        """
        ...

    async def close(self) -> None:
        """Release the model or connection."""
        ...


class MediaSource(Protocol):
    """The media that memories represent."""

    async def media(self, memory: Memory) -> Media | None:
        """Return the media of a memory; None if it is not available or no longer the same."""
        ...


class Clock(Protocol):
    """The current time."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        ...


class Reranker(Protocol):
    """Scores a question and a text together: slower than comparing vectors, and more precise."""

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a score for each text, in order; higher is better. Raises RerankingUnavailable."""
        ...

    async def close(self) -> None:
        """Release the model."""
        ...


class PairReader(Reranker, Protocol):
    """Reads two texts together: what the later of two statements does to the earlier, and how well one answers."""

    async def name(self) -> str:
        """Return the name of the model. Raises EmbeddingUnavailable."""
        ...

    async def judge(self, pairs: Sequence[tuple[DatedStatement, DatedStatement]]) -> list[PairShares]:
        """Return what the second of each two does to the first, all in one batch. Raises EmbeddingUnavailable."""
        ...

    async def close(self) -> None:
        """Release the model."""
        ...


class Llm(Protocol):
    """A language model that answers one request at a time with structured data."""

    @property
    def name(self) -> str:
        """The name of the model."""
        ...

    async def ask(self, instructions: str, text: str, *, schema: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return an answer that fits a JSON schema; raises LlmUnavailable (down, slow, over budget, no valid answer).

        `text` is data: the model must not follow instructions in it.
        """
        ...

    async def describe(self) -> dict[str, str | int | float | bool]:
        """Return today's requests and costs, for `status`."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...
