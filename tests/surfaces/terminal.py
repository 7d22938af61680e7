"""A command on a terminal, as a person sees it and types into it."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from typing import Self

from tests.patience import PATIENCE
from tests.surfaces.fork_server import fork_server

_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A process of `scrubjay` on a terminal of its own; killed at the end if it still runs."""

    def __init__(self, *arguments: str, columns: int = 80, **environment: str) -> None:
        self._arguments = arguments
        self._columns = columns
        without = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
        inherited = {name: value for name, value in os.environ.items() if name not in without}
        self._environment = {**inherited, "TERM": "xterm", **environment}
        self.raw = ""

    def __enter__(self) -> Self:
        self._screen, device = pty.openpty()
        fcntl.ioctl(device, termios.TIOCSWINSZ, struct.pack("HHHH", 24, self._columns, 0, 0))
        self._process = fork_server().start(self._arguments, environment=self._environment, terminal=os.ttyname(device))
        os.close(device)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(PATIENCE)
        os.close(self._screen)

    @property
    def text(self) -> str:
        """What was printed since the last `send`, without styles."""
        return _STYLE.sub("", self.raw).replace("\r\n", "\n")

    def expect(self, text: str) -> str:
        """Wait until a text is on the screen; return what was printed since the last `send`."""
        end = time.monotonic() + PATIENCE
        while text not in self.text:
            assert self._read(end), self.text
        return self.text

    def send(self, keys: str) -> None:
        """Type keys."""
        self.raw = ""
        os.write(self._screen, keys.encode())

    def interrupt(self) -> int:
        """Press Ctrl-C until the process ends, since a prompt misses what comes just before it reads."""
        end = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < end:
            os.write(self._screen, b"\x03")
            self._read(time.monotonic() + 1)
        return self.wait()

    def wait(self) -> int:
        """Wait for the end, and return the exit code."""
        end = time.monotonic() + PATIENCE
        while self._read(end):
            pass
        return self._process.wait(PATIENCE)

    def _read(self, end: float) -> bool:
        """Read more; return whether there was any before the end."""
        if not select.select([self._screen], [], [], max(0.0, end - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self._screen, 65_536)
        except OSError:  # Linux reports the end of the process so.
            return False
        self.raw += data.decode(errors="replace")
        return bool(data)
