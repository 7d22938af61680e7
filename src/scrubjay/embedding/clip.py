"""CLIP models of the fastembed package: texts and pictures in one space, so that words find pictures.

Such a model has its texts in one region of the space and its pictures in another: any two texts are nearer to each
other than a text is to a picture it describes, so pictures would never be found among texts. When the model is loaded,
a few texts and pictures give the centres of both regions, and every picture is shifted from one centre to the other.
"""

import importlib
import io
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scrubjay.embedding.batching import BatchingEmbedder, BatchLimits
from scrubjay.embedding.onnx import file_digest
from scrubjay.embedding.profiles import builtin_profile
from scrubjay.embedding.threaded import ThreadedMediaEncoder
from scrubjay.embedding.vectors import unit_vectors
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

CLIP_MODEL = "Qdrant/clip-ViT-B-32"
_HINT = "SCRUBJAY_EMBEDDING_MODEL names a folder with the folders text and vision: docs/how-to/attachments.md"
_TEXT, _VISION = "-text", "-vision"
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
# Larger pictures are not worth the memory: the model sees a few hundred pixels a side.
_MAX_PIXELS = 64_000_000
_THUMBNAIL_SIDE = 1024
_BATCH_SIZE = 16
# Texts about pictures and about other things; only their centre counts.
_SAMPLE_TEXTS = (
    "a photo", "a photo of a person", "a dog in the garden", "a screenshot of a window", "a diagram with arrows",
    "the notes of a meeting", "a street at night", "food on a plate", "a page of a book", "mountains and a lake",
    "she prefers to be called in the morning", "the server runs on port 8080", "a child plays with a ball",
    "a chart of sales", "we decided to move the release to May", "a drawing of a house",
)  # fmt: skip
_SAMPLE_SIDE = 64


