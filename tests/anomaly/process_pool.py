"""Processes that are made to be killed: one that has imported everything forks them, so that each starts in no time."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from scrubjay.text.related_words import related_terms
from tests.anomaly import child_tasks
from tests.scenarios.wiring import ROOT, environment

ChildTask = Callable[..., Coroutine[object, object, None]]


class ProcessPool:
    """The test's end: starts children that do a deed, kills them, and tells how they ended."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.anomaly.process_pool"],
            env=environment(ROOT, OPENBLAS_NUM_THREADS="1"),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait(timeout=60)

    def start(self, task: str, home: Path, **options: object) -> int:
        """Have a child begin; returns its process id."""
        return self._ask({"start": task, "home": str(home), "options": options})

    def end_of(self, pid: int) -> int:
        """How a child ended: its exit code, or the negative number of the signal."""
        return self._ask({"wait": pid})

    def kill(self, pid: int) -> None:
        """End a child at once, as a power cut would."""
        os.kill(pid, signal.SIGKILL)
        assert self.end_of(pid) == -signal.SIGKILL

    def run(self, task: str, home: Path, **options: object) -> int:
        """Have a child do a deed to its end, whatever that is."""
        return self.end_of(self.start(task, home, **options))

    def _ask(self, question: dict[str, object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def serve() -> None:
    """Fork and wait as the lines of standard input say."""
    # What is read when it is first needed: a child that is somebody else may not be allowed to.
    related_terms("bird")
    for line in sys.stdin:
        request = cast("dict[str, object]", json.loads(line))
        if "wait" in request:
            _, status = os.waitpid(cast("int", request["wait"]), 0)
            _answer(os.waitstatus_to_exitcode(status))
        else:
            pid = os.fork()
            if not pid:
                _live(request)
            _answer(pid)


def _answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _live(asked: dict[str, object]) -> None:
    # The nursery's own pipes are not the child's business.
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    task = cast("ChildTask", getattr(child_tasks, str(asked["start"])))
    code = 1
    try:
        asyncio.run(task(Path(str(asked["home"])), **cast("dict[str, object]", asked["options"])))
        code = 0
    finally:
        # The traceback of whatever happened is on standard error, which pytest shows.
        if code:
            traceback.print_exc()
        os._exit(code)


if __name__ == "__main__":
    serve()
