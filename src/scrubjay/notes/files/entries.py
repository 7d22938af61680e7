"""What is seen of the files in a folder of notes: pure data."""

import hashlib
import os
from dataclasses import dataclass

__all__ = ["Odd", "Seen", "digest", "seen_as"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A regular file as the disk tells of it; `path` is relative to the folder, with `/` between its parts."""

    path: str
    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """Something in the folder that is left alone, and why; `path` can be shown, but may not be what opens it."""

    path: str
    why: str


def digest(data: bytes) -> bytes:
    """The SHA-256 of a file's bytes, by which two versions of it are told apart."""
    return hashlib.sha256(data).digest()


def seen_as(path: str, status: os.stat_result) -> Seen:
    """A file, by the status of what is open or listed."""
    return Seen(path=path, size=status.st_size, mtime_ns=status.st_mtime_ns, inode=status.st_ino)
