"""Runs a cross-encoder in one thread of its own, and lets no question wait for it too long."""

import asyncio
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scrubjay.errors import RerankingUnavailable, ScrubjayError

Scorer = Callable[[str, list[str]], ArrayLike]
"""How well each text answers a question, higher being better."""
Opener = Callable[[], Scorer]
"""Loads a model, which may take seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait, how long to leave alone what has failed, and how much of a text to hand over.

    Models read some 500 tokens of a question and a text together; to split more than that into tokens is wasted.
    """

    seconds: float = 10.0
    cooldown: float = 30.0
    query_characters: int = 1000
    text_characters: int = 2000


class ThreadedReranker:
    """A `Reranker` over a model in this process, loaded when it is first needed."""

    def __init__(self, opener: Opener, *, model: str, hint: str = "", patience: Patience | None = None) -> None:
        self._opener = opener
        self._model = model
        self._hint = hint
        self._patience = patience or Patience()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="scrubjay-reranking")
        self._scorer: Scorer | None = None
        self._late: asyncio.Future[list[float]] | None = None
        self._failure: RerankingUnavailable | None = None
        self._rests_until = 0.0
        self._closed = False

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, in order; raises RerankingUnavailable, also when it takes too long."""
        if not texts:
            return []
        self._refuse_if_unfit()
        patience = self._patience
        request = _sound(query, patience.query_characters), [_sound(text, patience.text_characters) for text in texts]
        answer = asyncio.get_running_loop().run_in_executor(self._thread, self._score, *request)
        try:
            async with asyncio.timeout(patience.seconds):
                return await asyncio.shield(answer)
        except TimeoutError as error:
            self._late = answer
            answer.add_done_callback(_forget)
            raise self._error(
                f"took more than {patience.seconds:g} s",
                hint="Choose a smaller model, or a smaller SCRUBJAY_RERANK_TOP",
            ) from error
        except RerankingUnavailable as error:
            self._failure = error
            self._rests_until = time.monotonic() + patience.cooldown
            raise

    async def close(self) -> None:
        """Let go of the model once the thread is done with what it has begun."""
        if not self._closed:
            self._closed = True
            self._thread.submit(self._unload)
            self._thread.shutdown(wait=False)

    def _refuse_if_unfit(self) -> None:
        if self._closed:
            raise self._error("has been closed", hint="Open the memory again")
        if self._late is not None and not self._late.done():
            raise self._error("is still busy with an earlier question", hint="Ask again in a moment")
        self._late = None
        if self._failure is not None and time.monotonic() < self._rests_until:
            raise RerankingUnavailable(self._failure.message, hint=self._failure.hint, **self._failure.fields)

    def _score(self, query: str, texts: list[str]) -> list[float]:
        if self._scorer is None:
            with self._told("cannot be loaded"):
                self._scorer = self._opener()
        with self._told("does not run"):
            scores = np.asarray(self._scorer(query, texts), dtype=np.float64)
        if scores.ndim == 2 and scores.shape[1] == 1:  # noqa: PLR2004 - a row a text, with its one score
            scores = scores[:, 0]
        if scores.shape != (len(texts),) or not np.isfinite(scores).all():
            raise self._error("gave something that is not one number a text", hint="Is it a model for reranking?")
        return scores.tolist()

    def _unload(self) -> None:
        self._scorer = None

    @contextmanager
    def _told(self, what: str) -> Generator[None]:
        try:
            yield
        except ScrubjayError:
            raise
        except Exception as error:  # the edge of a job, and the tokenizers below raise plain Exception
            raise self._error(f"{what}: {error}", hint=self._hint) from error

    def _error(self, what: str, *, hint: str) -> RerankingUnavailable:
        return RerankingUnavailable(f"the cross-encoder {self._model} {what}", hint=hint, model=self._model)


def _forget(answer: asyncio.Future[list[float]]) -> None:
    """Nobody waits any more: its failure is looked at here, or the loop would complain of it."""
    if not answer.cancelled():
        answer.exception()


def _sound(text: str, longest: int) -> str:
    """A text as tokenizers take it: not endless, and Unicode that can be encoded."""
    return text[:longest].encode("utf-8", "replace").decode("utf-8")
