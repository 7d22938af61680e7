"""The watcher of the folder: it reports every change soon, many changes in few batches, and is idle without changes."""

import asyncio
import gc
import logging
import os
import resource
import shutil
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from scrubjay.notes.files import watch
from scrubjay.notes.files.folder import Folder
from scrubjay.notes.files.tree import digest
from scrubjay.notes.files.watch import EVERYTHING, watch_folder


class Recorder:
    """Collects the reported paths in the background."""

    def __init__(self, root: Path, *, quick: int = 10) -> None:
        self.batches: list[set[str]] = []
        self._news = asyncio.Condition()
        self._task = asyncio.create_task(self._collect(root, quick))

    @property
    def paths(self) -> set[str]:
        return {path for batch in self.batches for path in batch}

    async def until(self, *paths: str, batches: int = 0) -> None:
        """Wait until these paths and this number of batches have been reported."""
        async with self._news, asyncio.timeout(PATIENCE):
            await self._news.wait_for(lambda: self.paths.issuperset(paths) and len(self.batches) >= batches)

    async def close(self) -> None:
        self._task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self._task

    async def _collect(self, root: Path, quick: int) -> None:
        async for batch in watch_folder(root, quick=quick):
            async with self._news:
                self.batches.append(batch)
                self._news.notify_all()


@asynccontextmanager
async def watched(root: Path) -> AsyncGenerator[Recorder]:
    """Start a watch and wait for its first batch."""
    watcher = Recorder(root)
    try:
        await watcher.until(EVERYTHING)
        watcher.batches.clear()
        yield watcher
    finally:
        await watcher.close()


async def test_a_save_of_any_kind_is_reported(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "old.md").write_text("one")
    async with watched(tmp_path) as watcher:
        (tmp_path / "old.md").write_text("two")
        (tmp_path / "sub" / "new.md").write_text("new")
        (tmp_path / "sub" / ".by-rename.md.swp").write_text("saved")
        (tmp_path / "sub" / ".by-rename.md.swp").rename(tmp_path / "sub" / "by rename ü.md")
        (tmp_path / "picture.png").write_bytes(b"\x89PNG")
        await watcher.until("old.md", "sub/new.md", "sub/by rename ü.md", "picture.png")
        watcher.batches.clear()
        (tmp_path / "old.md").unlink()
        (tmp_path / "picture.png").rename(tmp_path / "sub" / "moved.png")
        await watcher.until("old.md", "picture.png", "sub/moved.png")
        assert EVERYTHING not in watcher.paths


async def test_hidden_and_temporary_files_are_not_reported(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "vault")
    folder.open(store_id="s", space="d")
    async with watched(folder.root) as watcher:
        folder.write("a.md", b"one", over=None)
        folder.write("a.md", b"two", over=digest(b"one"))
        (folder.root / ".obsidian").mkdir()
        (folder.root / ".obsidian" / "app.json").write_text("{}")
        (folder.root / ".scrubjay" / "lock").write_text("")
        (folder.root / "b.md~").write_text("")
        (folder.root / "b.md.tmp").write_text("")
        (folder.root / "last.md").write_text("")
        await watcher.until("last.md")
        assert watcher.paths <= {"a.md", "last.md"}


async def test_a_new_folder_is_reported_with_its_files_and_a_removed_one_by_its_name(tmp_path: Path) -> None:
    root, away = tmp_path / "vault", tmp_path / "away"
    (away / "deep").mkdir(parents=True)
    (away / ".hidden").mkdir()
    for name in ("one.md", "deep/two.md", ".hidden/three.md"):
        (away / name).write_text(name)
    root.mkdir()
    async with watched(root) as watcher:
        away.rename(root / "came")
        await watcher.until("came", "came/one.md", "came/deep/two.md")
        (root / "came" / "deep" / "two.md").write_text("changed")
        watcher.batches.clear()
        await watcher.until("came/deep/two.md")
        (root / "came").rename(away)
        await watcher.until("came")
        watcher.batches.clear()
        for number in range(20):
            (root / f"made-{number}").mkdir()
            (root / f"made-{number}" / "at once.md").write_text("x")
        await watcher.until(*(f"made-{number}/at once.md" for number in range(20)))
        assert not [path for path in watcher.paths if "hidden" in path]


async def test_a_thousand_saves_come_in_few_batches(tmp_path: Path) -> None:
    async with watched(tmp_path) as watcher:

        def save() -> None:
            for number in range(1000):
                with (tmp_path / f"{number % 10}.md").open("a") as file:
                    file.write(str(number))
            (tmp_path / "last.md").write_text("")

        await asyncio.to_thread(save)
        await watcher.until("last.md", *(f"{number}.md" for number in range(10)))
        assert len(watcher.batches) < 50


