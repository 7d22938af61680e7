"""Any model of the sentence-transformers package (bge-m3 and others), from this machine's own cache."""

import importlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from numpy.typing import ArrayLike

from scrubjay.embedding.batching import BatchingEmbedder
from scrubjay.embedding.model_id import model_id
from scrubjay.embedding.profiles import profile_of
from scrubjay.embedding.queue import Limits
from scrubjay.embedding.threaded import ThreadedEncoder
from scrubjay.embedding.vectors import unit_vectors
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

_PROBE = "How many numbers has a vector?"
_TEXTS_A_RUN = 16


class SupportsEncode(Protocol):
    """What we use of a sentence transformer."""

    def encode(
        self, sentences: list[str], *, batch_size: int, show_progress_bar: bool, normalize_embeddings: bool
    ) -> ArrayLike: ...


Opener = Callable[["Chosen"], SupportsEncode]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which model, and what belongs to it unless it is known. It is fetched from the network only if `download` allows.

    Pooling is left to the package, which reads it from the model's own files.
    """

    model: str
    download: bool = False
    traits: Profile | None = None


def open_model(chosen: Chosen) -> SupportsEncode:
    """The model, by the package that this extra brings."""
    try:
        # An extra, and slow to import; by its name as text, because this module has the same one.
        package = importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise EmbeddingUnavailable(
            "the package sentence-transformers is not installed",
            hint="install it with: pip install 'scrubjay[sentence-transformers]'",
        ) from error
    model: SupportsEncode = package.SentenceTransformer(chosen.model, local_files_only=not chosen.download)
    return model


def sentence_transformers_embedder(
    chosen: Chosen, *, opener: Opener = open_model, queries_kept: int = 256
) -> BatchingEmbedder:
    """An embedder over a sentence transformer in this process, loaded when it is first needed."""
    encoder = ThreadedEncoder(SentenceTransformerModel(chosen, opener=opener))
    # These models read more of a text than the bundled one does.
    limits = Limits(texts=_TEXTS_A_RUN, characters=16_384, longest=8192)
    return BatchingEmbedder(encoder, limits=limits, queries_kept=queries_kept)


class SentenceTransformerModel:
    """A sentence transformer as one of our local models."""

    def __init__(self, chosen: Chosen, *, opener: Opener = open_model) -> None:
        self._chosen = chosen
        self._opener = opener
        self._lock = threading.Lock()
        self._loaded: tuple[SupportsEncode, Profile] | None = None

    def load(self) -> Profile:
        return self._parts()[1]

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        model, profile = self._parts()
        return self._vectors(model, texts, dimension=profile.dimension)

    def unload(self) -> None:
        with self._lock:
            self._loaded = None

    def _parts(self) -> tuple[SupportsEncode, Profile]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
            return self._loaded

    def _open(self) -> tuple[SupportsEncode, Profile]:
        chosen = self._chosen
        try:
            model = self._opener(chosen)
        except (OSError, ValueError, RuntimeError) as error:
            raise EmbeddingUnavailable(
                f"the model {chosen.model!r} cannot be loaded: {error}",
                hint="" if chosen.download else "fetch it first, or allow its download in the settings",
                model=chosen.model,
            ) from error
        # Asking for a vector is the one way to learn the dimension that every version of the package has.
        (probe,) = self._vectors(model, [_PROBE], dimension=None)
        traits = chosen.traits or profile_of(chosen.model)
        name = model_id(chosen.model, text_prefix=traits.text_prefix)
        return model, replace(traits, model=name, dimension=len(probe))

    def _vectors(self, model: SupportsEncode, texts: Sequence[str], *, dimension: int | None) -> list[Vector]:
        try:
            rows = model.encode(
                list(texts), batch_size=_TEXTS_A_RUN, show_progress_bar=False, normalize_embeddings=True
            )
        except RuntimeError as error:
            # PyTorch's one error for everything, from a full graphics card to a wrong shape.
            raise EmbeddingUnavailable(f"the model {self._chosen.model!r} does not run: {error}") from error
        return unit_vectors(rows, count=len(texts), dimension=dimension, model=self._chosen.model)
