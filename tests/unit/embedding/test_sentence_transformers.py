"""The adapter to sentence-transformers, over an object with the one method that is used of it."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from scrubjay.embedding.sentence_transformers import Chosen, SupportsEncode, sentence_transformers_embedder
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.ports import Profile


class Letters:
    """Counts letters: a model small enough to know what it must answer."""

    def __init__(self, dimension: int = 26) -> None:
        self.dimension = dimension
        self.seen: list[str] = []

    def encode(
        self, sentences: list[str], *, batch_size: int, show_progress_bar: bool, normalize_embeddings: bool
    ) -> ArrayLike:
        assert batch_size > 0
        assert not show_progress_bar
        if "break" in sentences:
            raise RuntimeError("out of memory")
        self.seen += sentences
        alphabet = "abcdefghijklmnopqrstuvwxyz"[: self.dimension]
        return np.array([[sentence.count(letter) for letter in alphabet] for sentence in sentences], dtype=np.float16)


async def test_texts_become_unit_vectors() -> None:
    letters = Letters()
    opened: list[Chosen] = []

    def opener(chosen: Chosen) -> SupportsEncode:
        opened.append(chosen)
        return letters

    traits = Profile(model="", dimension=0, weight=16.0, query_prefix="q: ", text_prefix="t: ")
    chosen = Chosen(model="letters", traits=traits)
    embedder = sentence_transformers_embedder(chosen, opener=opener)
    assert opened == []
    profile = await embedder.profile()
    assert profile.model.startswith("letters+")
    assert (profile.dimension, profile.weight) == (26, 16.0)
    (vector,) = await embedder.embed(["aab"])
    assert vector.dtype == np.float32
    assert vector[:2].tolist() == pytest.approx([2 / 6**0.5, 1 / 6**0.5])
    await embedder.embed_query("c")
    assert letters.seen[1:] == ["t: aab", "q: c"]
    assert opened == [chosen]
    await embedder.close()


async def test_a_text_without_a_vector_is_refused() -> None:
    embedder = sentence_transformers_embedder(Chosen(model="letters"), opener=lambda _: Letters())
    with pytest.raises(EmbeddingUnavailable, match="without a direction"):
        await embedder.embed(["123"])
    await embedder.close()


async def test_a_model_that_breaks_is_told() -> None:
    embedder = sentence_transformers_embedder(Chosen(model="letters"), opener=lambda _: Letters())
    with pytest.raises(EmbeddingUnavailable, match="does not run: out of memory"):
        await embedder.embed(["break"])
    await embedder.close()


@pytest.mark.parametrize(("download", "hint"), [(False, "allow its download"), (True, "")])
async def test_a_model_that_is_not_there_is_told(download: bool, hint: str) -> None:
    def opener(chosen: Chosen) -> SupportsEncode:
        raise OSError(f"no folder {chosen.model}")

    embedder = sentence_transformers_embedder(Chosen(model="letters", download=download), opener=opener)
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded: no folder letters") as caught:
        await embedder.profile()
    assert hint in caught.value.hint
    await embedder.close()