async def test_changes_during_the_processing_of_a_batch_are_in_the_next(tmp_path: Path) -> None:
    batches = watch_folder(tmp_path, quick=10)
    try:
        assert await anext(batches) == {EVERYTHING}
        for number in range(50):
            (tmp_path / f"{number}.md").write_text("")
        paths: set[str] = set()
        count = 0
        while len(paths) < 50:
            paths |= await anext(batches)
            count += 1
        assert paths == {f"{number}.md" for number in range(50)}
        assert count < 10
    finally:
        await batches.aclose()


async def test_without_changes_nothing_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(100):
        (tmp_path / f"{number}.md").write_text("")
    monkeypatch.setattr(watch, "_IDENTITY_CHECK_MS", 20)
    calls: list[int] = []
    seen = asyncio.Event()
    real = watch._Watcher.wait
    loop = asyncio.get_running_loop()

    def wait(self: watch._Watcher, quick: int, settle: int) -> set[str] | None:
        paths = real(self, quick, settle)
        calls.append(len(paths or ()))
        if len(calls) >= 10:
            loop.call_soon_threadsafe(seen.set)
        return paths

    monkeypatch.setattr(watch._Watcher, "wait", wait)
    async with watched(tmp_path) as watcher:
        await asyncio.wait_for(seen.wait(), PATIENCE)
        assert watcher.batches == []
        # Reading is not a change.
        assert all((tmp_path / f"{number}.md").read_text() == "" for number in range(100))
        (tmp_path / "1.md").write_text("x")
        await watcher.until("1.md")
        assert watcher.paths == {"1.md"}


async def test_a_folder_may_disappear_and_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_RETRY_SECONDS", 0.02)
    root = tmp_path / "vault"
    root.mkdir()
    async with watched(root) as watcher:
        # Fast enough that the new folder may have the same inode.
        root.rmdir()
        root.mkdir()
        await watcher.until(batches=2)
        (root / "first.md").write_text("x")
        await watcher.until("first.md")
        watcher.batches.clear()
        for returns in (lambda: (tmp_path / "away").rename(root), root.mkdir):
            if root.exists():
                root.rename(tmp_path / "away")
            await watcher.until(EVERYTHING)
            watcher.batches.clear()
            returns()
            await watcher.until(EVERYTHING)
            watcher.batches.clear()
            (root / "again.md").write_text("x")
            await watcher.until("again.md")
            watcher.batches.clear()
            shutil.rmtree(tmp_path / "away", ignore_errors=True)
            shutil.rmtree(root)


async def test_a_missing_folder_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_RETRY_SECONDS", 0.02)
    (tmp_path / "vault").write_text("a file in its place")
    watcher = Recorder(tmp_path / "vault")
    await asyncio.sleep(0.1)
    assert watcher.batches == []
    (tmp_path / "vault").unlink()
    (tmp_path / "vault").mkdir()
    await watcher.until(EVERYTHING)
    await watcher.close()


async def test_a_change_of_the_marker_concerns_everything(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "vault")
    folder.open(store_id="s", space="d")
    async with watched(folder.root) as watcher:
        (folder.root / ".scrubjay" / "vault.json").unlink()
        await watcher.until(EVERYTHING)


async def test_without_notifications_the_folder_is_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watch, "_POLL_MS", 50)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    class LimitRaisingHandler(logging.Handler):
        """Raises the limit of open files as soon as the warning is logged."""

        def emit(self, record: logging.LogRecord) -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    relief = LimitRaisingHandler()
    logging.getLogger(watch.__name__).addHandler(relief)
    descriptors = [os.dup(0) for _ in range(8)]
    try:
        # No further file can be opened, so that notifications are not available.
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors[0], hard))
        async with watched(tmp_path) as watcher:
            (tmp_path / "polled.md").write_text("x")
            await watcher.until("polled.md")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        logging.getLogger(watch.__name__).removeHandler(relief)
        for descriptor in descriptors:
            os.close(descriptor)
    assert "polled every 2 s" in caplog.text


async def test_a_watcher_releases_its_resources(tmp_path: Path) -> None:
    before = _count_resources()
    async with watched(tmp_path):
        assert _count_resources() > before
    batches = watch_folder(tmp_path)
    await anext(batches)
    await batches.aclose()
    gc.collect()
    assert _count_resources() <= before


def _count_resources() -> int:
    """Count threads, and open notifications on systems that list them."""
    open_files = Path("/proc/self/fd")
    links = [file.readlink().name for file in open_files.iterdir() if file.is_symlink()] if open_files.exists() else []
    return sum("inotify" in link for link in links) + sum(
        "scrubjay-notes" in thread.name for thread in threading.enumerate()
    )
