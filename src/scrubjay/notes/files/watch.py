"""Watching a folder of notes: which files may have changed, told soon after, and nothing done while none does."""

import asyncio
import logging
import os
import stat
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from watchfiles import Change
from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from scrubjay.notes.files import vault_marker
from scrubjay.notes.files.paths import is_hidden

__all__ = ["EVERYTHING", "watching"]

T = TypeVar("T")
EVERYTHING = ""
"""In place of a path: anything may have changed, for the folder came, went, or could not be watched for a while."""
_log = logging.getLogger(__name__)
# How often it is looked whether the folder is still the same, and whether one that went has come back.
_GLANCE_MS = 2_000
_ABSENCE_SECONDS = 1.0
_POLL_MS = 2_000
_TEMPORARY = ("~", ".tmp")


async def watching(root: Path, *, quick: int = 50, settle: int = 200) -> AsyncGenerator[set[str]]:
    """The paths that may have changed, relative to the folder, in batches; first of all `{EVERYTHING}`.

    A batch is told once nothing new came for `quick` milliseconds, and at the latest after `settle`; what changes
    while the last one is being worked on is in the next. A path may be of a folder that went, with all that was in it;
    of a folder that came, the files are told too. It goes on when the folder itself goes and comes back.
    """
    place = root.resolve()  # noqa: ASYNC240 - once, and no more than a look
    polls = False
    with _Thread() as thread:
        while True:
            try:
                with await thread.do(partial(_Sentry, place, polls=polls)) as sentry:
                    yield {EVERYTHING}
                    while (changed := await thread.do(partial(sentry.wait, quick, settle))) is not None:
                        if changed:
                            yield changed
                yield {EVERYTHING}
            except (FileNotFoundError, NotADirectoryError):
                await asyncio.sleep(_ABSENCE_SECONDS)
            except (OSError, WatchfilesRustInternalError) as error:
                if polls:
                    await asyncio.sleep(_ABSENCE_SECONDS)
                else:
                    _log.warning("%s cannot be watched, and is looked through every 2 s instead: %s", place, error)
                polls = True


class _Thread:
    """A thread of its own to wait in, which ends with the block that it is for."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="scrubjay-notes")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    async def do(self, work: Callable[[], T]) -> T:
        """Do something there that blocks."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


class _Sentry:
    """Watches one folder as long as it is the same one, by the notifications of the system or by looking."""

    def __init__(self, place: Path, *, polls: bool) -> None:
        self._place = str(place)
        self._stop = threading.Event()
        self._waits = threading.Lock()
        self._identity = self._found()
        if self._identity is None:
            raise FileNotFoundError(self._place)
        self._notify = RustNotify([self._place], False, polls, _POLL_MS, True, True)  # noqa: FBT003 - it has no names

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        # A thread that is still waiting sees that within one step, and must be out of it.
        with self._waits:
            self._notify.close()

    def wait(self, quick: int, settle: int) -> set[str] | None:
        """What changed next, nothing after a while in which nothing did, or None: the folder is not there any more."""
        with self._waits:
            found = "stop" if self._stop.is_set() else self._settled(quick, settle)
        if isinstance(found, str):
            return set() if self._found() == self._identity else None
        # One that was removed and made again may have the same number, but nobody would tell what happens in it.
        if self._found() != self._identity or (Change.deleted.value, self._place) in found:
            return None
        return {path for change, full in found for path in self._told(Change(change), full)}

    def _settled(self, quick: int, settle: int) -> set[tuple[int, str]] | str:
        """What changed, and what follows it closely: a file that is saved again and again is told now and then."""
        found = self._notify.watch(settle, quick, _GLANCE_MS, self._stop)
        last = time.monotonic() + settle / 1000
        while not isinstance(found, str) and time.monotonic() < last:
            more = self._notify.watch(settle, quick, quick, self._stop)
            if isinstance(more, str):
                break
            found |= more
        return found

    def _told(self, change: Change, full: str) -> Iterator[str]:
        path = full.removeprefix(self._place).lstrip("/")
        if path in {"", vault_marker.FOLDER, vault_marker.PATH}:
            yield EVERYTHING
        elif not _is_ignored(path):
            yield path
            # Files that were in it before it could be watched are told by nobody else.
            if change is Change.added and os.path.isdir(full) and not os.path.islink(full):  # noqa: PTH112, PTH114
                yield from _files_in(full, path)

    def _found(self) -> tuple[int, int] | None:
        try:
            status = os.lstat(self._place)
        except OSError:
            return None
        return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def _files_in(full: str, path: str) -> Iterator[str]:
    for folder, folders, files in os.walk(full):
        folders[:] = [name for name in folders if not is_hidden(name)]
        inner = path + folder.removeprefix(full)
        yield from (one for name in files if not _is_ignored(one := f"{inner}/{name}"))


def _is_ignored(path: str) -> bool:
    return path.endswith(_TEMPORARY) or any(is_hidden(part) for part in path.split("/"))
