"""Runs a sentence encoder in ONNX format on the CPU: loading, batches, pooling."""

import ctypes
import hashlib
import math
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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
# A text alone is computed by two threads, after so many of them: the second session takes 27 MB, and 50 ms to open.
_SHARING_THREADS = 2
_OFTEN_ALONE = 16
# The names of the token vectors in different exports.
_OUTPUT_NAMES = ("last_hidden_state", "token_embeddings")
# The inputs of a model that takes the tokens of all texts in one row, and computes each text by itself.
_ONE_BY_ONE = frozenset({"ids", "lengths"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBundle:
    """The parts of a model: profile, file of weights with its digest, tokenizer.

    A dimension of 0 is replaced by the model's own; without a digest, any weights are accepted. `hint` is the hint of
    errors. `alone`: the model has int8 arithmetic, and computes each text by itself: numbers are rounded with one
    scale, so that a vector would depend on the other texts. Its threads have a part of the texts each.
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
        self._loaded: tuple[WordPiece, _Model] | None = None

    def load(self) -> Profile:
        self._parts()
        if not self._profile.dimension:
            (probe,) = self.encode([PROBE])
            self._profile = replace(self._profile, dimension=len(probe))
        if self._bundle.alone:
            self._profile = replace(self._profile, arithmetic=describe_int8())
        return self._profile

    def encode(self, texts: Sequence[str], *, is_alone: bool = False) -> list[Vector]:
        """Return the vectors of texts; a text that `is_alone`, while no other call runs, is computed faster."""
        tokenizer, session = self._parts()
        if not texts:
            return []
        profile = self._profile
        with translate_errors(self._bundle.hint):
            tokens = [tokenizer.encode(text) for text in texts]
            rows = session.encode(tokens, pooling=profile.pooling, is_alone=is_alone)
        vectors = unit_vectors(rows, count=len(texts), dimension=profile.dimension or None, model=profile.model)
        return [blend_unread(vector, tokenizer.unread(text)) for vector, text in zip(vectors, texts, strict=True)]

    def unload(self) -> None:
        with self._lock:
            self._loaded = None

    def _parts(self) -> tuple[WordPiece, "_Model"]:
        with self._lock:
            if self._loaded is None:
                is_alone = self._bundle.alone
                session = self._open(1 if is_alone else self._threads)
                inputs = frozenset(input_.name for input_ in session.get_inputs())
                if inputs == _ONE_BY_ONE:
                    model = _OneByOne(session, threads=self._threads if is_alone else 1, open_another=self._open)
                else:
                    model = _Batches(session, inputs, hint=self._bundle.hint)
                self._loaded = self._bundle.tokenizer(), model
                return_free_memory()
            return self._loaded

    def _open(self, threads: int) -> "InferenceSession":
        bundle = self._bundle
        file = bundle.file()
        if bundle.sha256 and file_digest(file, hint=bundle.hint) != bundle.sha256:
            raise EmbeddingUnavailable("the model file is not the expected one: its SHA-256 differs", hint=bundle.hint)
        with translate_errors(bundle.hint):
            return open_session(file, threads=threads)


class _Model(Protocol):
    """A session of onnxruntime that takes tokens."""

    def encode(self, token_ids: Sequence[Sequence[int]], *, pooling: str, is_alone: bool) -> NDArray[np.float32]:
        """Return a vector for each text, not normalised."""
        ...


class TextwiseSession:
    """A model that computes the texts of a call in a loop of its graph; `lengths` has the number of each text's tokens.

    On several threads each has a part of the texts: threads that share a text wait for each other at every operator.
    """

    def __init__(self, session: "InferenceSession", *, threads: int) -> None:
        self._session = session
        self._outputs = [output.name for output in session.get_outputs()]
        self._threads = threads
        # The calling thread is one of them; none is started before it is needed, and they end with this object.
        self._others = ThreadPoolExecutor(max_workers=max(1, threads - 1), thread_name_prefix="scrubjay-model")

    def run(
        self, lengths: Sequence[int], feed: Callable[[list[int]], Mapping[str, NDArray[Any]]]
    ) -> NDArray[np.float32]:
        """Return a row for each text; `feed` returns the inputs of the texts at some positions."""

        def compute(part: list[int]) -> NDArray[np.float32]:
            counts = np.array([lengths[position] for position in part], dtype=np.int64)
            (rows,) = self._session.run(self._outputs, {**feed(part), "lengths": counts})
            return rows

        by_length = sorted(range(len(lengths)), key=lambda position: -lengths[position])
        parts = [by_length[start :: self._threads] for start in range(min(self._threads, len(lengths)))]
        waiting = [self._others.submit(compute, part) for part in parts[1:]]
        rows = [compute(parts[0]), *(each.result() for each in waiting)]
        return np.concatenate(rows)[np.argsort(np.concatenate(parts))]


class _OneByOne:
    """An encoder that takes the tokens of all texts in one row, and pools them itself.

    Two threads share a text that is alone: it takes less time, but more of the processor's, since they wait for each
    other at every operator. Of several texts each thread has its own. The vectors are the same to the bit.
    """

    def __init__(
        self, session: "InferenceSession", *, threads: int, open_another: Callable[[int], "InferenceSession"]
    ) -> None:
        self._texts = TextwiseSession(session, threads=threads)
        self._open_another = open_another
        # How many more texts alone it takes.
        self._alone = _OFTEN_ALONE if threads > 1 else math.inf
        self._shared: TextwiseSession | None = None

    def encode(self, token_ids: Sequence[Sequence[int]], *, pooling: str, is_alone: bool) -> NDArray[np.float32]:
        del pooling

        def feed(part: list[int]) -> Mapping[str, NDArray[Any]]:
            return {"ids": np.array([token for position in part for token in token_ids[position]], dtype=np.int64)}

        texts = self._share() if is_alone else self._texts
        return texts.run([len(tokens) for tokens in token_ids], feed)

    def _share(self) -> TextwiseSession:
        """Return the session whose threads share a text, once it is open."""
        self._alone -= 1
        if self._alone == 0:
            # It takes as long as many texts.
            threading.Thread(target=self._open_shared, name="scrubjay-model", daemon=True).start()
        return self._shared or self._texts

    def _open_shared(self) -> None:
        # Without it the first session has to do.
        with suppress(EmbeddingUnavailable):
            self._shared = TextwiseSession(self._open_another(_SHARING_THREADS), threads=1)
            return_free_memory()


class _Batches:
    """A model that takes texts of similar length at once; exports differ in their inputs and in their output's name."""

    def __init__(self, session: "InferenceSession", inputs: frozenset[str], *, hint: str) -> None:
        self._session = session
        self._inputs = inputs
        outputs = [output.name for output in session.get_outputs()]
        hidden = [name for name in _OUTPUT_NAMES if name in outputs]
        if not hidden or "input_ids" not in inputs:
            raise EmbeddingUnavailable("the model is not a text encoder with a vector for each token", hint=hint)
        self._output = hidden[0]

    def encode(self, token_ids: Sequence[Sequence[int]], *, pooling: str, is_alone: bool) -> NDArray[np.float32]:
        del is_alone
        runs = list(_split_into_runs(token_ids))
        rows = [self._run([token_ids[position] for position in run], pooling=pooling) for run in runs]
        places = np.argsort(np.concatenate(runs))
        return np.concatenate(rows)[places]

    def _run(self, token_ids: Sequence[Sequence[int]], *, pooling: str) -> NDArray[np.float32]:
        """Return a vector for each text: that of its first token, or the mean of all tokens without the padding."""
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
        weights = mask[:, :, None].astype(np.float32)
        return (hidden * weights).sum(axis=1) / weights.sum(axis=1)


def _split_into_runs(token_ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the positions of texts to run together: of similar length, and not too many."""
    run: list[int] = []
    longest = 0
    for position in sorted(range(len(token_ids)), key=lambda position: -len(token_ids[position])):
        length = len(token_ids[position])
        is_full = len(run) == _MAX_RUN_TEXTS or longest * (len(run) + 1) > _MAX_RUN_TOKENS
        if run and (is_full or longest - length > max(_MAX_PADDING, longest // 8)):
            yield run
            run = []
        if not run:
            longest = length
        run.append(position)
    if run:
        yield run


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
