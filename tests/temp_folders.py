"""Where tests keep what lasts no longer than they do."""

import os
import shutil
from pathlib import Path

_MEMORY_DISK = Path("/dev/shm")
_ROOM = 2 * 1024**3


def quick_place() -> Path | None:
    """A disk in memory, where waiting for a real one would prove nothing; None is the usual place."""
    roomy = _MEMORY_DISK.is_dir() and os.access(_MEMORY_DISK, os.W_OK) and shutil.disk_usage(_MEMORY_DISK).free > _ROOM
    return _MEMORY_DISK if roomy else None
