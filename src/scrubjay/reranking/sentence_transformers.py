"""Any cross-encoder of the sentence-transformers package, from this machine's own cache."""

import importlib
from typing import Protocol

from numpy.typing import ArrayLike

from scrubjay.errors import RerankingUnavailable
from scrubjay.reranking.config import Chosen
from scrubjay.reranking.threaded import Patience, Scorer, ThreadedReranker

DEFAULT_MODEL = "cross-encoder/ms-marco-MiniLM-L6-v2"
_TEXTS_A_RUN = 32


class SupportsPredict(Protocol):
    """What we use of a cross-encoder."""

    def predict(self, sentences: list[tuple[str, str]], *, batch_size: int, show_progress_bar: bool) -> ArrayLike: ...


def sentence_transformers_reranker(chosen: Chosen, *, patience: Patience | None = None) -> ThreadedReranker:
    """A reranker over a cross-encoder in this process, loaded when it is first needed."""
    return ThreadedReranker(lambda: open_model(chosen), model=chosen.model, hint=chosen.hint, patience=patience)


def open_model(chosen: Chosen) -> Scorer:
    """The model, by the package that the extra brings."""
    try:
        # An extra, and slow to import; by its name as text, because this module has the same one.
        package = importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise RerankingUnavailable(
            "the package sentence-transformers is not installed",
            hint="Install it with: pip install 'scrubjay[sentence-transformers]'",
        ) from error
    model: SupportsPredict = package.CrossEncoder(
        str(chosen.folder or chosen.model), local_files_only=not chosen.download
    )

    def score(query: str, texts: list[str]) -> ArrayLike:
        pairs = [(query, text) for text in texts]
        return model.predict(pairs, batch_size=_TEXTS_A_RUN, show_progress_bar=False)

    return score
