"""CLIP models of the fastembed package: texts and pictures in one space, so that words find pictures.

Such a model keeps its texts in one corner of the space and its pictures in another: any two texts are nearer to each
other than a text is to the picture it tells of, and pictures would never be found among texts. So where the middles of
both corners lie is measured with a few texts and pictures when the model is loaded, and pictures are moved from theirs
to that of the texts.
"""

import importlib
import io
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scrubjay.embedding.batching import BatchingEmbedder
from scrubjay.embedding.onnx import digest_of
from scrubjay.embedding.profiles import profile_of
from scrubjay.embedding.queue import Limits
from scrubjay.embedding.threaded import ThreadedSeer
from scrubjay.embedding.vectors import unit_vectors
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

__all__ = ["DEFAULT_MODEL", "ChosenClip", "ClipModel", "clip_embedder"]

DEFAULT_MODEL = "Qdrant/clip-ViT-B-32"
_HINT = "SCRUBJAY_EMBEDDING_MODEL names a folder with the folders text and vision: docs/how-to/attachments.md"
_TEXT, _VISION = "-text", "-vision"
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
# A picture of more is not worth the memory: the model sees it with a few hundred pixels a side.
_MOST_PIXELS = 64_000_000
_ENOUGH = 1024
_AT_ONCE = 16
# What people say of pictures, and of nothing in particular: only their middle counts.
_SAYINGS = (
    "a photo", "a photo of a person", "a dog in the garden", "a screenshot of a window", "a diagram with arrows",
    "the notes of a meeting", "a street at night", "food on a plate", "a page of a book", "mountains and a lake",
    "she prefers to be called in the morning", "the server runs on port 8080", "a child plays with a ball",
    "a chart of sales", "we decided to move the release to May", "a drawing of a house",
)  # fmt: skip
_SIDE = 64


