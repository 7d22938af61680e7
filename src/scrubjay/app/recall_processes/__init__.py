"""Answers questions in other processes while many clients ask at once: one interpreter uses one core.

Such a process (`python -m scrubjay.app.recall_processes`) reads the same file. It has neither a model nor a vector
index: the daemon sends what both say with each question, and answers if it asks for more.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime

from scrubjay import telemetry
from scrubjay.app.recall_processes.child import ChildProcess
from scrubjay.cancelling import cancel
from scrubjay.model.requests import RecallRequest
from scrubjay.recalling.pipeline import Answered, RecallContext, answer_question
from scrubjay.settings import Settings

# A question stays here unless more than this run.
_FEW = 2
# The processes are started after so many questions beside others within so many seconds. They end if there were none
# for a while.
_MANY, _WITHIN_SECONDS, _IDLE_SECONDS = 50, 10.0, 120.0
# This process also has the clients, the models and the writes: it answers a question if it has so many times fewer.
_SHARE = 48


class RecallProcesses:
    """The processes of one daemon that answer questions beside it, which are there while they are of use."""

    def __init__(
        self, settings: Settings, *, most: int, many: int = _MANY, idle_seconds: float = _IDLE_SECONDS
    ) -> None:
        self._settings = settings
        self._most = most
        self._many = many
        self._idle_seconds = idle_seconds
        self._children: list[ChildProcess] = []
        self._running = 0
        self._here = 0
        self._crowded: list[float] = []
        self._crowded_at = 0.0
        self._task: asyncio.Task[None] | None = None

    async def answer(
        self, question: RecallRequest, *, spaces: Sequence[str], now: datetime, context: RecallContext
    ) -> Answered:
        """Return the answer of another process, or of this one if no other is ready or few questions run."""
        self._running += 1
        try:
            child = self._choose() if question.query.strip() and self._running > _FEW else None
            if child is not None:
                answered = await child.answer(question, spaces=spaces, now=now, context=context)
                telemetry.count("recalls_elsewhere", result="failed" if answered is None else "answered")
                if answered is not None:
                    return answered
            # An error there happens here again, and here its caller gets it.
            self._here += 1
            try:
                return await answer_question(question, spaces=spaces, now=now, context=context)
            finally:
                self._here -= 1
        finally:
            self._running -= 1

    async def close(self) -> None:
        """End the processes."""
        if self._task is not None:
            await cancel(self._task)

    @property
    def pids(self) -> list[int]:
        """The processes that are ready."""
        return [child.pid for child in self._ready]

    @property
    def _ready(self) -> list[ChildProcess]:
        return [child for child in self._children if child.is_ready]

    def _choose(self) -> ChildProcess | None:
        self._note_crowd()
        child = min(self._ready, key=lambda child: child.load, default=None)
        return child if child is not None and child.load <= _SHARE * self._here else None

    def _note_crowd(self) -> None:
        """Note that many questions run, and start the processes if that happens often."""
        now = self._crowded_at = time.monotonic()
        if self._task is not None:
            return
        self._crowded.append(now)
        if len(self._crowded) >= self._many:
            began = self._crowded[0]
            self._crowded.clear()
            if now - began <= _WITHIN_SECONDS:
                self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        """Keep the processes as long as they are of use; when they have all failed, others may be started."""
        try:
            for _ in range(self._most):
                self._children.append(await ChildProcess.start(self._settings))
            while True:
                await asyncio.sleep(self._idle_seconds)
                is_idle = time.monotonic() - self._crowded_at >= self._idle_seconds
                if is_idle or all(child.is_gone for child in self._children):
                    break
        finally:
            children, self._children = self._children, []
            for child in children:
                await child.end()
            self._task = None
