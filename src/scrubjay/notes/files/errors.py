"""What a disk's errors mean to whoever keeps notes on it."""

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from scrubjay.errors import PathRefused, ScrubjayError, VaultUnavailable
from scrubjay.notes.files.paths import shown

__all__ = ["no_file", "told", "unavailable"]

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_GONE = {errno.ENOENT, errno.ESTALE, errno.ENODEV, errno.ENXIO}
_NO_WAY = {errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL}
_REASONS = {"full": _FULL, "read_only": _FORBIDDEN, "gone": _GONE, "in_the_way": _NO_WAY}
_HINTS = {
    "full": "Free some space; the notes are brought in step after that",
    "read_only": "Check the permissions of the folder and its files, or choose another folder with --notestore_path",
    "gone": "Bring the folder back, or choose another with --notestore_path; no memory is forgotten for it",
    "in_the_way": "Move it away, or choose another folder with --notestore_path",
    "other_store": (
        "Choose another folder with --notestore_path, or the data folder that these notes belong to; "
        "`scrubjay notes sync --adopt` makes them this store's, and loses none"
    ),
    "in_use": "Stop the server that has them with `scrubjay service stop` there, and try again",
    "other_space": "Choose another folder with --notestore_path, or the space that these notes belong to",
    "marker": "Remove that file to make the folder this store's; the notes in it stay",
    "io": "Look after the disk, and try again",
}


@contextmanager
def told(root: Path, *, path: str = "", reads: bool = False, missing: ScrubjayError | None = None) -> Generator[None]:
    """Every error of the disk leaves as one of ours, saying what to do next.

    With `reads`, a file that may not be read is a trouble of that file, and not of the folder. `missing` is what it
    means that the file, or a folder on the way to it, is not there.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise missing or _told(error, root=root, path=path, reads=reads) from error
    except OSError as error:
        raise _told(error, root=root, path=path, reads=reads) from error


def unavailable(message: str, *, root: Path, reason: str) -> VaultUnavailable:
    """That the folder cannot be used, and what helps."""
    return VaultUnavailable(message, hint=_HINTS[reason], path=str(root), reason=reason)


def no_file(path: str, why: str) -> PathRefused:
    """That what is at a path is not a file that a note can be in."""
    return PathRefused(
        f"{shown(path)} {why}", hint="Put a plain file there: links, devices and pipes are left alone", path=path
    )


def _told(error: OSError, *, root: Path, path: str, reads: bool) -> ScrubjayError:
    number, why = error.errno or 0, error.strerror or str(error)
    if path and (number in _NO_WAY or (reads and number in _FORBIDDEN)):
        return no_file(path, f"cannot be used: {why}")
    reason = next((name for name, numbers in _REASONS.items() if number in numbers), "io")
    about = f"{shown(path)} in the folder of notes {root}" if path else f"the folder of notes {root}"
    return unavailable(f"{about} cannot be used: {why}", root=root, reason=reason)
