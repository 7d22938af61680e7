"""A process that answers questions, seen from the daemon."""

import asyncio
import logging
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextvars import Context, copy_context
from datetime import datetime
from itertools import count
from typing import Self

from scrubjay import telemetry
from scrubjay.app.recall_processes.messages import (
    Matches,
    Message,
    ModelCall,
    ModelResult,
    Nearest,
    ProcessConnection,
    RecallAnswer,
    RecallQuestion,
    SearchCall,
    pack,
    unpack,
)
from scrubjay.cancelling import cancel
from scrubjay.errors import ScrubjayError
from scrubjay.lazy import dataclass
from scrubjay.model.requests import RecallRequest
from scrubjay.recalling.pipeline import Answered, RecallContext, nearest_limit
from scrubjay.settings import Settings

_log = logging.getLogger(__name__)
_MODULE = "scrubjay.app.recall_processes"
# One that has not answered for so long is ended, and its questions are answered in this process.
_PATIENCE_SECONDS = 10.0


@dataclass(slots=True, eq=False)
class _Question:
    """A question that waits for its answer, with the models and the limits of its request."""

    context: RecallContext
    answered: "asyncio.Future[Answered | None]"
    variables: Context


class ChildProcess(ProcessConnection):
    """Asks another process, and answers what that asks of the models of this one."""

    def __init__(self) -> None:
        super().__init__()
        self.is_ready = False
        self.is_gone = False
        self._numbers = count()
        self._questions: dict[int, _Question] = {}
        self._calls: set[asyncio.Task[None]] = set()
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    async def start(cls, settings: Settings) -> Self:
        """Start a process; it is ready a moment later."""
        child = cls()
        here, there = socket.socketpair()
        with there:
            child._process = await asyncio.to_thread(_start_process, there.fileno())
        await asyncio.get_running_loop().create_connection(lambda: child, sock=here)
        child.send(settings)
        return child

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None
        return self._process.pid

    @property
    def load(self) -> int:
        """How many questions it has not answered."""
        return len(self._questions)

    async def answer(
        self, question: RecallRequest, *, spaces: Sequence[str], now: datetime, context: RecallContext
    ) -> Answered | None:
        """Return the answer to a question; None if the process fails, hangs or is gone."""
        number = next(self._numbers)
        answered: asyncio.Future[Answered | None] = asyncio.get_running_loop().create_future()
        self._questions[number] = _Question(context, answered, copy_context())
        try:
            nearest = await _find_nearest(question, spaces[0], context)
            if not self.is_ready:
                return None
            self.send(RecallQuestion(number=number, question=question, spaces=tuple(spaces), now=now, nearest=nearest))
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await answered
        except TimeoutError:
            _log.warning("a process that answers questions hangs", extra={"fields": {"seconds": _PATIENCE_SECONDS}})
            self._kill()
            return None
        except ScrubjayError:
            return None
        finally:
            del self._questions[number]

    async def end(self) -> None:
        """Close the connection, and wait until the process has ended."""
        self.is_ready = False
        self.close()
        await cancel(*self._calls)
        if self._process is not None:
            try:
                await asyncio.to_thread(self._process.wait, _PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                await asyncio.to_thread(self._process.wait)

    def receive(self, message: Message) -> None:
        """Take a call of a model, an answer, or the message that it is ready."""
        match message:
            case ModelCall():
                question = self._questions.get(message.question)
                if question is not None:
                    call = asyncio.get_running_loop().create_task(
                        self._call(message, question), context=question.variables
                    )
                    self._calls.add(call)
                    call.add_done_callback(self._calls.discard)
            case RecallAnswer(answer=answer):
                for stage, seconds in message.timed:
                    telemetry.record_stage(stage, seconds)
                answered = None if answer is None else Answered(answer=answer, ends_at=message.ends_at)
                self._settle(message.number, answered)
            case _:
                self.is_ready = True

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the open questions back."""
        del exc
        self.is_ready, self.is_gone = False, True
        for number in self._questions:
            self._settle(number, None)

    async def _call(self, call: ModelCall, question: _Question) -> None:
        try:
            result = await _ask_model(call, question.context)
        except ScrubjayError:
            # It happens again where the question is answered then.
            self._settle(call.question, None)
        else:
            self.send(result)

    def _settle(self, number: int, answered: Answered | None) -> None:
        question = self._questions.get(number)
        if question is not None and not question.answered.done():
            question.answered.set_result(answered)

    def _kill(self) -> None:
        self.is_ready = False
        if self._process is not None:
            self._process.kill()


def _start_process(descriptor: int) -> "subprocess.Popen[bytes]":
    # A session of its own: Ctrl-C is for the daemon, which finishes its requests.
    return subprocess.Popen(  # noqa: S603 - our own program
        (sys.executable, "-P", "-m", _MODULE, str(descriptor)), pass_fds=(descriptor,), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


async def _find_nearest(question: RecallRequest, space: str, context: RecallContext) -> Nearest | None:
    """Return what the first search for a question needs, so that it need not call."""
    if not context.ranking.uses("meaning"):
        return None
    text = question.query.strip()
    vector = await context.embedder.embed_query(text)
    search = SearchCall(
        space=space, vector=pack(vector), filter=question.filter, limit=nearest_limit(question, context)
    )  # fmt: skip
    return Nearest(
        profile=await context.embedder.profile(), text=text, search=search, matches=await _search(search, context)
    )


async def _ask_model(call: ModelCall, context: RecallContext) -> ModelResult:
    reranker = context.active_reader or context.active_reranker
    if call.text is not None:
        return ModelResult(number=call.number, vector=pack(await context.embedder.embed_query(call.text)))
    if call.search is not None:
        return ModelResult(number=call.number, matches=await _search(call.search, context))
    if call.rerank is not None and reranker is not None:
        return ModelResult(number=call.number, scores=tuple(await reranker.rerank(call.rerank, call.texts)))
    return ModelResult(number=call.number, profile=await context.embedder.profile())


async def _search(search: SearchCall, context: RecallContext) -> Matches:
    return Matches.of(
        await context.index.search(search.space, unpack(search.vector), search.filter, limit=search.limit)
    )
