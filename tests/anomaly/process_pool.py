"""Processes to be killed; a parent that has imported everything forks them, so that each starts quickly."""

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
from scrubjay.text.screening.injection import find_injections
from tests.anomaly import child_tasks
from tests.scenarios.wiring import ROOT, environment

ChildTask = Callable[..., Coroutine[object, object, None]]


class ProcessPool:
    """Starts children with a task, kills them, and returns their exit codes."""

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
        """Start a child; return its process id."""
        return self._ask({"start": task, "home": str(home), "options": options})

    def end_of(self, pid: int) -> int:
        """Wait for a child; return its exit code, or the negative number of the signal."""
        return self._ask({"wait": pid})

    def kill(self, pid: int) -> None:
        """Kill a child, as a power cut would."""
        os.kill(pid, signal.SIGKILL)
        assert self.end_of(pid) == -signal.SIGKILL

    def run(self, task: str, home: Path, **options: object) -> int:
        """Run a child to its end; return its exit code."""
        return self.end_of(self.start(task, home, **options))

    def _ask(self, question: dict[str, object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def serve() -> None:
    """Fork and wait as the lines of standard input request."""
    # Load these now, because a child of another user may not be allowed to read them.
    related_terms("bird")
    find_injections("a bird")
    for line in sys.stdin:
        request = cast("dict[str, object]", json.loads(line))
        if "wait" in request:
            _, status = os.waitpid(cast("int", request["wait"]), 0)
            _answer(os.waitstatus_to_exitcode(status))
        else:
            pid = os.fork()
            if not pid:
                _run_child(request)
            _answer(pid)


def _answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _run_child(request: dict[str, object]) -> None:
    # A child must not use the pipes of its parent.
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    task = cast("ChildTask", getattr(child_tasks, str(request["start"])))
    code = 1
    try:
        asyncio.run(task(Path(str(request["home"])), **cast("dict[str, object]", request["options"])))
        code = 0
    finally:
        # pytest shows the traceback on standard error.
        if code:
            traceback.print_exc()
        os._exit(code)


if __name__ == "__main__":
    serve()
