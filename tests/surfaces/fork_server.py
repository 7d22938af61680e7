"""Daemons that start in no time: one process has imported all that they need, and forks each of them."""

import atexit
import functools
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

ROOT = Path(__file__).parents[2]
_POLL = 0.005


class Starter:
    """The test's end: has children begun, and tells how they ended."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.surfaces.fork_server"],
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def start(self, arguments: Sequence[str], *, environment: Mapping[str, str], log: Path) -> "Started":
        """Have `scrubjay` begin with these arguments; all that it says is written to the log."""
        told = self._ask({"arguments": list(arguments), "environment": dict(environment), "log": str(log)})
        assert told is not None
        return Started(pid=told, starter=self)

    def end_of(self, pid: int) -> int | None:
        """How a child ended: its exit code, or the negative number of the signal; None while it lives."""
        return self._ask({"ended": pid})

    def close(self) -> None:
        """Let the process go."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait(60)

    def _ask(self, question: dict[str, object]) -> int | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._turn:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            return cast("int | None", json.loads(self._process.stdout.readline()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A child, as `subprocess` would show it."""

    pid: int
    starter: Starter

    def poll(self) -> int | None:
        """How it ended; None while it lives."""
        return self.starter.end_of(self.pid)

    def wait(self, seconds: float) -> int:
        """Wait for its end."""
        end = time.monotonic() + seconds
        while (code := self.poll()) is None:
            assert time.monotonic() < end, f"process {self.pid} still runs"
            time.sleep(_POLL)
        return code

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@functools.cache
def starter() -> Starter:
    """The one of this process."""
    made = Starter()
    atexit.register(made.close)
    return made


def serve() -> None:
    """Fork and look after the children, as the lines of standard input say."""
    _import_all()
    ends: dict[int, int] = {}
    for line in sys.stdin:
        asked = cast("dict[str, object]", json.loads(line))
        if "ended" in asked:
            pid = cast("int", asked["ended"])
            if pid not in ends:
                gone, status = os.waitpid(pid, os.WNOHANG)
                ends |= {pid: os.waitstatus_to_exitcode(status)} if gone else {}
            answer = ends.get(pid)
        elif not (answer := os.fork()):
            _live(asked)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _import_all() -> None:
    for name in ("cli.main", "cli.daemon", "cli.serving", "mcp.line_transport", "mcp.http_transport", "rest.app"):
        importlib.import_module(f"scrubjay.surfaces.{name}")
    # Each would lay out its routes anew, which takes longer than all else that it does.
    importlib.import_module("scrubjay.surfaces.rest.app")._laid_out()
    # A child need not look through what is there to stay.
    gc.freeze()


def _live(asked: dict[str, object]) -> None:
    """Be what a shell would have started."""
    from scrubjay.__main__ import main

    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    log = os.open(str(asked["log"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.clear()
    os.environ.update(cast("dict[str, str]", asked["environment"]))
    sys.argv[1:] = cast("list[str]", asked["arguments"])
    code = 1
    try:
        main()
        code = 0
    except SystemExit as left:
        code = cast("int", left.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # The starter's own end is not the child's business.
        os._exit(code)


if __name__ == "__main__":
    serve()
