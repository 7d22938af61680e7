"""The adapter to sentence-transformers, over an object with the single method that it uses."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from scrubjay.embedding.sentence_transformers import (
    SentenceTransformerConfig,
    SupportsEncode,
    sentence_transformers_embedder,
)
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.ports import Profile


class LetterModel:
    """A model that counts letters, so that its vectors are easy to predict."""

    def __init__(self, dimension: int = 26) -> None:
        self.dimension = dimension
        self.texts: list[str] = []

    def encode(
        self, sentences: list[str], *, batch_size: int, show_progress_bar: bool, normalize_embeddings: bool
    ) -> ArrayLike:
        assert batch_size > 0
        assert not show_progress_bar
        if "break" in sentences:
            raise RuntimeError("out of memory")
        self.texts += sentences
        alphabet = "abcdefghijklmnopqrstuvwxyz"[: self.dimension]
        return np.array([[sentence.count(letter) for letter in alphabet] for sentence in sentences], dtype=np.float16)


async def test_texts_become_unit_vectors() -> None:
    letters = LetterModel()
    opened: list[SentenceTransformerConfig] = []

    def opener(config: SentenceTransformerConfig) -> SupportsEncode:
        opened.append(config)
        return letters

    base_profile = Profile(model="", dimension=0, weight=16.0, query_prefix="q: ", text_prefix="t: ")
    config = SentenceTransformerConfig(model="letters", profile=base_profile)
    embedder = sentence_transformers_embedder(config, opener=opener)
    assert opened == []
    profile = await embedder.profile()
    assert profile.model.startswith("letters+")
    assert (profile.dimension, profile.weight) == (26, 16.0)
    (vector,) = await embedder.embed(["aab"])
    assert vector.dtype == np.float32
    assert vector[:2].tolist() == pytest.approx([2 / 6**0.5, 1 / 6**0.5])
    await embedder.embed_query("c")
    assert letters.texts[1:] == ["t: aab", "q: c"]
    assert opened == [config]
    await embedder.close()


async def test_a_text_without_a_vector_is_refused() -> None:
    embedder = sentence_transformers_embedder(
        SentenceTransformerConfig(model="letters"), opener=lambda _: LetterModel()
    )
    with pytest.raises(EmbeddingUnavailable, match="without a direction"):
        await embedder.embed(["123"])
    await embedder.close()


async def test_a_model_that_fails_is_reported() -> None:
    embedder = sentence_transformers_embedder(
        SentenceTransformerConfig(model="letters"), opener=lambda _: LetterModel()
    )
    with pytest.raises(EmbeddingUnavailable, match="does not run: out of memory"):
        await embedder.embed(["break"])
    await embedder.close()


@pytest.mark.parametrize(("download", "hint"), [(False, "SCRUBJAY_ALLOW_DOWNLOAD"), (True, "")])
async def test_a_missing_model_is_reported(download: bool, hint: str) -> None:
    def opener(config: SentenceTransformerConfig) -> SupportsEncode:
        raise OSError(f"no folder {config.model}")

    embedder = sentence_transformers_embedder(
        SentenceTransformerConfig(model="letters", download=download), opener=opener
    )
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded: no folder letters") as caught:
        await embedder.profile()
    assert hint in caught.value.hint
    await embedder.close()
