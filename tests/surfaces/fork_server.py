"""Daemons and commands that start fast: one process imports all their modules, and forks each of them."""

import atexit
import fcntl
import functools
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
_POLL = 0.005


class ForkServer:
    """The client side: it starts processes and returns their exit codes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.surfaces.fork_server"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def start(
        self, arguments: Sequence[str], *, environment: Mapping[str, str], log: Path | None = None, terminal: str = ""
    ) -> "ForkedProcess":
        """Start `scrubjay` with these arguments; its output goes to the log, or it uses a terminal."""
        streams = {"terminal": terminal} if terminal else {"log": str(log)}
        number, pid = cast(
            "list[int]",
            self._send(
                {"arguments": list(arguments), "environment": dict(environment), "folder": str(Path.cwd()), **streams}
            ),
        )
        return ForkedProcess(number=number, pid=pid, server=self)

    def exit_code(self, number: int) -> int | None:
        """Return the exit code of a process, or the negative signal number; None while it runs."""
        return cast("int | None", self._send({"ended": number}))

    def close(self) -> None:
        """Close the server process."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait(PATIENCE)

    def _send(self, request: dict[str, object]) -> object:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkedProcess:
    """A forked process with the interface of `subprocess.Popen`."""

    # A process ID is used again after as few as 32,768 others, so the server counts what it starts.
    number: int
    pid: int
    server: ForkServer

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self.server.exit_code(self.number)

    def wait(self, seconds: float) -> int:
        """Wait for the exit; return the exit code."""
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
def fork_server() -> ForkServer:
    """Return the server of this process."""
    server = ForkServer()
    atexit.register(server.close)
    return server


def run_forked(*arguments: str, log: Path, **environment: str) -> tuple[int, str]:
    """Run `scrubjay` in a process of its own until its end; return the exit code and all output."""
    process = fork_server().start(arguments, environment={**os.environ, **environment}, log=log)
    return process.wait(PATIENCE), log.read_text(encoding="utf-8")


def serve() -> None:
    """Fork processes and report their exit codes, as requested on standard input."""
    _import_all()
    pids: list[int] = []
    ends: dict[int, int] = {}
    for line in sys.stdin:
        request = cast("dict[str, object]", json.loads(line))
        if "ended" in request:
            number = cast("int", request["ended"])
            if number not in ends:
                gone, status = os.waitpid(pids[number], os.WNOHANG)
                ends |= {number: os.waitstatus_to_exitcode(status)} if gone else {}
            answer = ends.get(number)
        else:
            # A terminal that no process has open is gone, so it is open before the caller closes it.
            device = os.open(str(request["terminal"]), os.O_RDWR | os.O_NOCTTY) if "terminal" in request else None
            if not (pid := os.fork()):
                _run_child(request, device)
            if device is not None:
                os.close(device)
            answer = [len(pids), pid]
            pids.append(pid)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _import_all() -> None:
    for name in ("cli.main", "cli.daemon", "cli.serving", "mcp.line_transport", "mcp.http_transport", "rest.app"):
        importlib.import_module(f"scrubjay.surfaces.{name}")
    # Building the routes takes longer than the rest of a start, so it is done once, here.
    importlib.import_module("scrubjay.surfaces.rest.app")._cached_app()
    # The garbage collector of a child need not visit these objects.
    gc.freeze()


def _run_child(request: dict[str, object], device: int | None) -> None:
    """Run the command line as if a shell had started it."""
    from scrubjay.__main__ import main

    # The caller of the tests may ignore it, as `nohup` does, and a process inherits that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if device is not None:
        _use_terminal(device)
    else:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        log = os.open(str(request["log"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
    os.chdir(str(request["folder"]))
    os.environ.clear()
    os.environ.update(cast("dict[str, str]", request["environment"]))
    sys.argv[1:] = cast("list[str]", request["arguments"])
    code = 1
    try:
        main()
        code = 0
    except SystemExit as left:
        code = cast("int", left.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Without this, the child would run the exit handlers of the server.
        os._exit(code)


def _use_terminal(device: int) -> None:
    """Use the terminal whose keys interrupt this process, also where the tests themselves ignore them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    fcntl.ioctl(device, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(device, number)
    # Those of the server buffer as a pipe does.
    sys.stdin, sys.stdout, sys.stderr = (open(n, mode, encoding="utf-8", closefd=False) for n, mode in enumerate("rww"))  # noqa: SIM115


if __name__ == "__main__":
    serve()
