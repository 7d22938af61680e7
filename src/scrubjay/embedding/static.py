"""The static table: a vector for each token, and the normalized sum of them for a text."""

import hashlib
import io
import threading
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scrubjay.embedding.batching import BatchingEmbedder, BatchLimits
from scrubjay.embedding.bundled import data_file
from scrubjay.embedding.profiles import STATIC, builtin_profile, model_id
from scrubjay.embedding.threaded import ThreadedEncoder
from scrubjay.embedding.vectors import blend_unread, unit_vectors
from scrubjay.embedding.wordpiece import WordPiece, load_vocabulary
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

_TABLE_SHA256 = "d3b5180b115bef334f5e92517d0155f55cefd2571a7702c41a8608281fdec489"
_MAX_TOKENS = 256
# The token of a text that has none, such as one of control characters alone.
_UNKNOWN = 100
_REINSTALL = "reinstall scrubjay, or choose another embedder"


def static_embedder(*, profile: Profile | None = None, query_cache_size: int = 256) -> BatchingEmbedder:
    """Make the embedder for small machines and large imports; its table is loaded on first use."""
    chosen = profile or builtin_profile(STATIC)
    name = model_id(STATIC, text_prefix=chosen.text_prefix)
    encoder = ThreadedEncoder(StaticModel(replace(chosen, model=name)))
    # Texts are not padded, and a whole batch takes a few milliseconds.
    limits = BatchLimits(texts=256, characters=65_536)
    return BatchingEmbedder(encoder, limits=limits, query_cache_size=query_cache_size)


class StaticModel:
    """The table as a local model: int8 rows with a scale each."""

    def __init__(
        self,
        profile: Profile,
        *,
        file: Callable[[], Path] = lambda: data_file("static.npz"),
        sha256: str = _TABLE_SHA256,
    ) -> None:
        self._profile = profile
        self._file = file
        self._sha256 = sha256
        self._lock = threading.Lock()
        self._loaded: tuple[WordPiece, NDArray[np.int8], NDArray[np.float32]] | None = None

    def load(self) -> Profile:
        self._parts()
        return self._profile

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        tokenizer, rows, scales = self._parts()
        sums = np.empty((len(texts), rows.shape[1]), dtype=np.float32)
        for place, text in enumerate(texts):
            # Without [CLS] and [SEP].
            ids = tokenizer.encode(text)[1:-1] or [_UNKNOWN]
            sums[place] = scales[ids] @ rows[ids]
        vectors = unit_vectors(sums, count=len(texts), dimension=self._profile.dimension, model=self._profile.model)
        return [blend_unread(vector, tokenizer.unread(text)) for text, vector in zip(texts, vectors, strict=True)]

    def unload(self) -> None:
        with self._lock:
            self._loaded = None

    def _parts(self) -> tuple[WordPiece, NDArray[np.int8], NDArray[np.float32]]:
        with self._lock:
            if self._loaded is None:
                rows, scales = self._read()
                self._loaded = WordPiece(load_vocabulary(), max_tokens=_MAX_TOKENS), rows, scales
            return self._loaded

    def _read(self) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        try:
            data = self._file().read_bytes()
        except OSError as error:
            raise EmbeddingUnavailable(f"the table cannot be read: {error.strerror}", hint=_REINSTALL) from error
        if hashlib.sha256(data).hexdigest() != self._sha256:
            raise EmbeddingUnavailable("the table is not the expected one: its SHA-256 differs", hint=_REINSTALL)
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as table:
                return table["q"], table["s"].astype(np.float32)
        except (KeyError, ValueError, zipfile.BadZipFile) as error:
            raise EmbeddingUnavailable("the table is not one of rows and scales", hint=_REINSTALL) from error
