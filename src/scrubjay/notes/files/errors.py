"""The mapping of operating system errors to errors of the folder of notes."""

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from scrubjay.errors import PathRefused, ScrubjayError, VaultUnavailable
from scrubjay.notes.files.paths import quote_path

__all__ = ["map_os_errors", "not_a_regular_file", "vault_unavailable"]

_DISK_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_GONE = {errno.ENOENT, errno.ESTALE, errno.ENODEV, errno.ENXIO}
_UNUSABLE_PATH = {errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL}
_REASONS = {"full": _DISK_FULL, "read_only": _FORBIDDEN, "gone": _GONE, "in_the_way": _UNUSABLE_PATH}
_HINTS = {
    "full": "Free some space; the notes are synchronized after that",
    "read_only": "Check the permissions of the folder and its files, or choose another folder with --notestore_path",
    "gone": "Bring the folder back, or choose another with --notestore_path; no memory is forgotten because of this",
    "in_the_way": "Move it away, or choose another folder with --notestore_path",
    "other_store": (
        "Choose another folder with --notestore_path, or the data folder that these notes belong to; "
        "`scrubjay notes sync --adopt` assigns them to this store without losing any"
    ),
    "in_use": "Stop the server that uses them with `scrubjay service stop` there, and try again",
    "other_space": "Choose another folder with --notestore_path, or the space that these notes belong to",
    "marker": "Remove that file to assign the folder to this store; the notes in it stay",
    "io": "Check the disk, and try again",
}


@contextmanager
def map_os_errors(
    root: Path, *, path: str = "", reads: bool = False, missing: ScrubjayError | None = None
) -> Generator[None]:
    """Raise every OSError as one of our errors, with a hint.

    With `reads`, a missing permission to read concerns that file alone, not the folder. `missing` is the error to raise
    if the file, or a folder on the way to it, does not exist.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise missing or _map_error(error, root=root, path=path, reads=reads) from error
    except OSError as error:
        raise _map_error(error, root=root, path=path, reads=reads) from error


def vault_unavailable(message: str, *, root: Path, reason: str) -> VaultUnavailable:
    """Return the error for a folder that cannot be used, with the hint for the reason."""
    return VaultUnavailable(message, hint=_HINTS[reason], path=str(root), reason=reason)


def not_a_regular_file(path: str, problem: str) -> PathRefused:
    """Return the error for a path that is not a regular file."""
    return PathRefused(
        f"{quote_path(path)} {problem}",
        hint="Put a regular file there: links, devices and pipes are skipped",
        path=path,
    )


def _map_error(error: OSError, *, root: Path, path: str, reads: bool) -> ScrubjayError:
    number, cause = error.errno or 0, error.strerror or str(error)
    if path and (number in _UNUSABLE_PATH or (reads and number in _FORBIDDEN)):
        return not_a_regular_file(path, f"cannot be used: {cause}")
    reason = next((name for name, numbers in _REASONS.items() if number in numbers), "io")
    subject = f"{quote_path(path)} in the folder of notes {root}" if path else f"the folder of notes {root}"
    return vault_unavailable(f"{subject} cannot be used: {cause}", root=root, reason=reason)
