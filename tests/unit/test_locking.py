"""Locks between processes."""

import subprocess
import sys
from pathlib import Path

import pytest

from scrubjay.locking import FileLock

HOLD = """
import sys
from pathlib import Path
from scrubjay.locking import FileLock
lock = FileLock(Path(sys.argv[1]))
print(lock.acquire(exclusive=sys.argv[2] == "alone"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "store.lock"


def test_many_may_share(path: Path) -> None:
    locks = [FileLock(path) for _ in range(3)]
    assert [lock.acquire(exclusive=False) for lock in locks] == [True] * 3
    assert not FileLock(path).acquire(exclusive=True)
    for lock in locks:
        lock.release()
    alone = FileLock(path)
    assert alone.acquire(exclusive=True)
    alone.release()


def test_one_alone_keeps_all_others_out(path: Path) -> None:
    alone = FileLock(path)
    assert not alone.held
    assert alone.acquire(exclusive=True)
    assert alone.held
    other = FileLock(path)
    assert not other.acquire(exclusive=False)
    assert not other.acquire(exclusive=True)
    assert not other.held
    alone.release()
    assert not alone.held
    assert other.acquire(exclusive=False)
    other.release()


def test_letting_go_twice_is_fine_and_the_file_stays(path: Path) -> None:
    lock = FileLock(path)
    lock.release()
    lock.acquire(exclusive=True)
    lock.release()
    lock.release()
    assert path.exists()


def test_a_lock_file_is_its_owners_alone(path: Path) -> None:
    lock = FileLock(path)
    lock.acquire(exclusive=False)
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    lock.release()


def test_the_lock_of_a_killed_process_is_free(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), "alone"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "True\n"
        mine = FileLock(path)
        assert not mine.acquire(exclusive=False)
        child.kill()
        child.wait()
        assert mine.acquire(exclusive=True)
        mine.release()
