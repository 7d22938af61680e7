"""A program that crashes the folder of notes at every line of a write, and at random moments, and checks its files.

Each content begins with the digest of the rest, so that every file shows whether it is whole.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from scrubjay.notes.files import atomic_rename, atomic_write
from scrubjay.notes.files.folder import Folder
from scrubjay.notes.files.tree import digest

# The modules that create and rename files; the others only read.
_STEPS = {atomic_write.__file__, atomic_rename.__file__}


def text(number: int) -> bytes:
    """Return content for a number; it is whole only if nothing is missing."""
    rest = f"{number}\n".encode() * 3000
    return digest(rest).hex().encode() + rest


def is_whole(data: bytes) -> bool:
    """Whether nothing is missing."""
    return data[:64] == digest(data[64:]).hex().encode()


OLD, NEW = text(1), text(2)


def at_every_line(name: str, work: Callable[[Folder], object], outcomes: list[dict[str, bytes]], root: Path) -> int:
    """Repeat an operation, killed one line of code later each time, until it completes."""
    for line in range(10_000):
        folder = Folder(root / f"{name}-{line}")
        folder.open(store_id="s", space="d")
        folder.write("a.md", OLD, over=None, sync=False)
        child = os.fork()
        if child == 0:
            _kill_at(line)
            work(folder)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        files = _read_notes(folder)
        assert files in outcomes, (name, line, files.keys())
        folder.sweep()
        assert _read_notes(folder) == files, (name, line)
        assert sorted(file.name for file in folder.root.iterdir() if file.is_file()) == sorted(files), (name, line)
        if status == 0:
            assert files == outcomes[-1]
            return line
        assert os.WTERMSIG(status) == signal.SIGKILL
    raise AssertionError(name)


def at_any_moment(root: Path, *, times: int) -> None:
    """Write, move and remove in a loop, and kill it after a random time."""
    folder = Folder(root / "any")
    folder.open(store_id="s", space="d")
    for _ in range(times):
        child = os.fork()
        if child == 0:
            _work_on(folder)
        time.sleep(random.uniform(0.001, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert all(map(is_whole, _read_notes(folder).values()))
        folder.sweep()
        files = _read_notes(folder)
        assert all(map(is_whole, files.values()))
        assert set(files) <= {"a.md", "b.md"}
        assert not list(folder.root.glob(".scrubjay-*"))


def _work_on(folder: Folder) -> None:
    number = 0
    while True:
        number += 1
        here, there = ("a.md", "b.md") if folder.stat("a.md") else ("b.md", "a.md")
        if folder.stat(here) is None:
            folder.write(here, text(number), over=None)
        over = digest(folder.read(here)[1])
        folder.write(here, text(-number), over=over)
        folder.move(here, there, over=digest(text(-number)))
        if number % 5 == 0:
            folder.remove(there, over=digest(text(-number)))


def _kill_at(line: int) -> None:
    left = line

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in _STEPS:
            return None
        if event == "line":
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
        return trace

    sys.settrace(trace)


def _read_notes(folder: Folder) -> dict[str, bytes]:
    return {file.path: folder.read(file.path)[1] for file in folder.list_notes()}


def main(root: Path) -> None:
    """Crash in every way."""
    # The system keeps the writes of a killed process: waiting for the disk would take long and show nothing.
    os.fsync = lambda fd: None  # noqa: ARG005
    old, new = {"a.md": OLD}, {"a.md": NEW}
    lines = [
        at_every_line("new", lambda f: f.write("b.md", NEW, over=None), [old, {**old, "b.md": NEW}], root),
        at_every_line("over", lambda f: f.write("a.md", NEW, over=digest(OLD)), [old, new], root),
        at_every_line("move", lambda f: f.move("a.md", "b.md", over=digest(OLD)), [old, {"b.md": OLD}], root),
        at_every_line("remove", lambda f: f.remove("a.md", over=digest(OLD)), [old, {}], root),
    ]
    at_any_moment(root, times=20)
    print("whole", *lines)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
