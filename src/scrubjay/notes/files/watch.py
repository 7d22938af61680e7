"""Watch a folder of notes: report soon which files may have changed, and stay idle while none does."""

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

__all__ = ["EVERYTHING", "watch_folder"]

T = TypeVar("T")
EVERYTHING = ""
"""In place of a path: anything may have changed, because the folder appeared, disappeared or was not watched."""
_log = logging.getLogger(__name__)
# How often to check that the folder is still the same one, and whether a missing one is back.
_IDENTITY_CHECK_MS = 2_000
_RETRY_SECONDS = 1.0
_POLL_MS = 2_000
_TEMPORARY_SUFFIXES = ("~", ".tmp")


async def watch_folder(root: Path, *, quick: int = 50, settle: int = 200) -> AsyncGenerator[set[str]]:
    """Yield batches of paths, relative to the folder, that may have changed; the first batch is `{EVERYTHING}`.

    A batch is complete when nothing new has come for `quick` milliseconds, at the latest after `settle`; changes during
    the processing of one batch are in the next. A path may be a folder that was removed with its content; for a folder
    that was added, the batch lists its files too. The watch continues when the folder itself disappears and comes back.
    """
    resolved = root.resolve()  # noqa: ASYNC240 - once, and it only reads links
    polls = False
    with _Thread() as thread:
        while True:
            try:
                with await thread.run(partial(_Watcher, resolved, polls=polls)) as watcher:
                    yield {EVERYTHING}
                    while (changed := await thread.run(partial(watcher.wait, quick, settle))) is not None:
                        if changed:
                            yield changed
                yield {EVERYTHING}
            except (FileNotFoundError, NotADirectoryError):
                await asyncio.sleep(_RETRY_SECONDS)
            except (OSError, WatchfilesRustInternalError) as error:
                if polls:
                    await asyncio.sleep(_RETRY_SECONDS)
                else:
                    _log.warning("%s cannot be watched, and is polled every 2 s instead: %s", resolved, error)
                polls = True


class _Thread:
    """A thread to wait in, which ends with its block."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="scrubjay-notes")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()

    async def run(self, work: Callable[[], T]) -> T:
        """Run a blocking function in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)


class _Watcher:
    """Watches one folder as long as it is the same one, by notifications of the system or by polling."""

    def __init__(self, root: Path, *, polls: bool) -> None:
        self._root = str(root)
        self._stop = threading.Event()
        self._waiting = threading.Lock()
        self._identity = self._find_identity()
        if self._identity is None:
            raise FileNotFoundError(self._root)
        self._notify = RustNotify([self._root], False, polls, _POLL_MS, True, True)  # noqa: FBT003 - it has no names

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        # A thread that still waits notices this within one step, and must have left before the close.
        with self._waiting:
            self._notify.close()

    def wait(self, quick: int, settle: int) -> set[str] | None:
        """Return the next changed paths, an empty set after a while without any, or None if the folder is gone."""
        with self._waiting:
            events = "stop" if self._stop.is_set() else self._collect(quick, settle)
        if isinstance(events, str):
            return set() if self._find_identity() == self._identity else None
        # A folder that was removed and created again may have the same inode, but its changes are not reported.
        if self._find_identity() != self._identity or (Change.deleted.value, self._root) in events:
            return None
        return {path for change, full_path in events for path in self._changed_paths(Change(change), full_path)}

    def _collect(self, quick: int, settle: int) -> set[tuple[int, str]] | str:
        """Collect changes that follow each other closely, so that repeated saves of a file are reported rarely."""
        events = self._notify.watch(settle, quick, _IDENTITY_CHECK_MS, self._stop)
        deadline = time.monotonic() + settle / 1000
        while not isinstance(events, str) and time.monotonic() < deadline:
            more = self._notify.watch(settle, quick, quick, self._stop)
            if isinstance(more, str):
                break
            events |= more
        return events

    def _changed_paths(self, change: Change, full_path: str) -> Iterator[str]:
        path = full_path.removeprefix(self._root).lstrip("/")
        if path in {"", vault_marker.FOLDER, vault_marker.PATH}:
            yield EVERYTHING
        elif not _is_ignored(path):
            yield path
            # Files that were in a new folder before it was watched cause no event of their own.
            if change is Change.added and os.path.isdir(full_path) and not os.path.islink(full_path):  # noqa: PTH112, PTH114
                yield from _files_in(full_path, path)

    def _find_identity(self) -> tuple[int, int] | None:
        try:
            status = os.lstat(self._root)
        except OSError:
            return None
        return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def _files_in(full_path: str, path: str) -> Iterator[str]:
    for folder, folders, files in os.walk(full_path):
        folders[:] = [name for name in folders if not is_hidden(name)]
        inner = path + folder.removeprefix(full_path)
        yield from (file for name in files if not _is_ignored(file := f"{inner}/{name}"))


def _is_ignored(path: str) -> bool:
    return path.endswith(_TEMPORARY_SUFFIXES) or any(is_hidden(part) for part in path.split("/"))
