"""Runs a sentence encoder in the ONNX format on the CPU: loading, batches, pooling."""

import ctypes
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scrubjay.embedding.vectors import unit_vectors
from scrubjay.embedding.wordpiece import WordPiece
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

# Measured with MiniLM: a run costs a fixed 2 ms, and 0.2 ms a token. Short texts share the fixed part;
# beyond 512 tokens nothing is gained, and a question that arrives meanwhile would wait longer.
_TEXTS_A_RUN = 16
_TOKENS_A_RUN = 512
_PADDING = 8
_MOST_THREADS = 4
_PROBE = "How many numbers has a vector?"
_REINSTALL = "reinstall scrubjay, or choose another embedder"
# What exports call the vectors of the tokens.
_HIDDEN = ("last_hidden_state", "token_embeddings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """All that makes up a model: its profile, its weights with their digest, its tokenizer.

    A profile without a dimension takes what the model gives; without a digest any weights will do. `hint` is what to
    do when the model cannot be used.
    """

    profile: Profile
    file: Callable[[], Path]
    tokenizer: Callable[[], WordPiece]
    sha256: str = ""
    hint: str = _REINSTALL


class OnnxModel:
    """A sentence encoder, loaded when it is first needed; how it pools is in its profile."""

    def __init__(self, bundle: Bundle, *, threads: int = 0) -> None:
        self._bundle = bundle
        self._profile = bundle.profile
        self._threads = threads or min(_MOST_THREADS, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._loaded: tuple[WordPiece, _Session] | None = None

    def load(self) -> Profile:
        self._parts()
        if not self._profile.dimension:
            (probe,) = self.encode([_PROBE])
            self._profile = replace(self._profile, dimension=len(probe))
        return self._profile

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        tokenizer, session = self._parts()
        profile = self._profile
        encoded = [tokenizer.encode(text) for text in texts]
        vectors: dict[int, Vector] = {}
        for run in _runs(encoded):
            with _mapped_errors(self._bundle.hint):
                rows = session.pooled([encoded[at] for at in run], pooling=profile.pooling)
            made = unit_vectors(rows, count=len(run), dimension=profile.dimension or None, model=profile.model)
            vectors.update(zip(run, made, strict=True))
        return [vectors[at] for at in range(len(texts))]

    def unload(self) -> None:
        with self._lock:
            self._loaded = None

    def _parts(self) -> tuple[WordPiece, "_Session"]:
        with self._lock:
            if self._loaded is None:
                bundle = self._bundle
                file = bundle.file()
                if bundle.sha256 and digest_of(file, hint=bundle.hint) != bundle.sha256:
                    raise EmbeddingUnavailable(
                        "the model file is not the one it should be: its SHA-256 differs", hint=bundle.hint
                    )
                with _mapped_errors(bundle.hint):
                    session = _Session(_open_session(file, threads=self._threads), hint=bundle.hint)
                self._loaded = bundle.tokenizer(), session
                _give_memory_back()
            return self._loaded


def _runs(encoded: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Positions of texts that are run together: of like length, and not too many."""
    run: list[int] = []
    longest = 0
    for at in sorted(range(len(encoded)), key=lambda at: -len(encoded[at])):
        length = len(encoded[at])
        full = len(run) == _TEXTS_A_RUN or longest * (len(run) + 1) > _TOKENS_A_RUN
        if run and (full or longest - length > max(_PADDING, longest // 8)):
            yield run
            run = []
        if not run:
            longest = length
        run.append(at)
    if run:
        yield run


class _Session:
    """An encoder that runs: exports differ in which inputs they take and in what they call their output."""

    def __init__(self, session: "InferenceSession", *, hint: str) -> None:
        self._session = session
        self._inputs = frozenset(input_.name for input_ in session.get_inputs())
        outputs = [output.name for output in session.get_outputs()]
        hidden = [name for name in _HIDDEN if name in outputs]
        if not hidden or "input_ids" not in self._inputs:
            raise EmbeddingUnavailable("the model is no text encoder whose tokens have vectors", hint=hint)
        self._output = hidden[0]

    def pooled(self, encoded: Sequence[Sequence[int]], *, pooling: str) -> NDArray[np.float32]:
        """One vector a text: that of its first token, or the mean of all, without the padding."""
        ids = np.zeros((len(encoded), max(map(len, encoded))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(encoded):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        (hidden,) = self._session.run([self._output], self._feed(ids, mask))
        if pooling == "cls":
            return hidden[:, 0]
        weights = mask[:, :, None].astype(np.float32)
        return (hidden * weights).sum(axis=1) / weights.sum(axis=1)

    def _feed(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Mapping[str, NDArray[np.int64]]:
        existing = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return {name: values for name, values in existing.items() if name in self._inputs}


def digest_of(file: Path, *, hint: str) -> str:
    """The SHA-256 of a model's weights."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise EmbeddingUnavailable(f"the model file cannot be read: {error.strerror}", hint=hint) from error


def _open_session(file: Path, *, threads: int) -> "InferenceSession":
    import onnxruntime  # noqa: PLC0415 - costs 20 MB and 50 ms, which only those who embed should pay

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # The arena keeps the memory of the largest batch there ever was: hundreds of megabytes.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    # Threads that spin after a run take the CPU from everyone else.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # By its path: a session made from bytes keeps them.
    return onnxruntime.InferenceSession(os.fspath(file), options, providers=["CPUExecutionProvider"])


@contextmanager
def _mapped_errors(hint: str) -> Generator[None]:
    try:
        yield
    except ImportError as error:
        raise EmbeddingUnavailable("onnxruntime, which runs the local model, is missing", hint=_REINSTALL) from error
    except _native_errors() as error:
        raise EmbeddingUnavailable(f"the local model does not run: {error}", hint=hint) from error


def _native_errors() -> tuple[type[Exception], ...]:
    """The errors of onnxruntime, which have no class in common."""
    from onnxruntime.capi import onnxruntime_pybind11_state as native  # noqa: PLC0415 - as above

    return (
        native.EPFail,
        native.Fail,
        native.InvalidArgument,
        native.InvalidGraph,
        native.InvalidProtobuf,
        native.NotImplemented,
        native.RuntimeException,
    )


def _give_memory_back() -> None:
    """Loading leaves 60 MB of garbage on glibc's heap, which it keeps unless asked."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
