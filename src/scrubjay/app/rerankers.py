"""Which reranker the settings choose."""

from collections.abc import Callable

from scrubjay.errors import InvalidInput
from scrubjay.ports import Reranker
from scrubjay.reranking import fastembed, sentence_transformers
from scrubjay.reranking.config import Chosen
from scrubjay.settings import Settings


def make_reranker(settings: Settings) -> Reranker | None:
    """The reranker that the settings choose, if any; nothing is loaded before its first use."""
    makers: dict[str, Callable[[], Reranker | None]] = {
        "none": lambda: None,
        "sentence-transformers": lambda: sentence_transformers.sentence_transformers_reranker(
            _chosen(settings, default=sentence_transformers.DEFAULT_MODEL)
        ),
        "fastembed": lambda: fastembed.fastembed_reranker(_chosen(settings, default=fastembed.DEFAULT_MODEL)),
    }
    if settings.reranker not in makers:
        raise InvalidInput(
            f"there is no reranker {settings.reranker!r}",
            hint=f"SCRUBJAY_RERANKER is one of {', '.join(makers)}",
            setting="SCRUBJAY_RERANKER",
        )
    return makers[settings.reranker]()


def _chosen(settings: Settings, *, default: str) -> Chosen:
    return Chosen(
        model=settings.reranker_model or default,
        cache=settings.data / "models",
        download=settings.allow_download,
        threads=settings.embedding_threads,
    )
