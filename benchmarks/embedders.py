"""Wrappers of the product's embedder, one measures time, one caches vectors; and the time of the bundled models.

`python -m benchmarks.embedders`, also a part of `make bench`, embeds the same texts by each in turn, and lets the pair
model read what a write asks it about. The model that was bundled once is measured too if its package is installed.
"""

import os
import time
from collections.abc import MutableMapping, Sequence
from functools import partial

from benchmarks.tables import Table, both, rows_of
from benchmarks.timing import resident_mb, spread
from scrubjay.embedding.bundled import ENCODER, FORMER_ENCODER, former_model_file
from scrubjay.embedding.onnx import OnnxModel
from scrubjay.embedding.pair_model import OnnxPairModel, bundled_folder
from scrubjay.embedding.profiles import STATIC, builtin_profile
from scrubjay.embedding.static import StaticModel
from scrubjay.embedding.threaded import LocalModel
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Embedder, Profile

_TURNS = 30
_SHORT = "Meeting {} with Sarah of the harbour office about the new invoices is on Tuesday at nine, in the library"
_LONG_TIMES = 6
# A short text may take this part of the time of the package.
_MOST = 0.5
# What a write lets the pair model read, and how many embeddings and how much memory that may cost.
_PAIRS = 3
_MOST_EMBEDDINGS = 6.0
_MOST_MB = 60.0


class TimedEmbedder:
    """Measures the time that callers wait for vectors, and keeps the vectors of questions."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._spent = 0.0
        self.query_vectors: dict[str, Vector] = {}

    def take(self) -> float:
        """Return the embedding seconds since the last call."""
        spent, self._spent = self._spent, 0.0
        return spent

    async def profile(self) -> Profile:
        """Return the model's profile; loading the model counts."""
        began = time.perf_counter()
        try:
            return await self._inner.profile()
        finally:
            self._spent += time.perf_counter() - began

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts, timed."""
        began = time.perf_counter()
        try:
            return await self._inner.embed(texts)
        finally:
            self._spent += time.perf_counter() - began

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question, timed."""
        began = time.perf_counter()
        try:
            vector = await self._inner.embed_query(text)
        finally:
            self._spent += time.perf_counter() - began
        self.query_vectors[text] = vector
        return vector

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return the vectors of media in order, not timed."""
        return await self._inner.embed_media(items)

    async def close(self) -> None:
        """Close the model."""
        await self._inner.close()


class CachedEmbedder:
    """Returns cached vectors, and computes the missing ones with the model."""

    def __init__(self, inner: Embedder, vectors: MutableMapping[str, Vector]) -> None:
        self._inner = inner
        self._vectors = vectors

    async def profile(self) -> Profile:
        """Return the model's profile."""
        return await self._inner.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts in order."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            for text, vector in zip(missing, await self._inner.embed(missing), strict=True):
                self._vectors[text] = vector
        return [self._vectors[text] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        if text not in self._vectors:
            self._vectors[text] = await self._inner.embed_query(text)
        return self._vectors[text]

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return the vectors of media in order."""
        return await self._inner.embed_media(items)

    async def close(self) -> None:
        """Close the model."""
        await self._inner.close()


def main() -> None:
    """Embed texts by each model in turn, on one thread, and print the processor time of a text."""
    models: dict[str, LocalModel] = {
        "bundled": OnnxModel(ENCODER, threads=1), "static": StaticModel(builtin_profile(STATIC))
    }  # fmt: skip
    # Before other models have used memory that it would take again.
    of_pairs = _measure_pairs(models["bundled"])
    if former_model_file() is not None:
        models["minilm, the package"] = OnnxModel(FORMER_ENCODER, threads=1)
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in models}
    for turn in range(_TURNS + 1):
        text = _SHORT.format(turn)
        for name, model in models.items():
            for measured, part in zip(times[name], (text, " ".join([text] * _LONG_TIMES)), strict=True):
                # Of this thread: other work on the machine does not count.
                began = time.thread_time()
                model.encode([part])
                # The first turn loads the model.
                if turn:
                    measured.append(time.thread_time() - began)
    rows = tuple((name, *(both(spread(measured)) for measured in pair)) for name, pair in times.items())
    head = ("processor time of a text, ms", "short", "long")
    print("\n".join(rows_of(Table(title="", head=head, rows=rows))))
    if former_model_file() is not None:
        share = spread(times["bundled"][0]).p50 / spread(times["minilm, the package"][0]).p50
        result = "met" if share <= _MOST else "MISSED"
        print(f"\n- {result}: a short text against the package: {share:.2f}, at most {_MOST}")
    print("\n".join(of_pairs))


def _measure_pairs(encoder: LocalModel) -> list[str]:
    """Return what the pair model costs beside one embedding, and the memory that it takes."""
    encoder.encode([_SHORT])
    before = resident_mb(os.getpid())
    model = OnnxPairModel(bundled_folder(), encoder=ENCODER.file, threads=1)
    read, embedded = list[float](), list[float]()
    for turn in range(_TURNS + 1):
        text = _SHORT.format(turn)
        pairs = [(f"(2 January 2026) {text}", f"later (4 March 2026) {_SHORT.format(turn + n)}") for n in range(_PAIRS)]
        for measured, work in ((embedded, partial(encoder.encode, [text])), (read, partial(model.read, pairs))):
            began = time.thread_time()
            work()
            if turn:
                measured.append(time.thread_time() - began)
    grown = resident_mb(os.getpid()) - before
    share = spread(read).p50 / spread(embedded).p50
    return [
        f"- {'met' if value <= most else 'MISSED'}: {_PAIRS} pairs that a write asks about: {value:.1f} {what}, "
        f"at most {most:.0f}"
        for value, most, what in ((share, _MOST_EMBEDDINGS, "embeddings"), (grown, _MOST_MB, "MB resident"))
    ]


if __name__ == "__main__":
    main()
