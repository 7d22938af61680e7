"""Runs a sentence encoder in ONNX format on the CPU: loading, batches, pooling."""

import ctypes
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scrubjay.embedding.cpu import describe_int8
from scrubjay.embedding.vectors import PROBE, blend_unread, unit_vectors
from scrubjay.embedding.wordpiece import WordPiece
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

# Measured with a model in fp32: a run costs 2 ms, and 0.2 ms per token. Short texts share the fixed part; more than 512
# tokens gain nothing, and a question that arrives meanwhile would wait longer.
_MAX_RUN_TEXTS = 16
_MAX_RUN_TOKENS = 512
_MAX_PADDING = 8
_MAX_THREADS = 4
_REINSTALL = "reinstall scrubjay, or choose another embedder"
# The names of the token vectors in different exports.
_OUTPUT_NAMES = ("last_hidden_state", "token_embeddings")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBundle:
    """The parts of a model: profile, file of weights with its digest, tokenizer.

    A dimension of 0 is replaced by the model's own; without a digest, any weights are accepted. `hint` is the hint of
    errors. `alone`: the model has int8 arithmetic, and each text is a run of its own: the numbers of a run are rounded
    with one scale, so that a vector would depend on the other texts.
    """

    profile: Profile
    file: Callable[[], Path]
    tokenizer: Callable[[], WordPiece]
    sha256: str = ""
    hint: str = _REINSTALL
    alone: bool = False


class OnnxModel:
    """A sentence encoder, loaded on first use; its profile names the pooling."""

    def __init__(self, bundle: ModelBundle, *, threads: int = 0) -> None:
        self._bundle = bundle
        self._profile = bundle.profile
        self._threads = threads or min(_MAX_THREADS, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._loaded: tuple[WordPiece, _Session] | None = None

    def load(self) -> Profile:
        self._parts()
        if not self._profile.dimension:
            (probe,) = self.encode([PROBE])
            self._profile = replace(self._profile, dimension=len(probe))
        if self._bundle.alone:
            self._profile = replace(self._profile, arithmetic=describe_int8())
        return self._profile

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        tokenizer, session = self._parts()
        profile = self._profile
        token_ids = [tokenizer.encode(text) for text in texts]
        runs = list(_split_into_runs(token_ids, most=1 if self._bundle.alone else _MAX_RUN_TEXTS))
        with translate_errors(self._bundle.hint):
            rows = [
                session.encode([token_ids[position] for position in run], pooling=profile.pooling) for run in runs
            ]  # fmt: skip
        if not rows:
            return []
        # All at once: between two runs the model is idle, and other threads wait for the interpreter.
        normalized = unit_vectors(
            np.concatenate(rows), count=len(texts), dimension=profile.dimension or None, model=profile.model
        )
        vectors = dict(zip(chain.from_iterable(runs), normalized, strict=True))
        return [blend_unread(vectors[position], tokenizer.unread(text)) for position, text in enumerate(texts)]

    def unload(self) -> None:
        with self._lock:
            self._loaded = None

    def _parts(self) -> tuple[WordPiece, "_Session"]:
        with self._lock:
            if self._loaded is None:
                bundle = self._bundle
                file = bundle.file()
                if bundle.sha256 and file_digest(file, hint=bundle.hint) != bundle.sha256:
                    raise EmbeddingUnavailable(
                        "the model file is not the expected one: its SHA-256 differs", hint=bundle.hint
                    )
                with translate_errors(bundle.hint):
                    session = _Session(open_session(file, threads=self._threads), hint=bundle.hint)
                self._loaded = bundle.tokenizer(), session
                return_free_memory()
            return self._loaded


def _split_into_runs(token_ids: Sequence[Sequence[int]], *, most: int = _MAX_RUN_TEXTS) -> Iterator[list[int]]:
    """Yield the positions of texts to run together: of similar length, and not too many."""
    run: list[int] = []
    longest = 0
    for position in sorted(range(len(token_ids)), key=lambda position: -len(token_ids[position])):
        length = len(token_ids[position])
        is_full = len(run) == most or longest * (len(run) + 1) > _MAX_RUN_TOKENS
        if run and (is_full or longest - length > max(_MAX_PADDING, longest // 8)):
            yield run
            run = []
        if not run:
            longest = length
        run.append(position)
    if run:
        yield run


class _Session:
    """A session of onnxruntime; exports differ in their inputs and in the name of their output."""

    def __init__(self, session: "InferenceSession", *, hint: str) -> None:
        self._session = session
        self._inputs = frozenset(input_.name for input_ in session.get_inputs())
        outputs = [output.name for output in session.get_outputs()]
        hidden = [name for name in _OUTPUT_NAMES if name in outputs]
        if not hidden or "input_ids" not in self._inputs:
            raise EmbeddingUnavailable("the model is not a text encoder with a vector for each token", hint=hint)
        self._output = hidden[0]

    def encode(self, token_ids: Sequence[Sequence[int]], *, pooling: str) -> NDArray[np.float32]:
        """Return a vector for each text: that of its first token, or the mean of all tokens without the padding."""
        if len(token_ids) == 1:
            ids = np.array(token_ids, dtype=np.int64)
            mask = np.ones_like(ids)
        else:
            ids = np.zeros((len(token_ids), max(map(len, token_ids))), dtype=np.int64)
            mask = np.zeros_like(ids)
            for row, tokens in enumerate(token_ids):
                ids[row, : len(tokens)] = tokens
                mask[row, : len(tokens)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {name: values for name, values in inputs.items() if name in self._inputs}
        (hidden,) = self._session.run([self._output], feed)
        if pooling == "cls":
            return hidden[:, 0]
        if len(token_ids) == 1:
            return hidden.sum(axis=1) / np.float32(len(token_ids[0]))
        weights = mask[:, :, None].astype(np.float32)
        return (hidden * weights).sum(axis=1) / weights.sum(axis=1)


def file_digest(file: Path, *, hint: str) -> str:
    """Return the SHA-256 of a model's weights."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise EmbeddingUnavailable(f"the model file cannot be read: {error.strerror}", hint=hint) from error


def open_session(file: Path, *, threads: int) -> "InferenceSession":
    import onnxruntime  # noqa: PLC0415 - costs 20 MB and 50 ms, needed only for embedding

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # The arena would keep the memory of the largest batch: hundreds of megabytes.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    # Threads that spin after a run take CPU time from other work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # From a path: a session made from bytes keeps them in memory.
    return onnxruntime.InferenceSession(os.fspath(file), options, providers=["CPUExecutionProvider"])


@contextmanager
def translate_errors(hint: str) -> Generator[None]:
    try:
        yield
    except ImportError as error:
        raise EmbeddingUnavailable("onnxruntime, which runs the local model, is missing", hint=_REINSTALL) from error
    except _native_errors() as error:
        raise EmbeddingUnavailable(f"the local model does not run: {error}", hint=hint) from error


def _native_errors() -> tuple[type[Exception], ...]:
    """Return the errors of onnxruntime, which have no common class."""
    from onnxruntime.capi import onnxruntime_pybind11_state as native  # noqa: PLC0415 - loaded by now

    return (
        native.EPFail,
        native.Fail,
        native.InvalidArgument,
        native.InvalidGraph,
        native.InvalidProtobuf,
        native.NotImplemented,
        native.RuntimeException,
    )


def return_free_memory() -> None:
    """Trim the heap: loading leaves 60 MB of garbage on glibc's heap, which glibc keeps by default."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
