"""The place of temporary folders of tests."""

import os
import shutil
from pathlib import Path

_MEMORY_DISK = Path("/dev/shm")
_ROOM = 2 * 1024**3


def quick_place() -> Path | None:
    """Return a disk in memory, because waiting for a real one proves nothing; None is the default place."""
    roomy = _MEMORY_DISK.is_dir() and os.access(_MEMORY_DISK, os.W_OK) and shutil.disk_usage(_MEMORY_DISK).free > _ROOM
    return _MEMORY_DISK if roomy else None
