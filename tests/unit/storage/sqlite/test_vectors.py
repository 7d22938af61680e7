"""Vectors of texts that only older versions have: quantized, close enough, and their rows reused."""

from pathlib import Path

import apsw
import numpy as np
import pytest
from tests.fakes.build import MODEL, START, a_commit, a_memory, a_rewrite, an_origin, revised, vectors_for

from scrubjay.model.memory import Memory, Observation
from scrubjay.model.passage import Vector
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.storage.sqlite.vectors import pack_vector, quantize, unpack_vectors
from scrubjay.text.passages import passages_of

HALF, QUANTIZED = 128, 42  # bytes of 64 numbers


def unit_vectors(count: int, dimension: int) -> list[Vector]:
    made = np.random.default_rng(dimension).normal(size=(count, dimension)).astype(np.float32)
    return list(made / np.linalg.norm(made, axis=1, keepdims=True))


def rows(path: Path) -> dict[bytes, tuple[int, int]]:
    """Return the number of each vector, 0 for a historical one, and its size; by the hash of its text."""
    connection = apsw.Connection(str(path))
    try:
        results = connection.execute(
            """SELECT hash, no, length(vector) FROM vectors
               UNION ALL SELECT hash, 0, length(vector) FROM historical_vectors"""
        ).fetchall()
        return {bytes(digest): (number, size) for digest, number, size in results}
    finally:
        connection.close()


def hashes(memory: Memory) -> list[bytes]:
    return [passage.hash for passage in passages_of(memory)]


@pytest.mark.parametrize("dimension", [1, 4, 8, 33, 384, 1025])
def test_a_quantized_vector_has_nearly_the_same_direction(dimension: int) -> None:
    vectors = unit_vectors(7, dimension)
    halves = [pack_vector(vector) for vector in vectors]
    quantized = quantize(halves, dimension)
    assert max(map(len, quantized)) <= len(halves[0])
    results = unpack_vectors([*quantized, *halves], dimension)
    assert results.dtype == np.float32
    for vector, near, nearer in zip(vectors, results[:7], results[7:], strict=True):
        assert float(np.linalg.norm(near)) == pytest.approx(1, abs=1e-3)
        assert float(np.dot(vector, near)) > 0.99
        assert float(np.dot(vector, nearer)) == pytest.approx(1, abs=1e-3)


def test_a_quantized_vector_is_the_same_in_another_store() -> None:
    quantized = quantize([pack_vector(vector) for vector in unit_vectors(5, 384)], 384)
    reported = unpack_vectors(quantized, 384)
    elsewhere = [pack_vector(vector) for vector in reported]
    assert np.array_equal(unpack_vectors(elsewhere, 384), reported)
    assert quantize([quantized[0], elsewhere[1], quantized[2]], 384)[::2] == [quantized[0], quantized[2]]


def test_zero_and_empty_vectors_are_accepted() -> None:
    nothing = np.zeros(16, np.float32)
    assert np.array_equal(unpack_vectors(quantize([pack_vector(nothing)], 16), 16), [nothing])
    assert quantize([], 16) == []
    assert unpack_vectors([], 0).shape == (0, 0)


async def test_vectors_of_older_texts_are_quantized(store: SqliteStore, path: Path) -> None:
    first = a_memory("tea is green", observations=(Observation(text="it is hot", recorded_at=START),))
    second = revised(first, content="tea is black")
    made = vectors_for([first])
    await store.commit(a_commit(first, embedded=made))
    (old, unchanged), (new, _) = hashes(first), hashes(second)
    before = rows(path)
    await store.commit(a_commit(a_rewrite(second), embedded=vectors_for([second])))
    after = rows(path)
    # The new vector takes the row of the one it replaces: the file grows only by the quantized one.
    assert after == {old: (0, QUANTIZED), unchanged: before[unchanged], new: (before[old][0], HALF)}
    vectors = await store.vectors("default", MODEL, [old, unchanged])
    assert all(float(np.dot(vectors[digest], made.vectors[digest])) > 0.99 for digest in (old, unchanged))


async def test_a_restored_text_needs_no_model(store: SqliteStore) -> None:
    first = a_memory("tea is green")
    second = revised(first, content="tea is black")
    third = revised(second, content="tea is green")
    made = vectors_for([first])
    await store.commit(a_commit(first, embedded=made))
    await store.commit(a_commit(a_rewrite(second), embedded=vectors_for([second])))
    await store.commit(a_commit(a_rewrite(third)))
    assert await store.without_vectors(MODEL, limit=9) == []
    (point,) = await store.points(MODEL, after=0, limit=9)
    assert float(np.dot(point.vector, made.vectors[hashes(first)[0]])) > 0.99


async def test_a_vector_may_be_quantized_and_restored_again_and_again(store: SqliteStore, path: Path) -> None:
    line = [a_memory("tea is green")]
    await store.commit(a_commit(line[0], embedded=vectors_for([line[0], a_memory("tea is black")])))
    for number in range(4):
        line.append(revised(line[-1], content="tea is green" if number % 2 else "tea is black"))
        await store.commit(a_commit(a_rewrite(line[-1]), embedded=vectors_for([line[-1]])))
        assert await store.without_vectors(MODEL, limit=9) == []
        assert await store.embedded("default", MODEL, hashes(line[0])) == set(hashes(line[0]))
    assert rows(path)[hashes(line[0])[0]][1] == QUANTIZED


async def test_a_text_that_another_memory_has_keeps_its_vector(store: SqliteStore, path: Path) -> None:
    first, other = a_memory("tea is green"), a_memory("tea is green", title="")
    await store.commit(a_commit(first, other, embedded=vectors_for([first, other])))
    await store.commit(a_commit(a_rewrite(revised(first, content="tea is black"))))
    assert {size for _, size in rows(path).values()} == {HALF}
    await store.commit(a_commit(a_rewrite(revised(other, content="tea is black"))))
    assert {size for _, size in rows(path).values()} == {QUANTIZED}


async def test_quantized_vectors_are_counted_and_listed(store: SqliteStore) -> None:
    first = a_memory("tea is green")
    second = revised(first, content="tea is black")
    await store.commit(a_commit(first, embedded=vectors_for([first])))
    await store.commit(a_commit(a_rewrite(second), embedded=vectors_for([second])))
    expected = sorted([*hashes(first), *hashes(second)])
    assert list(await store.stored_vectors("default", MODEL, limit=9)) == expected
    assert list(await store.stored_vectors("default", MODEL, after=expected[0], limit=1)) == expected[1:]
    assert await store.embedded("default", MODEL, expected) == set(expected)
    assert (await store.statistics("default")).vectors == {MODEL: 2}
    assert await store.point_count(MODEL) == 1


async def test_a_purge_leaves_no_quantized_vector(store: SqliteStore, path: Path) -> None:
    first = a_memory("tea is green")
    await store.commit(a_commit(first, embedded=vectors_for([first])))
    await store.commit(a_commit(a_rewrite(revised(first, content="tea is black"))))
    await store.purge("default", [first.id], origin=an_origin())
    assert rows(path) == {}
