"""What an embedder must do: unit vectors of one length, in order, the same for the same text."""

import asyncio

import numpy as np

from scrubjay.model.passage import Vector
from scrubjay.ports import Embedder
from scrubjay.testing.conformance import hostile

# Texts that are embedded beside others may differ in the last bits.
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
        one, two, three = await embedder.embed(["a text", "another one", "a text"])
        assert float(np.dot(one, three)) > 1 - CLOSE
        assert float(np.dot(one, two)) < 1 - CLOSE

    async def test_like_texts_are_nearer_than_unlike_ones(self, embedder: Embedder) -> None:
        like, unlike = await embedder.embed(
            ["Sarah prefers voice calls over email", "The database runs on port 5432 in production"]
        )
        question = await embedder.embed_query("Does Sarah prefer voice calls?")
        assert float(np.dot(question, like)) > float(np.dot(question, unlike))

    async def test_any_string_has_a_vector(self, embedder: Embedder) -> None:
        profile = await embedder.profile()
        texts = ["", " ", *hostile.STRINGS]
        found = await embedder.embed(texts)
        assert len(found) == len(texts)
        for vector in found:
            _require_unit(vector, dimension=profile.dimension)
        _require_unit(await embedder.embed_query(""), dimension=profile.dimension)

    async def test_requests_at_once_get_their_own_vectors(self, embedder: Embedder) -> None:
        texts = [[word, f"{word} again"] for word in _WORDS]
        together = await asyncio.gather(*(embedder.embed(pair) for pair in texts))
        for pair, vectors in zip(texts, together, strict=True):
            for alone, vector in zip(await embedder.embed(pair), vectors, strict=True):
                assert float(np.dot(alone, vector)) > 1 - CLOSE


_WORDS = ("apple", "river", "engine", "music", "winter", "contract", "doctor", "galaxy", "bread", "window")


def _require_unit(vector: Vector, *, dimension: int) -> None:
    assert vector.dtype == np.float32
    assert vector.shape == (dimension,)
    assert abs(float(np.linalg.norm(vector)) - 1.0) < CLOSE
