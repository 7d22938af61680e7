"""Any model of the sentence-transformers package (bge-m3 and others), from this machine's own cache."""

import importlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from numpy.typing import ArrayLike

from scrubjay.embedding.batching import BatchingEmbedder, BatchLimits
from scrubjay.embedding.profiles import builtin_profile, model_id
from scrubjay.embedding.threaded import ThreadedEncoder
from scrubjay.embedding.vectors import PROBE, unit_vectors
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

_BATCH_SIZE = 16


class SupportsEncode(Protocol):
    """The part of a sentence transformer that is used here."""

    def encode(
        self, sentences: list[str], *, batch_size: int, show_progress_bar: bool, normalize_embeddings: bool
    ) -> ArrayLike: ...


Opener = Callable[["SentenceTransformerConfig"], SupportsEncode]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceTransformerConfig:
    """A model, and its profile unless the built-in profile applies. It is downloaded only if `download` allows it.

    The package reads the pooling from the model's own files.
    """

    model: str
    download: bool = False
    profile: Profile | None = None


def open_model(config: SentenceTransformerConfig) -> SupportsEncode:
    """Load the model with the package of the extra."""
    try:
        # An extra, and slow to import; not an import statement, because this module has the same name.
        package = importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise EmbeddingUnavailable(
            "the package sentence-transformers is not installed",
            hint="install it with: pip install 'scrubjay[sentence-transformers]'",
        ) from error
    model: SupportsEncode = package.SentenceTransformer(config.model, local_files_only=not config.download)
    return model


def sentence_transformers_embedder(
    config: SentenceTransformerConfig, *, opener: Opener = open_model, query_cache_size: int = 256
) -> BatchingEmbedder:
    """Make an embedder over a sentence transformer in this process, which is loaded on first use."""
    encoder = ThreadedEncoder(SentenceTransformerModel(config, opener=opener))
    # These models read more of a text than the bundled model.
    limits = BatchLimits(texts=_BATCH_SIZE, characters=16_384, text_characters=8192)
    return BatchingEmbedder(encoder, limits=limits, query_cache_size=query_cache_size)


class SentenceTransformerModel:
    """A sentence transformer as a local model."""

    def __init__(self, config: SentenceTransformerConfig, *, opener: Opener = open_model) -> None:
        self._config = config
        self._opener = opener
        self._lock = threading.Lock()
        self._loaded: tuple[SupportsEncode, Profile] | None = None

    def load(self) -> Profile:
        return self._parts()[1]

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        model, profile = self._parts()
        return self._encode(model, texts, dimension=profile.dimension)

    def unload(self) -> None:
        with self._lock:
            self._loaded = None

    def _parts(self) -> tuple[SupportsEncode, Profile]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
            return self._loaded

    def _open(self) -> tuple[SupportsEncode, Profile]:
        config = self._config
        try:
            model = self._opener(config)
        except (OSError, ValueError, RuntimeError) as error:
            raise EmbeddingUnavailable(
                f"the model {config.model!r} cannot be loaded: {error}",
                hint="" if config.download else "download it first, or set SCRUBJAY_ALLOW_DOWNLOAD=1",
                model=config.model,
            ) from error
        # The only way to learn the dimension that works with every version of the package.
        (probe,) = self._encode(model, [PROBE], dimension=None)
        profile = config.profile or builtin_profile(config.model)
        name = model_id(config.model, text_prefix=profile.text_prefix)
        return model, replace(profile, model=name, dimension=len(probe))

    def _encode(self, model: SupportsEncode, texts: Sequence[str], *, dimension: int | None) -> list[Vector]:
        try:
            rows = model.encode(list(texts), batch_size=_BATCH_SIZE, show_progress_bar=False, normalize_embeddings=True)
        except RuntimeError as error:
            # PyTorch raises it for everything, from full GPU memory to a wrong shape.
            raise EmbeddingUnavailable(f"the model {self._config.model!r} does not run: {error}") from error
        return unit_vectors(rows, count=len(texts), dimension=dimension, model=self._config.model)
