"""Reads and replaces files that belong to other programs: all or nothing, and never without a copy."""

import errno
import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scrubjay.errors import Conflict, DiskFull, InvalidInput, StoreReadOnly, TooLarge

LARGEST = 16 * 1024 * 1024
COPY = ".before-scrubjay"
_BOM = b"\xef\xbb\xbf"
_NEW_FILE = 0o600
_NEW_FOLDER = 0o700
_WRITABLE = 0o222
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was read. `text` is without the mark that some editors put first; None when there is no file."""

    path: Path
    data: bytes | None = None

    @property
    def text(self) -> str:
        """What it says; nothing when it is not there."""
        data = (self.data or b"").removeprefix(_BOM)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{self.path} is not UTF-8 text at byte {error.start}",
                hint="Save it as UTF-8 and try again; nothing was changed",
                path=str(self.path),
            ) from None

    def data_of(self, text: str) -> bytes:
        """The bytes of a changed text, with the mark that the file had."""
        return (_BOM if (self.data or b"").startswith(_BOM) else b"") + text.encode("utf-8")


def read_file(path: Path) -> Found:
    """A file of another program, or that there is none; raises when it is something else."""
    with _told(path, "read"):
        try:
            status = path.stat()
        except FileNotFoundError:
            return Found(path)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no file"
            raise InvalidInput(f"{path} is {kind}", hint="Move it away, or name another with --file", path=str(path))
        if status.st_size > LARGEST:
            raise TooLarge(
                f"{path} has {status.st_size:,} bytes, and at most {LARGEST:,} are edited",
                hint="Add the entry by hand: `scrubjay install CLIENT --print` shows it",
                path=str(path),
            )
        return Found(path, path.read_bytes())


def replace_file(found: Found, data: bytes, *, keep: bool = True) -> Path | None:
    """Put new content in place of what was read, at once; returns where the old content is kept.

    A link stays a link: what it leads to is replaced. The first copy is kept for good.
    """
    real = Path(os.path.realpath(found.path))
    with _told(found.path, "written"):
        mode = _mode_of(real)
        _make_folders(real.parent)
        with _beside(real) as (partial, descriptor):
            with open(descriptor, "wb") as target:  # noqa: PTH123 - it is open already
                target.write(data)
                target.flush()
                os.fsync(target.fileno())
            partial.chmod(mode)
            _keep_owner(partial, real)
            if read_file(real).data != found.data:
                raise Conflict(
                    f"{found.path} has changed in the meantime",
                    hint="Close the program that it belongs to, and try again",
                    path=str(found.path),
                )
            copy = _keep(found.path, found.data, mode=mode) if keep and found.data is not None else None
            partial.replace(real)
        _sync_folder(real.parent)
    return copy


def remove_file(path: Path) -> None:
    """Remove a file of our own."""
    with _told(path, "removed"):
        path.unlink(missing_ok=True)


def _mode_of(real: Path) -> int:
    """The permissions to give; raises where the file may not be written."""
    if not real.exists():
        return _NEW_FILE
    mode = stat.S_IMODE(real.stat().st_mode)
    # The owner's wish, which renaming would pass over, and which does not bind the superuser.
    if not mode & _WRITABLE or not os.access(real, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only")
    return mode


def _keep(path: Path, data: bytes, *, mode: int) -> Path:
    """A copy of the old content beside a file, unless there is one from before."""
    copy = path.with_name(path.name + COPY)
    try:
        descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & ~0o077)
    except FileExistsError:
        return copy
    with open(descriptor, "wb") as target:  # noqa: PTH123 - as above
        target.write(data)
    return copy


def _make_folders(folder: Path) -> None:
    missing = [item for item in (folder, *folder.parents) if not item.exists()]
    for entry in reversed(missing):
        entry.mkdir(mode=_NEW_FOLDER, exist_ok=True)


@contextmanager
def _beside(real: Path) -> Generator[tuple[Path, int]]:
    """A new file in the same folder, gone at the end unless it was moved."""
    descriptor, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name[:100]}.", suffix=".partial")
    partial = Path(name)
    try:
        yield partial, descriptor
    finally:
        partial.unlink(missing_ok=True)


def _keep_owner(partial: Path, real: Path) -> None:
    """Leave a file with its owner when the superuser changes it."""
    if not real.exists() or not hasattr(os, "chown"):
        return
    old, new = real.stat(), partial.stat()
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        os.chown(partial, old.st_uid, old.st_gid)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _told(path: Path, verb: str) -> Generator[None]:
    """Errors of the system in our own words."""
    try:
        yield
    except OSError as error:
        text = f"{path} cannot be {verb}: {error.strerror or error}"
        if error.errno in _FULL:
            raise DiskFull(text, hint="Make room and try again; nothing was changed", path=str(path)) from error
        if error.errno in _FORBIDDEN:
            raise StoreReadOnly(
                text, hint="Change its permissions, or name another with --file; nothing was changed", path=str(path)
            ) from error
        raise InvalidInput(text, hint="Check the path, or name another with --file", path=str(path)) from error
    except ValueError as error:
        raise InvalidInput(f"{str(path)!r} is no path: {error}", hint="Check the path", path=repr(str(path))) from error
