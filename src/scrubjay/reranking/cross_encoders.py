"""Cross-encoders of the packages fastembed (without PyTorch) and sentence-transformers, by name or from a folder."""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from numpy.typing import ArrayLike

from scrubjay.errors import RerankingUnavailable
from scrubjay.lazy import dataclass
from scrubjay.reranking.reranker import RerankLimits, Scorer, ThreadedReranker

FASTEMBED_MODEL = "Xenova/ms-marco-MiniLM-L-6-v2"
SENTENCE_TRANSFORMERS_MODEL = "cross-encoder/ms-marco-MiniLM-L6-v2"
_BATCH_SIZE = 32
_MODEL_FILES = ("model.onnx", "onnx/model.onnx")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossEncoderConfig:
    """The name or folder of a model. It is downloaded only if `download` allows it."""

    model: str
    cache: Path
    download: bool = False
    threads: int = 2

    @property
    def folder(self) -> Path | None:
        """The folder of the model, if `model` is a path."""
        path = Path(self.model).expanduser().absolute()
        return path if path.is_dir() else None

    @property
    def hint(self) -> str:
        """The hint of an error when the model cannot be loaded."""
        if self.download:
            return "Check SCRUBJAY_RERANKER_MODEL and the network connection"
        return "Set SCRUBJAY_ALLOW_DOWNLOAD=true once to download it, or set SCRUBJAY_RERANKER_MODEL to its folder"


class SupportsRerank(Protocol):
    """The part of fastembed's cross-encoder that is used here."""

    def rerank(self, query: str, documents: Iterable[str], batch_size: int) -> Iterable[float]: ...


class SupportsPredict(Protocol):
    """The part of sentence-transformers' cross-encoder that is used here."""

    def predict(self, sentences: list[tuple[str, str]], *, batch_size: int, show_progress_bar: bool) -> ArrayLike: ...


def fastembed_reranker(config: CrossEncoderConfig, *, limits: RerankLimits | None = None) -> ThreadedReranker:
    """Make a reranker over a model of fastembed, which is loaded on first use."""
    return ThreadedReranker(lambda: _open_fastembed(config), model=config.model, hint=config.hint, limits=limits)


def sentence_transformers_reranker(
    config: CrossEncoderConfig, *, limits: RerankLimits | None = None
) -> ThreadedReranker:
    """Make a reranker over a model of sentence-transformers, which is loaded on first use."""
    return ThreadedReranker(
        lambda: _open_sentence_transformers(config), model=config.model, hint=config.hint, limits=limits
    )


def _open_fastembed(config: CrossEncoderConfig) -> Scorer:
    try:
        package = importlib.import_module("fastembed.rerank.cross_encoder")
    except ImportError as error:
        raise RerankingUnavailable(
            "the package fastembed is not installed", hint="Install it with: pip install 'scrubjay[fastembed]'"
        ) from error
    folder = config.folder
    name = config.model if folder is None else _register_folder(folder)
    location = {} if folder is None else {"specific_model_path": str(folder)}
    model: SupportsRerank = package.TextCrossEncoder(
        name,
        # In the data folder: the package's default is a shared folder for temporary files.
        cache_dir=str(config.cache),
        threads=config.threads,
        providers=["CPUExecutionProvider"],
        local_files_only=not config.download,
        **location,
    )

    def score(query: str, texts: list[str]) -> ArrayLike:
        return list(model.rerank(query, texts, batch_size=_BATCH_SIZE))

    return score


def _register_folder(folder: Path) -> str:
    """Register a folder's model with fastembed, which loads only models in its registry, and return its name."""
    file = next((name for name in _MODEL_FILES if (folder / name).is_file()), None)
    if file is None:
        raise RerankingUnavailable(
            f"there is no model.onnx in {folder}",
            hint="docs/how-to/rerank.md lists the files that belong there",
            path=str(folder),
        )
    registry = importlib.import_module("fastembed.rerank.cross_encoder").TextCrossEncoder
    source = importlib.import_module("fastembed.common.model_description").ModelSource
    name = f"{folder}/{file}"
    if not any(entry["model"].lower() == name.lower() for entry in registry.list_supported_models()):
        # A source is required but never used, because the path of the model is passed.
        registry.add_custom_model(name, sources=source(hf=name), model_file=file)
    return name


def _open_sentence_transformers(config: CrossEncoderConfig) -> Scorer:
    try:
        # An extra, and slow to import.
        package = importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise RerankingUnavailable(
            "the package sentence-transformers is not installed",
            hint="Install it with: pip install 'scrubjay[sentence-transformers]'",
        ) from error
    model: SupportsPredict = package.CrossEncoder(
        str(config.folder or config.model), local_files_only=not config.download
    )

    def score(query: str, texts: list[str]) -> ArrayLike:
        pairs = [(query, text) for text in texts]
        return model.predict(pairs, batch_size=_BATCH_SIZE, show_progress_bar=False)

    return score
