"""A process that answers the questions of a daemon: `python -m scrubjay.app.recall_processes DESCRIPTOR`.

It ends with the socket that the daemon has opened.
"""

import asyncio
import gc
import os
import socket
import sys
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, cast

from scrubjay import telemetry
from scrubjay.app.recall_processes.messages import (
    Message,
    ModelCall,
    ModelResult,
    ProcessConnection,
    ProcessReady,
    RecallAnswer,
    RecallQuestion,
    SearchCall,
    pack,
    pack_seconds,
    unpack,
)
from scrubjay.app.stores import hold_folder, open_sqlite
from scrubjay.locking import FileLock
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.ports import Profile
from scrubjay.recalling.pipeline import RecallContext, answer_question
from scrubjay.settings import Settings

# As in a daemon.
_GC_THRESHOLDS = (50_000, 20, 100)


class _Daemon(ProcessConnection):
    """The daemon, seen from here: it sends its settings, then questions and the results of its models."""

    def __init__(self) -> None:
        super().__init__()
        self.is_gone = asyncio.Event()
        self.stages = _Stages()
        self._context: RecallContext | None = None
        self._numbers = count()
        self._results: dict[int, asyncio.Future[ModelResult]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock: FileLock | None = None

    def receive(self, message: Message) -> None:
        """Take a message of the daemon."""
        match message:
            case ModelResult():
                self._results.pop(message.number).set_result(message)
            case Settings():
                self._start(self._open(message))
            case RecallQuestion():
                self._start(self._answer(message))
            case _:
                raise AssertionError("a message of another program")

    async def call(self, call: ModelCall) -> ModelResult:
        """Call a model of the daemon."""
        number = next(self._numbers)
        result: asyncio.Future[ModelResult] = asyncio.get_running_loop().create_future()
        self._results[number] = result
        self.send(replace(call, number=number))
        return await result

    def connection_lost(self, exc: Exception | None) -> None:
        """End with the daemon."""
        del exc
        self.is_gone.set()

    async def _open(self, settings: Settings) -> None:
        # As every process that uses the store, so that nothing replaces it meanwhile; released at its end.
        self._lock = hold_folder(settings.data)
        # Each question has models of its own.
        models = cast("Any", self)
        self._context = RecallContext(
            store=await open_sqlite(settings, upkeep=False), embedder=models, index=models, limits=settings.limits,
            ranking=settings.ranking, reranker=models if settings.reranker != "none" else None,
            rerank_top=settings.rerank_top, reader=models if settings.reader else None,
        )  # fmt: skip
        gc.collect()
        gc.freeze()
        self.send(ProcessReady())

    async def _answer(self, request: RecallQuestion) -> None:
        assert self._context is not None
        models = cast("Any", _Models(self, request))
        context = replace(
            self._context, embedder=models, index=models, reranker=self._context.reranker and models,
            reader=self._context.reader and models,
        )  # fmt: skip
        reply = RecallAnswer(number=request.number)
        try:
            answered = await answer_question(request.question, spaces=request.spaces, now=request.now, context=context)
            stages, seconds = self.stages.take()
            reply = replace(
                reply, answer=answered.answer, ends_at=answered.ends_at, stages=" ".join(stages),
                seconds=pack_seconds(seconds),
            )  # fmt: skip
        finally:
            self.send(reply)

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Models:
    """What recall needs of the models and the index of the daemon, for one question."""

    __slots__ = ("_call", "_daemon", "_nearest")

    def __init__(self, daemon: _Daemon, request: RecallQuestion) -> None:
        self._daemon = daemon
        self._nearest = request.nearest
        self._call = ModelCall(question=request.number, number=0)

    async def profile(self) -> Profile:
        if self._nearest is not None:
            return self._nearest.profile
        profile = (await self._daemon.call(self._call)).profile
        assert profile is not None
        return profile

    async def embed_query(self, text: str) -> Vector:
        if self._nearest is not None and self._nearest.text == text:
            return unpack(self._nearest.search.vector)
        return unpack((await self._daemon.call(replace(self._call, text=text))).vector)

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        call = SearchCall(space=space, vector=pack(vector), filter=filter, limit=limit)
        if self._nearest is not None and self._nearest.search == call:
            return self._nearest.matches.pairs
        return (await self._daemon.call(replace(self._call, search=call))).matches.pairs

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        result = await self._daemon.call(replace(self._call, rerank=query, texts=tuple(texts)))
        return list(result.scores)


class _Stages:
    """Collects the stages of recalls, for the metrics of the daemon."""

    needs_starts = False

    def __init__(self) -> None:
        self._ended: tuple[list[str], list[float]] = ([], [])

    def take(self) -> tuple[list[str], list[float]]:
        """Return the stages that have ended since the last time, and their seconds."""
        ended, self._ended = self._ended, ([], [])
        return ended

    def on_start(self, span: telemetry.Span, /) -> None:
        """Do nothing."""

    def on_end(self, span: telemetry.Span, mark: object, /) -> None:
        """Note how long it took."""
        del mark
        names, seconds = self._ended
        names.append(span.name)
        seconds.append(span.seconds)

    def on_count(self, name: str, amount: int, labels: Mapping[str, str], /) -> None:
        """Do nothing: the daemon counts its questions."""


async def _serve(descriptor: int) -> None:
    daemon = _Daemon()
    await asyncio.get_running_loop().create_connection(lambda: daemon, sock=socket.socket(fileno=descriptor))
    with telemetry.observe(daemon.stages):
        await daemon.is_gone.wait()
    # It only reads: closing the file, which may tidy up beside it, is left to the daemon.
    os._exit(0)


if __name__ == "__main__":
    gc.set_threshold(*_GC_THRESHOLDS)
    asyncio.run(_serve(int(sys.argv[1])))
