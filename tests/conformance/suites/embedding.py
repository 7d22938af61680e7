"""An embedder returns unit vectors of one dimension, in order, and the same for the same text."""

import asyncio
import struct
import zlib

import numpy as np
import pytest
from tests.conformance.suites import hostile

from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Embedder

# A text that is embedded in a batch may differ in the last bits.
CLOSE = 0.01


class EmbedderSuite:
    """Needs the fixture `embedder`."""

    async def test_a_profile_names_the_model(self, embedder: Embedder) -> None:
        profile = await embedder.profile()
        assert profile.model
        assert profile.dimension > 0
        assert profile.weight > 0
        assert await embedder.profile() == profile

    async def test_vectors_are_of_unit_length_and_the_models_dimension(self, embedder: Embedder) -> None:
        profile = await embedder.profile()
        texts = ["Sarah prefers voice calls", "x", "word " * 2000]
        for vector in (*await embedder.embed(texts), await embedder.embed_query("how to reach Sarah?")):
            _require_unit(vector, dimension=profile.dimension)

    async def test_no_texts_make_no_vectors(self, embedder: Embedder) -> None:
        assert await embedder.embed([]) == []

    async def test_vectors_come_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        texts = [f"{word} {word} {word} " * (1 + 7 * (place % 3)) for place, word in enumerate(_WORDS)]
        together = await embedder.embed(texts)
        assert len(together) == len(texts)
        for text, vector in zip(texts, together, strict=True):
            (alone,) = await embedder.embed([text])
            assert float(np.dot(alone, vector)) > 1 - CLOSE

    async def test_the_same_text_has_the_same_vector(self, embedder: Embedder) -> None:
        first, second, third = await embedder.embed(["a text", "another one", "a text"])
        assert float(np.dot(first, third)) > 1 - CLOSE
        assert float(np.dot(first, second)) < 1 - CLOSE

    async def test_like_texts_are_nearer_than_unlike_ones(self, embedder: Embedder) -> None:
        like, unlike = await embedder.embed(
            ["Sarah prefers voice calls over email", "The database runs on port 5432 in production"]
        )
        question = await embedder.embed_query("Does Sarah prefer voice calls?")
        assert float(np.dot(question, like)) > float(np.dot(question, unlike))

    async def test_any_string_has_a_vector(self, embedder: Embedder) -> None:
        profile = await embedder.profile()
        texts = ["", " ", *hostile.STRINGS]
        vectors = await embedder.embed(texts)
        assert len(vectors) == len(texts)
        for vector in vectors:
            _require_unit(vector, dimension=profile.dimension)
        _require_unit(await embedder.embed_query(""), dimension=profile.dimension)

    async def test_requests_at_once_get_their_own_vectors(self, embedder: Embedder) -> None:
        texts = [[word, f"{word} again"] for word in _WORDS]
        together = await asyncio.gather(*(embedder.embed(pair) for pair in texts))
        for pair, vectors in zip(texts, together, strict=True):
            for alone, vector in zip(await embedder.embed(pair), vectors, strict=True):
                assert float(np.dot(alone, vector)) > 1 - CLOSE

    async def test_media_have_vectors_beside_those_of_texts_or_are_refused(self, embedder: Embedder) -> None:
        profile = await embedder.profile()
        assert await embedder.embed_media([]) == []
        with pytest.raises(EmbeddingUnavailable):
            await embedder.embed_media([Media(type="smell/roses", data=b"x")])
        red, blue = _picture((220, 30, 30)), _picture((20, 20, 230))
        if "image" not in profile.media:
            with pytest.raises(EmbeddingUnavailable):
                await embedder.embed_media([red])
            return
        broken = Media(type="image/png", data=b"no picture")
        first, none, second, third = await embedder.embed_media([red, broken, blue, red])
        assert none is None
        assert first is not None
        assert second is not None
        assert third is not None
        for vector in (first, second, third):
            _require_unit(vector, dimension=profile.dimension)
        assert float(np.dot(first, third)) > 1 - CLOSE


_WORDS = ("apple", "river", "engine", "music", "winter", "contract", "doctor", "galaxy", "bread", "window")


def _require_unit(vector: Vector, *, dimension: int) -> None:
    assert vector.dtype == np.float32
    assert vector.shape == (dimension,)
    assert abs(float(np.linalg.norm(vector)) - 1.0) < CLOSE


def _picture(colour: tuple[int, int, int], *, side: int = 16) -> Media:
    """Return a PNG of one colour."""
    rows = (b"\0" + bytes(colour) * side) * side
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    data = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
    return Media(type="image/png", data=b"\x89PNG\r\n\x1a\n" + data)
