"""A cache of vectors on disk, so that a hundred thousand sentences are embedded once."""

import hashlib
from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path

import numpy as np

from scrubjay.model.passage import Vector
from scrubjay.ports import Embedder, Profile, Progress

FOLDER = Path(__file__).parent / "cache"
_KEY_BYTES = 16
_BATCH = 256


class VectorCache(MutableMapping[str, Vector]):
    """Vectors of one model by text, in an append-only file of records.

    They have half precision, as in the store, so a cached vector is stored exactly like a new one.
    """

    def __init__(self, profile: Profile, *, folder: Path = FOLDER) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{profile.model.replace('/', '--')}-{profile.dimension}.vectors"
        self._record = np.dtype([("key", f"V{_KEY_BYTES}"), ("vector", np.float16, (profile.dimension,))])
        self._vectors: dict[bytes, np.ndarray[tuple[int], np.dtype[np.float16]]] = {}
        if self._path.exists():
            # An interrupted run may have left half a record.
            whole = self._path.stat().st_size // self._record.itemsize
            records = np.fromfile(self._path, dtype=self._record, count=whole)
            keys = records["key"].tobytes()
            self._vectors = {
                keys[row * _KEY_BYTES : (row + 1) * _KEY_BYTES]: vector for row, vector in enumerate(records["vector"])
            }
            with self._path.open("r+b") as file:
                file.truncate(whole * self._record.itemsize)

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and _key(text) in self._vectors

    def __getitem__(self, text: str) -> Vector:
        return self._vectors[_key(text)].astype(np.float32)

    def __setitem__(self, text: str, vector: Vector) -> None:
        record = np.zeros(1, dtype=self._record)
        record["key"] = np.void(_key(text))
        record["vector"] = vector
        with self._path.open("ab") as file:
            file.write(record.tobytes())
        self._vectors[_key(text)] = record["vector"][0]

    def __delitem__(self, text: str) -> None:
        raise TypeError("a cached vector cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        raise TypeError("the cache holds hashes of texts, not the texts")

    def __len__(self) -> int:
        return len(self._vectors)


async def fill_cache(cache: VectorCache, texts: Sequence[str], *, embedder: Embedder, progress: Progress) -> int:
    """Embed the texts that are not in the cache; return their number."""
    fresh = [text for text in texts if text not in cache]
    for start in range(0, len(fresh), _BATCH):
        batch = fresh[start : start + _BATCH]
        for text, vector in zip(batch, await embedder.embed(batch), strict=True):
            cache[text] = vector
        progress(start + len(batch), len(fresh))
    return len(fresh)


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:_KEY_BYTES]
