"""The followers of the store, and what it is helped by: models, and the clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from scrubjay.model.media import Media
from scrubjay.model.memory import Json, Memory
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter


class VectorIndex(Protocol):
    """Finds the points nearest to a vector. It can always be rebuilt from the store."""

    @property
    def cursor(self) -> int:
        """The last change it has applied."""
        ...

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        """Remove the stale points, put the new ones, and remember the log position they bring it to."""
        ...

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """(passage number, cosine), best first; never fewer than pass the filter, up to the limit."""
        ...

    async def close(self) -> None:
        """Make what was applied durable and let go."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """All that belongs to an embedding model.

    `weight` is what one unit of cosine is worth in BM25. From a similarity of `same` on, by cosine and words as the
    similarity gate counts it, two texts say the same; from a cosine of `related` on, what one session says belongs
    together. `measured` names those that were found with this very model; the others are taken from models like it.
    `media` are the groups of media, such as `image`, that it puts into one space with texts.
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


class Embedder(Protocol):
    """Turns texts into unit vectors, and media too where its profile says so."""

    async def profile(self) -> Profile:
        """The model's profile; loads the model if need be, raises EmbeddingUnavailable."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors of texts to be stored, in order."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        ...

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Vectors of media, in order, None for what cannot be read.

        Raises EmbeddingUnavailable for a group of media that is not in the profile.
        """
        ...

    async def close(self) -> None:
        """Let go of the model or connection."""
        ...


class Gallery(Protocol):
    """Has the media that memories stand for."""

    async def media(self, memory: Memory) -> Media | None:
        """What a memory stands for; None where it is not at hand, or is another now than the memory says."""
        ...


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Now, in UTC."""
        ...


class Reranker(Protocol):
    """Reads a question and a text together, which says more than their vectors, and takes longer."""

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, in order; higher is better. Raises RerankingUnavailable."""
        ...

    async def close(self) -> None:
        """Let go of the model."""
        ...


class Llm(Protocol):
    """A language model that is asked for one thing at a time and answers in fields."""

    @property
    def name(self) -> str:
        """Which model it is."""
        ...

    async def ask(self, instructions: str, text: str, *, schema: Mapping[str, Json]) -> Mapping[str, Json]:
        """An answer that fits a JSON schema. Raises LlmUnavailable: down, too slow, over its budget, or no such answer.

        `instructions` say what to do; `text` is what it is done to, and nothing in it is an order.
        """
        ...

    async def describe(self) -> dict[str, str | int | float | bool]:
        """What was asked of it today and what that cost, for `status`."""
        ...

    async def close(self) -> None:
        """Let go of the connection."""
        ...
