"""Which embedder the settings choose, and what is known of its model."""

from collections.abc import Callable
from pathlib import Path

from scrubjay.app.profiles import read_profiles
from scrubjay.embedding.clip import DEFAULT_MODEL as CLIP
from scrubjay.embedding.clip import ChosenClip, clip_embedder
from scrubjay.embedding.minilm import minilm_embedder
from scrubjay.embedding.model_folder import folder_embedder
from scrubjay.embedding.none import NoEmbedder
from scrubjay.embedding.openai import OPENAI_URL, openai_embedder
from scrubjay.embedding.profiles import BUNDLED
from scrubjay.embedding.sentence_transformers import Chosen, sentence_transformers_embedder
from scrubjay.embedding.service import Service
from scrubjay.embedding.voyage import VOYAGE_URL, voyage_embedder
from scrubjay.errors import InvalidInput
from scrubjay.ports import Embedder, Profile
from scrubjay.settings import Settings


def make_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings choose; nothing is loaded before its first use."""
    threads = settings.embedding_threads
    makers: dict[str, Callable[[], Embedder]] = {
        "minilm": lambda: minilm_embedder(threads=threads, profile=_traits(settings)),
        "onnx": lambda: _folder_embedder(settings),
        "openai": lambda: openai_embedder(_service(settings, OPENAI_URL)),
        "voyage": lambda: voyage_embedder(_service(settings, VOYAGE_URL)),
        "sentence-transformers": lambda: sentence_transformers_embedder(
            Chosen(model=_model(settings), download=settings.allow_download, traits=_traits(settings))
        ),
        "clip": lambda: clip_embedder(_clip(settings)),
        "none": NoEmbedder,
    }
    if settings.embedder not in makers:
        raise InvalidInput(
            f"there is no embedder {settings.embedder!r}",
            hint=f"SCRUBJAY_EMBEDDER is one of {', '.join(makers)}",
            setting="SCRUBJAY_EMBEDDER",
        )
    return makers[settings.embedder]()


def model_name(settings: Settings) -> str:
    """The name that `profiles.json` knows the chosen model by; nothing when there is none."""
    if settings.embedder == "none":
        return ""
    if settings.embedder == "minilm":
        return BUNDLED
    if settings.embedder == "clip" and not settings.embedding_model:
        return CLIP
    return _folder(settings).name if settings.embedder == "onnx" else _model(settings)


def _traits(settings: Settings) -> Profile:
    return read_profiles(settings.data).of(model_name(settings))


def _folder_embedder(settings: Settings) -> Embedder:
    own = read_profiles(settings.data).own(model_name(settings))
    return folder_embedder(_folder(settings), threads=settings.embedding_threads, own=own)


def _clip(settings: Settings) -> ChosenClip:
    return ChosenClip(
        model=model_name(settings),
        cache=settings.data / "models",
        download=settings.allow_download,
        threads=settings.embedding_threads,
        traits=_traits(settings),
    )


def _service(settings: Settings, url: str) -> Service:
    return Service(
        url=settings.embedding_url or url,
        model=_model(settings),
        api_key=settings.embedding_key,
        dimensions=settings.embedding_dimension or None,
        traits=_traits(settings),
    )


def _folder(settings: Settings) -> Path:
    return Path(_model(settings)).expanduser().absolute()


def _model(settings: Settings) -> str:
    if not settings.embedding_model:
        raise InvalidInput(
            f"the embedder {settings.embedder!r} needs the name of a model",
            hint="Set SCRUBJAY_EMBEDDING_MODEL",
            setting="SCRUBJAY_EMBEDDING_MODEL",
        )
    return settings.embedding_model