class SupportsEmbed(Protocol):
    """The part of a model for texts or pictures that is used here."""

    def embed(self, items: list[object], /, *, batch_size: int) -> Iterable[NDArray[np.float32]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipConfig:
    """A pair of models: a name that fastembed knows with the suffixes `-text` and `-vision`, or a folder with both.

    Nothing is downloaded unless `download` allows it.
    """

    model: str = CLIP_MODEL
    cache: Path
    download: bool = False
    threads: int = 2
    profile: Profile | None = None

    @property
    def folder(self) -> Path | None:
        """The folder with the folders `text` and `vision`, if `model` is a path."""
        path = Path(self.model).expanduser()
        return path.absolute() if path.is_dir() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _LoadedClip:
    text: SupportsEmbed
    vision: SupportsEmbed
    profile: Profile
    shift: NDArray[np.float64]


def clip_embedder(config: ClipConfig, *, query_cache_size: int = 256) -> BatchingEmbedder:
    """Make an embedder over a pair of CLIP models in this process, which are loaded on first use."""
    encoder = ThreadedMediaEncoder(ClipModel(config))
    # The model reads 77 tokens of a text.
    limits = BatchLimits(texts=_BATCH_SIZE, text_characters=400)
    return BatchingEmbedder(encoder, media_encoder=encoder, limits=limits, query_cache_size=query_cache_size)


class ClipModel:
    """A pair of CLIP models as a local model."""

    def __init__(self, config: ClipConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._loaded: _LoadedClip | None = None

    def load(self) -> Profile:
        return self._parts().profile

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        parts = self._parts()
        rows = self._embed(parts.text, [text.encode("utf-8", "replace").decode() for text in texts])
        return unit_vectors(rows, count=len(texts), dimension=parts.profile.dimension, model=self._config.model)

    def encode_media(self, items: Sequence[Media]) -> list[Vector | None]:
        parts = self._parts()
        pictures = [_read_picture(item.data) for item in items]
        readable = [picture for picture in pictures if picture is not None]
        if not readable:
            return [None for _ in items]
        vectors = iter(self._encode_pictures(parts, readable))
        return [None if picture is None else next(vectors) for picture in pictures]

    def unload(self) -> None:
        with self._lock:
            self._loaded = None

    def _encode_pictures(self, parts: _LoadedClip, pictures: Sequence[object]) -> list[Vector]:
        rows = np.asarray(self._embed(parts.vision, pictures), dtype=np.float64)
        dimension, model = parts.profile.dimension, self._config.model
        vectors = unit_vectors(rows, count=len(pictures), dimension=dimension, model=model)
        return unit_vectors(np.stack(vectors) + parts.shift, count=len(vectors), dimension=dimension, model=model)

    def _parts(self) -> _LoadedClip:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
            return self._loaded

    def _open(self) -> _LoadedClip:
        config = self._config
        with self._translate_errors("be loaded"):
            text = _open_model(config, "TextEmbedding", _TEXT)
            vision = _open_model(config, "ImageEmbedding", _VISION)
        texts = unit_vectors(
            self._embed(text, _SAMPLE_TEXTS), count=len(_SAMPLE_TEXTS), dimension=None, model=config.model
        )
        dimension = len(texts[0])
        samples = _sample_pictures()
        pictures = unit_vectors(
            self._embed(vision, samples), count=len(samples), dimension=dimension, model=config.model
        )
        shift = np.stack(texts).mean(axis=0, dtype=np.float64) - np.stack(pictures).mean(axis=0, dtype=np.float64)
        profile = replace(
            config.profile or builtin_profile(config.model),
            model=_model_id(config),
            dimension=dimension,
            media=("image",),
        )
        return _LoadedClip(text=text, vision=vision, profile=profile, shift=shift)

    def _embed(self, model: SupportsEmbed, items: Sequence[object]) -> list[NDArray[np.float32]]:
        with self._translate_errors("run"):
            return list(model.embed(list(items), batch_size=_BATCH_SIZE))

    @contextmanager
    def _translate_errors(self, action: str) -> Generator[None]:
        try:
            yield
        except EmbeddingUnavailable:
            raise
        except Exception as error:
            raise EmbeddingUnavailable(
                f"the model {self._config.model!r} cannot {action}: {error}",
                hint="" if self._config.download else "download it first, or set SCRUBJAY_ALLOW_DOWNLOAD=1",
                model=self._config.model,
            ) from error


def _model_id(config: ClipConfig) -> str:
    """Return the name under which vectors are stored; for a folder it contains digests, as its files may change."""
    if config.folder is None:
        return config.model
    files = (config.folder / part / "model.onnx" for part in ("text", "vision"))
    digests = "-".join(file_digest(file, hint=_HINT)[:12] for file in files)
    return f"{config.folder.name}-{digests}"


def _open_model(config: ClipConfig, class_name: str, suffix: str) -> SupportsEmbed:
    try:
        # An extra, and slow to import.
        package = importlib.import_module("fastembed")
    except ImportError as error:
        raise EmbeddingUnavailable(
            "the package fastembed is not installed", hint="install it with: pip install 'scrubjay[fastembed]'"
        ) from error
    folder = config.folder
    # Models in a folder have the form of the default models; the package requires a name anyway.
    name = (CLIP_MODEL if folder is not None else config.model) + suffix
    location = {} if folder is None else {"specific_model_path": str(folder / suffix.lstrip("-"))}
    opener: Callable[..., SupportsEmbed] = getattr(package, class_name)
    return opener(
        name,
        # In the data folder: the package's default is a shared folder for temporary files.
        cache_dir=str(config.cache),
        threads=config.threads,
        providers=["CPUExecutionProvider"],
        local_files_only=not config.download,
        **location,
    )


def _read_picture(data: bytes) -> object | None:
    """Return a picture, scaled down; None if the data is not a picture or is too large."""
    images = importlib.import_module("PIL.Image")
    try:
        with warnings.catch_warnings(action="ignore"), images.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > _MAX_PIXELS:
                return None
            image.thumbnail((_THUMBNAIL_SIDE, _THUMBNAIL_SIDE))
            return image.convert("RGB")
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError, images.DecompressionBombError):
        return None


def _sample_pictures() -> list[object]:
    """Make pictures of plain colours, lines and noise; only their centre counts."""
    images = importlib.import_module("PIL.Image")
    side = _SAMPLE_SIDE
    ramp = np.tile(np.linspace(0, 255, side), (side, 1))
    stripes = np.tile(np.repeat((0.0, 255.0), 8), (side, side // 16))
    random = np.random.default_rng(7)
    grey = [np.repeat(pixels[:, :, None], 3, axis=2) for pixels in (ramp, ramp.T, stripes, stripes.T)]
    plain = [
        np.full((side, side, 3), colour, dtype=np.float64) for colour in ((0, 0, 0), (255, 255, 255), (90, 140, 60))
    ]
    noise = [random.uniform(0, 255, size=(8, 8, 3)).repeat(8, axis=0).repeat(8, axis=1) for _ in range(4)]
    return [images.fromarray(pixels.astype(np.uint8)) for pixels in (*plain, *grey, *noise)]
