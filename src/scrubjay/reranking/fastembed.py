"""Any cross-encoder of the fastembed package, which needs no PyTorch: one that it knows, or one in a folder."""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from numpy.typing import ArrayLike

from scrubjay.errors import RerankingUnavailable
from scrubjay.reranking.config import Chosen
from scrubjay.reranking.threaded import Patience, Scorer, ThreadedReranker

DEFAULT_MODEL = "Xenova/ms-marco-MiniLM-L-6-v2"
_TEXTS_A_RUN = 32
_FILES = ("model.onnx", "onnx/model.onnx")


class SupportsRerank(Protocol):
    """What we use of a cross-encoder."""

    def rerank(self, query: str, documents: Iterable[str], batch_size: int) -> Iterable[float]: ...


def fastembed_reranker(chosen: Chosen, *, patience: Patience | None = None) -> ThreadedReranker:
    """A reranker over a cross-encoder in this process, loaded when it is first needed."""
    return ThreadedReranker(lambda: open_model(chosen), model=chosen.model, hint=chosen.hint, patience=patience)


def open_model(chosen: Chosen) -> Scorer:
    """The model, by the package that the extra brings."""
    try:
        # An extra; by its name as text, because this module has the same one.
        package = importlib.import_module("fastembed.rerank.cross_encoder")
    except ImportError as error:
        raise RerankingUnavailable(
            "the package fastembed is not installed", hint="Install it with: pip install 'scrubjay[fastembed]'"
        ) from error
    folder = chosen.folder
    name = chosen.model if folder is None else _registered(folder)
    place = {} if folder is None else {"specific_model_path": str(folder)}
    model: SupportsRerank = package.TextCrossEncoder(
        name,
        # In the data folder: its own default is a shared folder for temporary files.
        cache_dir=str(chosen.cache),
        threads=chosen.threads,
        providers=["CPUExecutionProvider"],
        local_files_only=not chosen.download,
        **place,
    )

    def score(query: str, texts: list[str]) -> ArrayLike:
        return list(model.rerank(query, texts, batch_size=_TEXTS_A_RUN))

    return score


def _registered(folder: Path) -> str:
    """The name under which the package knows a folder's model; it takes none that it has not been told of."""
    file = next((name for name in _FILES if (folder / name).is_file()), None)
    if file is None:
        raise RerankingUnavailable(
            f"there is no model.onnx in {folder}",
            hint="See docs/how-to/rerank.md for what belongs there",
            path=str(folder),
        )
    encoders = importlib.import_module("fastembed.rerank.cross_encoder").TextCrossEncoder
    source = importlib.import_module("fastembed.common.model_description").ModelSource
    name = f"{folder}/{file}"
    if not any(existing["model"].lower() == name.lower() for existing in encoders.list_supported_models()):
        # It must have a source, which is never asked: the model's place is given.
        encoders.add_custom_model(name, sources=source(hf=name), model_file=file)
    return name
