"""Near pairs of vectors are found without comparing all pairs."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.conflicts import near_pairs as pairs_module
from scrubjay.conflicts.near_pairs import Matrix, find_near_pairs

LEAST = 0.6


def crowd(count: int, *, dimension: int = 48, seed: int = 1) -> Matrix:
    """Return vectors in groups of about ten."""
    drawn = np.random.default_rng(seed)
    middles = drawn.standard_normal((max(1, count // 10), dimension))
    rows = middles[drawn.integers(0, len(middles), count)] + 0.5 * drawn.standard_normal((count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 60), st.integers(1, 8))
def test_of_few_each_is_compared_with_each(count: int, most: int) -> None:
    vectors = crowd(count)
    near = find_near_pairs(vectors, least=LEAST, most=most)
    cosines = vectors @ vectors.T
    assert all(first < second for first, second in zip(near.first, near.second, strict=True))
    np.testing.assert_allclose(near.cosine, cosines[near.first, near.second], atol=1e-5)
    for row in range(count):
        others = [other for other in np.argsort(-cosines[row]) if other != row][:most]
        pairs = set(zip(near.first.tolist(), near.second.tolist(), strict=True))
        assert all(
            (min(row, other), max(row, other)) in pairs for other in others if cosines[row, other] > LEAST + 1e-5
        )


def test_of_many_nearly_all_that_is_near_is_found() -> None:
    vectors = crowd(pairs_module._FEW + 1_000)
    near = find_near_pairs(vectors, least=LEAST, most=8)
    cosines = np.triu(vectors @ vectors.T, 1)
    nearest = {(row, int(np.argmax(cosines[row]))) for row in range(len(vectors)) if cosines[row].max() >= LEAST}
    pairs = set(zip(near.first.tolist(), near.second.tolist(), strict=True))
    assert len(nearest & pairs) > 0.95 * len(nearest)


def test_many_that_are_the_same_do_not_make_it_slow() -> None:
    vectors = np.repeat(crowd(1), 6_000, axis=0)
    near = find_near_pairs(vectors, least=LEAST, most=1)
    assert len(set(near.first.tolist()) | set(near.second.tolist())) == len(vectors)
