"""Advisory locks between processes; the system releases them when their holder ends."""

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int, *, exclusive: bool) -> None:
        # Windows has no shared lock here: there only the daemon opens a store.
        if exclusive:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(descriptor: int, *, exclusive: bool) -> None:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)


class FileLock:
    """One lock on one file: shared by many, or exclusive to one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self._descriptor is not None

    @property
    def is_in_place(self) -> bool:
        """Whether the locked file is still the one of its name; another process may have deleted its folder."""
        try:
            return self._descriptor is not None and os.path.samestat(os.fstat(self._descriptor), self.path.stat())
        except FileNotFoundError:
            return False
        except OSError:
            # A disk that does not answer for a while.
            return True

    def acquire(self, *, exclusive: bool) -> bool:
        """Take the lock if it is free; never waits."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _take(descriptor, exclusive=exclusive)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Release the lock. The file stays: after a removal two processes could lock two files of one name."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
