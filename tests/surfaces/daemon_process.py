"""A daemon in its own process."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tests.patience import PATIENCE
from tests.surfaces.backend import database_of
from tests.surfaces.fork_server import ForkedProcess, fork_server

from scrubjay.paths import socket_file


class Daemon:
    """`scrubjay serve` on a data folder; killed at the end if it still runs."""

    def __init__(self, home: Path, *options: str, **environment: str) -> None:
        self.home = home
        self._arguments = ["serve", "--data", str(home), "--http", "127.0.0.1:0", *options]
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")},
            "SCRUBJAY_EMBEDDER": "none",
            "SCRUBJAY_DATABASE_URL": database_of(home),
            **environment,
        }
        self._log = home.with_name(f"{home.name}.log")
        self.process: ForkedProcess | subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def log(self) -> str:
        return self._log.read_text()

    def start(self) -> None:
        """Start it and wait until it accepts clients."""
        self.process = self._spawn()
        self.wait_until_open()

    def wait_until_open(self) -> None:
        """Wait until the socket accepts connections."""
        self.wait_until(lambda: is_open(self.home))

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds; fail if the daemon exits first."""
        assert self.process is not None
        end = time.monotonic() + PATIENCE
        while not condition():
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end, self.log
            time.sleep(0.01)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, wait for the exit, and return the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def _spawn(self) -> ForkedProcess | subprocess.Popen[bytes]:
        return fork_server().start(self._arguments, environment=self._environment, log=self._log)


class TypedDaemon(Daemon):
    """A daemon started like a user starts it; its imports take seconds."""

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "scrubjay", *self._arguments]
        with self._log.open("ab") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment)


def is_open(home: Path) -> bool:
    """Whether a daemon serves a data folder."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(socket_file(home))) == 0