class SupportsEmbed(Protocol):
    """What we use of a model of texts or of pictures."""

    def embed(self, items: list[object], /, *, batch_size: int) -> Iterable[NDArray[np.float32]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenClip:
    """Which pair of models: a name that fastembed knows with `-text` and `-vision` behind it, or a folder of two.

    Nothing is fetched from the network unless `download` allows.
    """

    model: str = DEFAULT_MODEL
    cache: Path
    download: bool = False
    threads: int = 2
    traits: Profile | None = None

    @property
    def folder(self) -> Path | None:
        """The folder with the folders `text` and `vision`, if it is one."""
        place = Path(self.model).expanduser()
        return place.absolute() if place.is_dir() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    text: SupportsEmbed
    vision: SupportsEmbed
    profile: Profile
    shift: NDArray[np.float64]


def clip_embedder(chosen: ChosenClip, *, queries_kept: int = 256) -> BatchingEmbedder:
    """An embedder over a pair of CLIP models in this process, loaded when it is first needed."""
    seer = ThreadedSeer(ClipModel(chosen))
    # It reads 77 tokens of a text, whatever its length.
    return BatchingEmbedder(seer, sees=seer, limits=Limits(texts=_AT_ONCE, longest=400), queries_kept=queries_kept)


class ClipModel:
    """A pair of CLIP models as one of our local models."""

    def __init__(self, chosen: ChosenClip) -> None:
        self._chosen = chosen
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    def load(self) -> Profile:
        return self._parts().profile

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        parts = self._parts()
        rows = self._rows(parts.text, [text.encode("utf-8", "replace").decode() for text in texts])
        return unit_vectors(rows, count=len(texts), dimension=parts.profile.dimension, model=self._chosen.model)

    def encode_media(self, items: Sequence[Media]) -> list[Vector | None]:
        parts = self._parts()
        pictures = [_picture(item.data) for item in items]
        seen = [picture for picture in pictures if picture is not None]
        if not seen:
            return [None for _ in items]
        vectors = iter(self._moved(parts, seen))
        return [None if picture is None else next(vectors) for picture in pictures]

    def unload(self) -> None:
        with self._lock:
            self._loaded = None

    def _moved(self, parts: _Loaded, pictures: Sequence[object]) -> list[Vector]:
        rows = np.asarray(self._rows(parts.vision, pictures), dtype=np.float64)
        dimension, model = parts.profile.dimension, self._chosen.model
        plain = unit_vectors(rows, count=len(pictures), dimension=dimension, model=model)
        return unit_vectors(np.stack(plain) + parts.shift, count=len(plain), dimension=dimension, model=model)

    def _parts(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
            return self._loaded

    def _open(self) -> _Loaded:
        chosen = self._chosen
        with self._failing_clearly("be loaded"):
            text, vision = _opened(chosen, "TextEmbedding", _TEXT), _opened(chosen, "ImageEmbedding", _VISION)
        spoken = unit_vectors(self._rows(text, _SAYINGS), count=len(_SAYINGS), dimension=None, model=chosen.model)
        scenes = _scenes()
        shown = unit_vectors(
            self._rows(vision, scenes), count=len(scenes), dimension=len(spoken[0]), model=chosen.model
        )  # fmt: skip
        shift = np.stack(spoken).mean(axis=0, dtype=np.float64) - np.stack(shown).mean(axis=0, dtype=np.float64)
        traits = chosen.traits or profile_of(chosen.model)
        profile = replace(traits, model=_model_id(chosen), dimension=len(spoken[0]), media=("image",))
        return _Loaded(text=text, vision=vision, profile=profile, shift=shift)

    def _rows(self, model: SupportsEmbed, items: Sequence[object]) -> list[NDArray[np.float32]]:
        with self._failing_clearly("run"):
            return list(model.embed(list(items), batch_size=_AT_ONCE))

    @contextmanager
    def _failing_clearly(self, what: str) -> Generator[None]:
        try:
            yield
        except EmbeddingUnavailable:
            raise
        except Exception as error:
            raise EmbeddingUnavailable(
                f"the model {self._chosen.model!r} cannot {what}: {error}",
                hint="" if self._chosen.download else "fetch it first, or set SCRUBJAY_ALLOW_DOWNLOAD=1",
                model=self._chosen.model,
            ) from error


def _model_id(chosen: ChosenClip) -> str:
    """The name that vectors are stored under; that of a folder names its weights, as others may lie there one day."""
    if chosen.folder is None:
        return chosen.model
    files = (chosen.folder / part / "model.onnx" for part in ("text", "vision"))
    digests = "-".join(digest_of(file, hint=_HINT)[:12] for file in files)
    return f"{chosen.folder.name}-{digests}"


def _opened(chosen: ChosenClip, kind: str, end: str) -> SupportsEmbed:
    try:
        # An extra, and slow to import.
        package = importlib.import_module("fastembed")
    except ImportError as error:
        raise EmbeddingUnavailable(
            "the package fastembed is not installed", hint="install it with: pip install 'scrubjay[fastembed]'"
        ) from error
    folder = chosen.folder
    # A folder's models are of the form of the default ones; the package wants a name all the same.
    name = (DEFAULT_MODEL if folder is not None else chosen.model) + end
    place = {} if folder is None else {"specific_model_path": str(folder / end.lstrip("-"))}
    opener: Callable[..., SupportsEmbed] = getattr(package, kind)
    return opener(
        name,
        # In the data folder: its own default is a shared folder for temporary files.
        cache_dir=str(chosen.cache),
        threads=chosen.threads,
        providers=["CPUExecutionProvider"],
        local_files_only=not chosen.download,
        **place,
    )


def _picture(data: bytes) -> object | None:
    """A picture, made small; None for what is none, or is larger than anybody would look at."""
    images = importlib.import_module("PIL.Image")
    try:
        with warnings.catch_warnings(action="ignore"), images.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > _MOST_PIXELS:
                return None
            image.thumbnail((_ENOUGH, _ENOUGH))
            return image.convert("RGB")
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError, images.DecompressionBombError):
        return None


def _scenes() -> list[object]:
    """Pictures of nothing: plain ones, lines, and noise. They lie where pictures lie, and only their middle counts."""
    images = importlib.import_module("PIL.Image")
    ramp = np.tile(np.linspace(0, 255, _SIDE), (_SIDE, 1))
    stripes = np.tile(np.repeat((0.0, 255.0), 8), (_SIDE, _SIDE // 16))
    chance = np.random.default_rng(7)
    grey = [np.repeat(item[:, :, None], 3, axis=2) for item in (ramp, ramp.T, stripes, stripes.T)]
    plain = [np.full((_SIDE, _SIDE, 3), item, dtype=np.float64) for item in ((0, 0, 0), (255, 255, 255), (90, 140, 60))]
    soft = [chance.uniform(0, 255, size=(8, 8, 3)).repeat(8, axis=0).repeat(8, axis=1) for _ in range(4)]
    return [images.fromarray(item.astype(np.uint8)) for item in (*plain, *grey, *soft)]
