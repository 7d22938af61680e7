"""Locks between processes: shared or exclusive."""

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
print(lock.acquire(exclusive=sys.argv[2] == "exclusive"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "store.lock"


def test_a_shared_lock_has_many_holders(path: Path) -> None:
    locks = [FileLock(path) for _ in range(3)]
    assert [lock.acquire(exclusive=False) for lock in locks] == [True] * 3
    assert not FileLock(path).acquire(exclusive=True)
    for lock in locks:
        lock.release()
    exclusive = FileLock(path)
    assert exclusive.acquire(exclusive=True)
    exclusive.release()


def test_an_exclusive_lock_has_one_holder(path: Path) -> None:
    exclusive = FileLock(path)
    assert not exclusive.held
    assert exclusive.acquire(exclusive=True)
    assert exclusive.held
    other = FileLock(path)
    assert not other.acquire(exclusive=False)
    assert not other.acquire(exclusive=True)
    assert not other.held
    exclusive.release()
    assert not exclusive.held
    assert other.acquire(exclusive=False)
    other.release()


def test_a_second_release_does_nothing_and_the_file_stays(path: Path) -> None:
    lock = FileLock(path)
    lock.release()
    lock.acquire(exclusive=True)
    lock.release()
    lock.release()
    assert path.exists()


def test_only_its_owner_can_read_a_lock_file(path: Path) -> None:
    lock = FileLock(path)
    lock.acquire(exclusive=False)
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    lock.release()


def test_the_lock_of_a_killed_process_is_free(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), "exclusive"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "True\n"
        own = FileLock(path)
        assert not own.acquire(exclusive=False)
        child.kill()
        child.wait()
        assert own.acquire(exclusive=True)
        own.release()
