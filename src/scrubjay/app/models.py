"""The embedder, the reranker and the language model that the settings choose."""

from collections.abc import Callable
from pathlib import Path

from scrubjay.app.profiles import read_profiles
from scrubjay.embedding.bundled import ENCODER, bundled_embedder, minilm_embedder
from scrubjay.embedding.clip import CLIP_MODEL, ClipConfig, clip_embedder
from scrubjay.embedding.model_folder import folder_embedder
from scrubjay.embedding.none import NoEmbedder
from scrubjay.embedding.pair_model import OnnxPairModel, ThreadedPairReader, bundled_folder
from scrubjay.embedding.profiles import BUNDLED, MINILM, STATIC
from scrubjay.embedding.remote import OPENAI_URL, VOYAGE_URL, openai_embedder, voyage_embedder
from scrubjay.embedding.sentence_transformers import SentenceTransformerConfig, sentence_transformers_embedder
from scrubjay.embedding.service import EmbeddingService
from scrubjay.embedding.static import static_embedder
from scrubjay.errors import InvalidInput
from scrubjay.llm.client import LanguageModel, LlmConfig
from scrubjay.ports import Clock, DocumentStore, Embedder, Llm, PairReader, Profile, Reranker
from scrubjay.reranking.cross_encoders import (
    FASTEMBED_MODEL,
    SENTENCE_TRANSFORMERS_MODEL,
    CrossEncoderConfig,
    fastembed_reranker,
    sentence_transformers_reranker,
)
from scrubjay.settings import Settings

EMBEDDERS = (
    "bundled", "static", "onnx", "openai", "voyage", "sentence-transformers", "multilingual", "clip", "minilm", "none"
)  # fmt: skip
# The embedders that are one model each.
SINGLE_MODELS = {"bundled": BUNDLED, "static": STATIC, "minilm": MINILM}
# The models of embedders that need no name.
_DEFAULT_MODELS = {"clip": CLIP_MODEL, "multilingual": "intfloat/multilingual-e5-small"}


def make_embedder(settings: Settings) -> Embedder:
    """Return the chosen embedder; its model is loaded on first use."""
    threads = settings.embedding_threads
    makers: dict[str, Callable[[], Embedder]] = {
        "bundled": lambda: bundled_embedder(threads=threads, profile=_profile(settings)),
        "static": lambda: static_embedder(profile=_profile(settings)),
        "minilm": lambda: minilm_embedder(threads=threads, profile=_profile(settings)),
        "onnx": lambda: _folder_embedder(settings),
        "openai": lambda: openai_embedder(_service(settings, OPENAI_URL)),
        "voyage": lambda: voyage_embedder(_service(settings, VOYAGE_URL)),
        "sentence-transformers": lambda: sentence_transformers_embedder(_sentence_transformer(settings)),
        "multilingual": lambda: sentence_transformers_embedder(_sentence_transformer(settings)),
        "clip": lambda: clip_embedder(_clip(settings)),
        "none": NoEmbedder,
    }
    if settings.embedder not in makers:
        raise InvalidInput(
            f"there is no embedder {settings.embedder!r}",
            hint=f"SCRUBJAY_EMBEDDER is one of {', '.join(EMBEDDERS)}",
            setting="SCRUBJAY_EMBEDDER",
        )
    return makers[settings.embedder]()


def model_name(settings: Settings) -> str:
    """Return the name of the chosen model in `profiles.json`; empty without a model."""
    if settings.embedder == "none":
        return ""
    if settings.embedder in SINGLE_MODELS:
        return SINGLE_MODELS[settings.embedder]
    if settings.embedder in _DEFAULT_MODELS and not settings.embedding_model:
        return _DEFAULT_MODELS[settings.embedder]
    return _folder(settings).name if settings.embedder == "onnx" else _model(settings)


def make_reranker(settings: Settings) -> Reranker | None:
    """Return the chosen reranker, if any; its model is loaded on first use."""
    makers: dict[str, Callable[[], Reranker | None]] = {
        "none": lambda: None,
        "sentence-transformers": lambda: sentence_transformers_reranker(
            _cross_encoder(settings, default=SENTENCE_TRANSFORMERS_MODEL)
        ),
        "fastembed": lambda: fastembed_reranker(_cross_encoder(settings, default=FASTEMBED_MODEL)),
    }
    if settings.reranker not in makers:
        raise InvalidInput(
            f"there is no reranker {settings.reranker!r}",
            hint=f"SCRUBJAY_RERANKER is one of {', '.join(makers)}",
            setting="SCRUBJAY_RERANKER",
        )
    return makers[settings.reranker]()


def make_pair_model(settings: Settings) -> PairReader | None:
    """Return the model that reads two texts together, if writes or recall use one; it is loaded on first use.

    The bundled one belongs to the bundled embedder: another embedder was chosen for its cost or its languages.
    """
    if settings.pair_model not in ("auto", "off"):
        folder = Path(settings.pair_model).expanduser().absolute()
    elif settings.embedder == "bundled" and (settings.pair_model == "auto" or settings.reader):
        folder = bundled_folder()
    else:
        return None
    return ThreadedPairReader(OnnxPairModel(folder, encoder=ENCODER.file, threads=settings.embedding_threads))


def make_llm(settings: Settings, *, documents: DocumentStore, clock: Clock) -> Llm | None:
    """Return the chosen language model, if any; its library is loaded on first use."""
    if settings.llm == "off":
        return None
    provider, _, name = settings.llm.partition(":")
    model = settings.llm_model or name
    if not provider or not model:
        raise InvalidInput(
            f"the language model {settings.llm!r} needs a name",
            hint="Set SCRUBJAY_LLM_MODEL, as its provider spells it",
            setting="SCRUBJAY_LLM_MODEL",
        )
    config = LlmConfig(
        provider=provider,
        model=model,
        url=settings.llm_url,
        key=settings.llm_key,
        seconds=settings.llm_seconds,
        daily_calls=settings.llm_daily_calls,
        daily_tokens=settings.llm_daily_tokens,
        price=settings.token_price,
    )
    return LanguageModel(config, documents=documents, clock=clock)


def _profile(settings: Settings) -> Profile:
    return read_profiles(settings.data).get(model_name(settings))


def _folder_embedder(settings: Settings) -> Embedder:
    overrides = read_profiles(settings.data).overrides(model_name(settings))
    return folder_embedder(_folder(settings), threads=settings.embedding_threads, overrides=overrides)


def _clip(settings: Settings) -> ClipConfig:
    return ClipConfig(
        model=model_name(settings),
        cache=settings.data / "models",
        download=settings.allow_download,
        threads=settings.embedding_threads,
        profile=_profile(settings),
    )


def _sentence_transformer(settings: Settings) -> SentenceTransformerConfig:
    return SentenceTransformerConfig(
        model=model_name(settings), download=settings.allow_download, profile=_profile(settings)
    )


def _service(settings: Settings, url: str) -> EmbeddingService:
    return EmbeddingService(
        url=settings.embedding_url or url,
        model=_model(settings),
        api_key=settings.embedding_key,
        dimensions=settings.embedding_dimension or None,
        model_profile=_profile(settings),
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


def _cross_encoder(settings: Settings, *, default: str) -> CrossEncoderConfig:
    return CrossEncoderConfig(
        model=settings.reranker_model or default,
        cache=settings.data / "models",
        download=settings.allow_download,
        threads=settings.embedding_threads,
    )
