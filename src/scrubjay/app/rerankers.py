"""Which reranker the settings choose."""

from collections.abc import Callable

from scrubjay.errors import InvalidInput
from scrubjay.ports import Reranker
from scrubjay.reranking.cross_encoders import (
    FASTEMBED_MODEL,
    SENTENCE_TRANSFORMERS_MODEL,
    CrossEncoderConfig,
    fastembed_reranker,
    sentence_transformers_reranker,
)
from scrubjay.settings import Settings


def make_reranker(settings: Settings) -> Reranker | None:
    """The reranker that the settings choose, if any; nothing is loaded before its first use."""
    makers: dict[str, Callable[[], Reranker | None]] = {
        "none": lambda: None,
        "sentence-transformers": lambda: sentence_transformers_reranker(
            _config(settings, default=SENTENCE_TRANSFORMERS_MODEL)
        ),
        "fastembed": lambda: fastembed_reranker(_config(settings, default=FASTEMBED_MODEL)),
    }
    if settings.reranker not in makers:
        raise InvalidInput(
            f"there is no reranker {settings.reranker!r}",
            hint=f"SCRUBJAY_RERANKER is one of {', '.join(makers)}",
            setting="SCRUBJAY_RERANKER",
        )
    return makers[settings.reranker]()


def _config(settings: Settings, *, default: str) -> CrossEncoderConfig:
    return CrossEncoderConfig(
        model=settings.reranker_model or default,
        cache=settings.data / "models",
        download=settings.allow_download,
        threads=settings.embedding_threads,
    )
