"""Every model's output is checked and made into unit vectors."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from scrubjay.embedding.none import NoEmbedder
from scrubjay.embedding.vectors import unit_vectors
from scrubjay.errors import EmbeddingUnavailable


def test_rows_become_read_only_unit_vectors() -> None:
    first, second = unit_vectors([[3, 4], [0, 1e-3]], count=2, dimension=2, model="m")
    assert first.dtype == np.float32
    assert first.tolist() == pytest.approx([0.6, 0.8])
    assert second.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


def test_a_vector_does_not_hold_its_batch_in_memory() -> None:
    assert unit_vectors(np.ones((100, 4)), count=100, dimension=4, model="m")[0].base is None


BAD: list[tuple[ArrayLike, str]] = [
    ([[1.0, float("nan")]], "finite"),
    ([[1.0, float("inf")]], "finite"),
    ([[0.0, 0.0]], "direction"),
    ([[1e-200, 1e-200]], "direction"),
    ([[1e300, 1e300]], "direction"),
    ([[1.0, 2.0, 3.0]], "3 dimensions instead of 2"),
    ([[1.0, 2.0], [1.0, 2.0]], "2 vectors for 1 texts"),
    ([], "not return a list of vectors"),
    ([[]], "not return a list of vectors"),
    ([1.0, 2.0], "not return a list of vectors"),
    (["a"], "not return a list of vectors"),
    ([[10**400]], "not return a list of vectors"),
]


@pytest.mark.parametrize(("rows", "message"), BAD)
def test_anything_else_is_refused(rows: ArrayLike, message: str) -> None:
    with pytest.raises(EmbeddingUnavailable, match=message):
        unit_vectors(rows, count=1, dimension=2, model="m")


def test_vectors_of_unequal_length_are_refused() -> None:
    ragged: list[list[float]] = [[1.0, 2.0], [1.0]]
    with pytest.raises(EmbeddingUnavailable, match="of equal length"):
        unit_vectors(ragged, count=2, dimension=None, model="m")


async def test_no_embedder_refuses_every_call() -> None:
    embedder = NoEmbedder()
    for call in (embedder.profile(), embedder.embed(["a"]), embedder.embed_query("a")):
        with pytest.raises(EmbeddingUnavailable, match="embedding is switched off"):
            await call
    await embedder.close()
