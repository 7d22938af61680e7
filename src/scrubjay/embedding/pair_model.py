"""A model that reads two texts together: what the later of two statements does to the earlier one.

A folder with `model.onnx` and `profile.json`, made by `training/`; one is part of the installation. Its vectors of
words are those of the encoder that it was trained beside, in whose file `profile.json` says where they stand.
"""

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from scrubjay.embedding.onnx import (
    TextwiseSession,
    file_digest,
    open_session,
    return_free_memory,
    translate_errors,
)
from scrubjay.embedding.wordpiece import WordPiece, load_vocabulary
from scrubjay.errors import EmbeddingUnavailable, RerankingUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.conflict import DatedStatement, PairShares
from scrubjay.text.claims.pairs import written_pair

_LABELS = ("same", "more", "changes", "contradicts", "near", "unrelated")
_HINT = "SCRUBJAY_PAIR_MODEL names a folder that was made for the bundled encoder: docs/how-to/embedders.md"
_MAX_TOKENS = 512
# A machine that needs longer for a call several times in a row, some fifty times what is usual, is too slow for the
# model. After the pause it is tried again: another program may have kept the machine busy.
_SLOW_SECONDS = 2.0
_SLOW_CALLS = 3
_PAUSE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class _Words:
    """The encoder's vectors of words: bytes with a scale for each row, read from its file when they are needed."""

    rows: NDArray[np.int8]
    scales: NDArray[np.float32]

    def __getitem__(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.rows[ids].astype(np.float32) * self.scales[ids]


@dataclass(frozen=True, slots=True)
class _Parts:
    session: TextwiseSession
    words: _Words
    tokenizer: WordPiece
    longest: int
    first: int
    name: str


def bundled_folder() -> Path:
    """Return the folder of the model that is part of the installation."""
    return Path(str(resources.files("scrubjay.embedding").joinpath("pairs")))


class OnnxPairModel:
    """The model of a folder, loaded on first use; `encoder` gives the file that has its words."""

    def __init__(self, folder: Path, *, encoder: Callable[[], Path], threads: int = 0) -> None:
        self._folder, self._encoder, self._threads = folder, encoder, threads or 2
        self._lock = threading.Lock()
        self._loaded: _Parts | None = None

    def read(self, texts: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Return a row for each pair: the logits of the labels, then that of "the second answers the first"."""
        parts = self._parts()
        encoded = [_join(parts, *pair) for pair in texts]
        if not encoded:
            return np.zeros((0, len(_LABELS) + 1), dtype=np.float32)

        def feed(part: list[int]) -> dict[str, NDArray[Any]]:
            pairs = [encoded[position] for position in part]
            ids = np.array([token for tokens, _ in pairs for token in tokens], dtype=np.int64)
            kinds = [place >= second for tokens, second in pairs for place in range(len(tokens))]
            return {"words": parts.words[ids], "kinds": np.array(kinds, dtype=np.int64)}

        with translate_errors(_HINT):
            rows = parts.session.run([len(tokens) for tokens, _ in encoded], feed)
        if not np.isfinite(rows).all():
            raise EmbeddingUnavailable(f"the model in {self._folder} does not return numbers", hint=_HINT)
        return rows

    def load(self) -> str:
        """Load the weights, and return the name of the model."""
        return self._parts().name

    def unload(self) -> None:
        """Release the weights."""
        with self._lock:
            self._loaded = None

    def _parts(self) -> _Parts:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> _Parts:
        file, encoder = self._folder / "model.onnx", self._encoder()
        profile = _read_profile(self._folder / "profile.json")
        for path, key in ((file, "sha256"), (encoder, "encoder")):
            if file_digest(path, hint=_HINT) != profile[key]:
                raise EmbeddingUnavailable(
                    f"{path} is not the file that {self._folder / 'profile.json'} names: its SHA-256 differs",
                    hint=_HINT,
                )
        words = profile["words"]
        rows = np.memmap(encoder, np.int8, "r", words["at"], (words["rows"], words["width"]))
        scales = np.memmap(encoder, np.uint8, "r", words["scales_at"], (words["rows"] * 4,))
        with translate_errors(_HINT):
            session = TextwiseSession(open_session(file, threads=1), threads=self._threads)
        return_free_memory()
        return _Parts(
            session,
            # The scales need not stand at a multiple of four.
            _Words(rows, np.frombuffer(scales.tobytes(), dtype=np.float32)[:, None]),
            WordPiece(load_vocabulary(), max_tokens=profile["longest"]),
            profile["longest"],
            profile["first"],
            str(profile.get("name") or self._folder.name),
        )


def _read_profile(file: Path) -> dict[str, Any]:
    try:
        value: object = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise EmbeddingUnavailable(f"{file} cannot be read ({error})", hint=_HINT) from error
    profile = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    words = profile.get("words")
    numbers = [profile.get("longest"), profile.get("first")]
    numbers += (
        [cast("dict[str, Any]", words).get(name) for name in ("at", "scales_at", "rows", "width")] if words else [None]
    )
    is_sound = all(isinstance(number, int) and number > 0 for number in numbers)
    if not is_sound or profile["longest"] > _MAX_TOKENS or tuple(profile.get("labels", ())) != _LABELS:
        raise EmbeddingUnavailable(f"{file} is of another version", hint=_HINT)
    return profile


def _join(parts: _Parts, first: str, second: str) -> tuple[list[int], int]:
    """Return the tokens of a pair, each text cut to its share, and where the second one begins."""
    ids = parts.tokenizer.encode(first)
    begun = [*ids[: parts.first + 1], ids[-1]] if len(ids) > parts.first + 2 else ids
    more = parts.tokenizer.encode(second)[1:-1]
    return [*begun, *more[: parts.longest - len(begun) - 1], ids[-1]], len(begun)


class ThreadedPairReader:
    """A `PairReader` over a model in this process, in a thread of its own."""

    def __init__(self, model: OnnxPairModel, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._model, self._clock = model, clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="scrubjay-pairs")
        self._seconds: deque[float] = deque(maxlen=_SLOW_CALLS)
        self._paused_until = 0.0

    async def name(self) -> str:
        """Return the name of the model; raises EmbeddingUnavailable."""
        self._require_speed()
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._model.load)

    async def judge(self, pairs: Sequence[tuple[DatedStatement, DatedStatement]]) -> list[PairShares]:
        """Return what the second of each two statements does to the first; raises EmbeddingUnavailable."""
        texts = [written_pair(older, newer) for older, newer in pairs]
        logits = await self._read(texts)
        exponents = np.exp(logits[:, :-1] - logits[:, :-1].max(axis=1, keepdims=True))
        shares = (exponents / exponents.sum(axis=1, keepdims=True)).tolist()
        return [
            PairShares(same=row[0], more=row[1], changes=row[2], contradicts=row[3], unrelated=row[4] + row[5])
            for row in shares
        ]

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the logit of "it answers the question" for each text; raises RerankingUnavailable."""
        try:
            logits = await self._read([(query, text) for text in texts])
        except EmbeddingUnavailable as error:
            raise RerankingUnavailable(error.message, hint=error.hint) from error
        return logits[:, -1].tolist()

    async def close(self) -> None:
        """Release the model once the thread has finished its current call."""
        self._thread.submit(self._model.unload)
        self._thread.shutdown(wait=False)

    async def _read(self, texts: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        self._require_speed()
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._timed_read, texts)

    def _timed_read(self, texts: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        self._model.load()
        began = self._clock()
        rows = self._model.read(texts)
        now = self._clock()
        self._seconds.append(now - began)
        if len(self._seconds) == _SLOW_CALLS and min(self._seconds) > _SLOW_SECONDS:
            self._seconds.clear()
            self._paused_until = now + _PAUSE_SECONDS
        return rows

    def _require_speed(self) -> None:
        if self._clock() < self._paused_until:
            raise EmbeddingUnavailable(
                f"this machine is too slow for the model: more than {_SLOW_SECONDS:.0f} seconds for a few statements",
                hint="SCRUBJAY_PAIR_MODEL=off switches it off",
            )
