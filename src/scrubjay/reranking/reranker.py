"""Runs a cross-encoder in its own thread, with a time limit for each question."""

import asyncio
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike

from scrubjay.errors import RerankingUnavailable, ScrubjayError
from scrubjay.lazy import dataclass

Scorer = Callable[[str, list[str]], ArrayLike]
"""Scores how well each text answers a question; higher is better."""
Opener = Callable[[], Scorer]
"""Loads a model, which may take seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankLimits:
    """The timeout of a call, the pause after a failure, and the lengths to which texts are cut.

    Models read about 500 tokens of a question and a text together; tokenizing more is wasted time.
    """

    seconds: float = 10.0
    cooldown: float = 30.0
    query_characters: int = 1000
    text_characters: int = 2000


class ThreadedReranker:
    """A `Reranker` over a model in this process, which is loaded on first use."""

    def __init__(self, opener: Opener, *, model: str, hint: str = "", limits: RerankLimits | None = None) -> None:
        self._opener = opener
        self._model = model
        self._hint = hint
        self._limits = limits or RerankLimits()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="scrubjay-reranking")
        self._scorer: Scorer | None = None
        self._overdue: asyncio.Future[list[float]] | None = None
        self._failure: RerankingUnavailable | None = None
        self._paused_until = 0.0
        self._closed = False

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score how well each text answers, in order; raises RerankingUnavailable, also on a timeout."""
        if not texts:
            return []
        self._require_available()
        limits = self._limits
        cut_query = _cut(query, limits.query_characters)
        cut_texts = [_cut(text, limits.text_characters) for text in texts]
        scores = asyncio.get_running_loop().run_in_executor(self._thread, self._score, cut_query, cut_texts)
        try:
            async with asyncio.timeout(limits.seconds):
                return await asyncio.shield(scores)
        except TimeoutError as error:
            self._overdue = scores
            scores.add_done_callback(_ignore_exception)
            raise self._error(
                f"took more than {limits.seconds:g} s",
                hint="Choose a smaller model, or a smaller SCRUBJAY_RERANK_TOP",
            ) from error
        except RerankingUnavailable as error:
            self._failure = error
            self._paused_until = time.monotonic() + limits.cooldown
            raise

    async def close(self) -> None:
        """Release the model once the thread has finished its current call."""
        if not self._closed:
            self._closed = True
            self._thread.submit(self._unload)
            self._thread.shutdown(wait=False)

    def _require_available(self) -> None:
        if self._closed:
            raise self._error("has been closed", hint="Open the memory again")
        if self._overdue is not None and not self._overdue.done():
            raise self._error("is still busy with an earlier question", hint="Ask again in a moment")
        self._overdue = None
        if self._failure is not None and time.monotonic() < self._paused_until:
            raise RerankingUnavailable(self._failure.message, hint=self._failure.hint, **self._failure.fields)

    def _score(self, query: str, texts: list[str]) -> list[float]:
        if self._scorer is None:
            with self._translate_errors("cannot be loaded"):
                self._scorer = self._opener()
        with self._translate_errors("does not run"):
            scores = np.asarray(self._scorer(query, texts), dtype=np.float64)
        if scores.ndim == 2 and scores.shape[1] == 1:  # noqa: PLR2004 - a row for each text, with a single score
            scores = scores[:, 0]
        if scores.shape != (len(texts),) or not np.isfinite(scores).all():
            raise self._error("did not return one number per text", hint="Check that it is a model for reranking")
        return scores.tolist()

    def _unload(self) -> None:
        self._scorer = None

    @contextmanager
    def _translate_errors(self, problem: str) -> Generator[None]:
        try:
            yield
        except ScrubjayError:
            raise
        except Exception as error:  # the edge of a job, and tokenizers raise plain Exception
            raise self._error(f"{problem}: {error}", hint=self._hint) from error

    def _error(self, problem: str, *, hint: str) -> RerankingUnavailable:
        return RerankingUnavailable(f"the cross-encoder {self._model} {problem}", hint=hint, model=self._model)


def _ignore_exception(scores: asyncio.Future[list[float]]) -> None:
    """Retrieve the exception of a call that timed out; the event loop would log it otherwise."""
    if not scores.cancelled():
        scores.exception()


def _cut(text: str, longest: int) -> str:
    """Cut a text, and replace characters that tokenizers cannot encode."""
    return text[:longest].encode("utf-8", "replace").decode("utf-8")
