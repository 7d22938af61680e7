"""Which embedder the settings choose."""

from collections.abc import Callable

from scrubjay.embedding.minilm import minilm_embedder
from scrubjay.embedding.none import NoEmbedder
from scrubjay.embedding.openai import OPENAI_URL, openai_embedder
from scrubjay.embedding.sentence_transformers import Chosen, sentence_transformers_embedder
from scrubjay.embedding.service import Service
from scrubjay.embedding.voyage import VOYAGE_URL, voyage_embedder
from scrubjay.errors import InvalidInput
from scrubjay.ports import Embedder
from scrubjay.settings import Settings


def make_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings choose; nothing is loaded before its first use."""
    makers: dict[str, Callable[[], Embedder]] = {
        "minilm": lambda: minilm_embedder(threads=settings.embedding_threads),
        "openai": lambda: openai_embedder(_service(settings, OPENAI_URL)),
        "voyage": lambda: voyage_embedder(_service(settings, VOYAGE_URL)),
        "sentence-transformers": lambda: sentence_transformers_embedder(
            Chosen(model=_model(settings), download=settings.allow_download)
        ),
        "none": NoEmbedder,
    }
    if settings.embedder not in makers:
        raise InvalidInput(
            f"there is no embedder {settings.embedder!r}",
            hint=f"SCRUBJAY_EMBEDDER is one of {', '.join(makers)}",
            setting="SCRUBJAY_EMBEDDER",
        )
    return makers[settings.embedder]()


def _service(settings: Settings, url: str) -> Service:
    return Service(
        url=settings.embedding_url or url,
        model=_model(settings),
        api_key=settings.embedding_key,
        dimensions=settings.embedding_dimension or None,
    )


def _model(settings: Settings) -> str:
    if not settings.embedding_model:
        raise InvalidInput(
            f"the embedder {settings.embedder!r} needs the name of a model",
            hint="Set SCRUBJAY_EMBEDDING_MODEL",
            setting="SCRUBJAY_EMBEDDING_MODEL",
        )
    return settings.embedding_model
