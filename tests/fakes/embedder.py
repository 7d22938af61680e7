"""An embedder without a model: texts that share words are close to each other, and so are images that contain them."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile
from scrubjay.text.tokens import terms_of

_WORDS = re.compile(rb"[A-Za-z][a-z]{2,}")
_PNG = b"\x89PNG"


class FakeEmbedder:
    """Hashes words into a few dimensions. With `failing` set it raises an error.

    With `media` it reads the words in the bytes of a PNG, and no other format.
    """

    def __init__(
        self,
        *,
        model: str = "fake-64",
        dimension: int = 64,
        failing: bool = False,
        media: tuple[str, ...] = (),
    ) -> None:
        self.failing = failing
        self.embedded: list[str] = []
        self.seen: list[bytes] = []
        self._profile = Profile(model=model, dimension=dimension, media=media)

    async def profile(self) -> Profile:
        """Return the profile of the fake model."""
        self._refuse_if_failing()
        return self._profile

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts, in order, and record the texts in `embedded`."""
        self._refuse_if_failing()
        self.embedded.extend(texts)
        return [_vector(text, dimension=self._profile.dimension) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        self._refuse_if_failing()
        return _vector(text, dimension=self._profile.dimension)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return the vectors of images, in order, and record their bytes in `seen`."""
        self._refuse_if_failing()
        if any(item.group not in self._profile.media for item in items):
            raise EmbeddingUnavailable("the fake embedder reads no media of this type", model=self._profile.model)
        self.seen.extend(item.data for item in items)
        return [
            _vector(b" ".join(_WORDS.findall(item.data)).decode(), dimension=self._profile.dimension)
            if item.data.startswith(_PNG)
            else None
            for item in items
        ]

    async def close(self) -> None:
        """Do nothing."""

    def _refuse_if_failing(self) -> None:
        if self.failing:
            raise EmbeddingUnavailable("the fake embedder is set to fail", model=self._profile.model)


def _vector(text: str, *, dimension: int) -> Vector:
    results = np.zeros(dimension, dtype=np.float32)
    # A text without words needs a direction too: that of its bytes.
    for term in terms_of(text) or (f"\n{text}",):
        place, sign = _place(term, dimension=dimension)
        results[place] += sign
    length = float(np.linalg.norm(results))
    if length == 0.0:
        # Two words may cancel out: then always the same direction.
        results[0] = length = 1.0
    return (results / length).astype(np.float32)


def _place(term: str, *, dimension: int) -> tuple[int, float]:
    number = int.from_bytes(hashlib.sha256(term.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return (number >> 1) % dimension, 1.0 if number & 1 else -1.0
