"""Reads and replaces files of other programs: atomically, with a copy of the original, and as a diff."""

import difflib
import errno
import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from scrubjay.errors import Conflict, DiskFull, InvalidInput, StoreReadOnly, TooLarge
from scrubjay.lazy import dataclass

MAX_BYTES = 16 * 1024 * 1024
_COPY_SUFFIX = ".before-scrubjay"
_BOM = b"\xef\xbb\xbf"
_NEW_FILE = 0o600
_NEW_FOLDER = 0o700
_WRITABLE = 0o222
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file as it was read; `data` is None if there is no file."""

    path: Path
    data: bytes | None = None

    @property
    def text(self) -> str:
        """The text, without a byte order mark; empty if there is no file."""
        data = (self.data or b"").removeprefix(_BOM)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{self.path} is not UTF-8 text at byte {error.start}",
                hint="Save it as UTF-8 and try again; nothing was changed",
                path=str(self.path),
            ) from None

    def encode(self, text: str) -> bytes:
        """Return the bytes of a changed text, with the byte order mark if the file had one."""
        return (_BOM if (self.data or b"").startswith(_BOM) else b"") + text.encode("utf-8")


def read_file(path: Path) -> FileContent:
    """Read a file of another program, if it exists; raises if the path is not a regular file."""
    with _system_errors(path, "read"):
        try:
            status = path.stat()
        except FileNotFoundError:
            return FileContent(path)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise InvalidInput(
                f"{path} is {kind}", hint="Move it away, or name another file with --file", path=str(path)
            )
        if status.st_size > MAX_BYTES:
            raise TooLarge(
                f"{path} has {status.st_size:,} bytes; the limit for editing is {MAX_BYTES:,}",
                hint="Add the entry by hand: `scrubjay install CLIENT --print` shows it",
                path=str(path),
            )
        return FileContent(path, path.read_bytes())


def replace_file(before: FileContent, data: bytes, *, keep_copy: bool = True) -> Path | None:
    """Replace a file atomically, and return the path of the copy of its first content.

    A link stays a link: its target is replaced. Later calls keep the first copy.
    """
    real = Path(os.path.realpath(before.path))
    with _system_errors(before.path, "written"):
        mode = _mode_of(real)
        for folder in reversed([folder for folder in real.parents if not folder.exists()]):
            folder.mkdir(mode=_NEW_FOLDER, exist_ok=True)
        with _partial_file(real) as (partial, descriptor):
            with open(descriptor, "wb") as target:  # noqa: PTH123 - it is open already
                target.write(data)
                target.flush()
                os.fsync(target.fileno())
            partial.chmod(mode)
            _copy_owner(real, partial)
            if read_file(real).data != before.data:
                raise Conflict(
                    f"{before.path} has changed in the meantime",
                    hint="Close the program that uses it, and try again",
                    path=str(before.path),
                )
            copy = _save_copy(before.path, before.data, mode=mode) if keep_copy and before.data is not None else None
            partial.replace(real)
        _sync_folder(real.parent)
    return copy


def remove_file(path: Path) -> None:
    """Remove a file that Scrubjay has written."""
    with _system_errors(path, "removed"):
        path.unlink(missing_ok=True)


def unified_diff(file: Path, before: str, after: str) -> str:
    """Return a unified diff of two texts of a file; empty if they are equal."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), fromfile=str(file), tofile=str(file)
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


@contextmanager
def _system_errors(path: Path, verb: str) -> Generator[None]:
    """Raise errors of the operating system as errors of Scrubjay."""
    try:
        yield
    except OSError as error:
        text = f"{path} cannot be {verb}: {error.strerror or error}"
        if error.errno in _FULL:
            raise DiskFull(text, hint="Free some space and try again; nothing was changed", path=str(path)) from error
        if error.errno in _FORBIDDEN:
            hint = "Change its permissions, or name another file with --file; nothing was changed"
            raise StoreReadOnly(text, hint=hint, path=str(path)) from error
        raise InvalidInput(text, hint="Check the path, or name another file with --file", path=str(path)) from error
    except ValueError as error:
        raise InvalidInput(
            f"{str(path)!r} is not a valid path: {error}", hint="Check the path", path=repr(str(path))
        ) from error


def _mode_of(real: Path) -> int:
    """Return the permissions for the new file; raises if the old one is read-only."""
    if not real.exists():
        return _NEW_FILE
    mode = stat.S_IMODE(real.stat().st_mode)
    # Renaming would override the owner's choice, and a superuser can always write.
    if not mode & _WRITABLE or not os.access(real, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only")
    return mode


def _save_copy(path: Path, data: bytes, *, mode: int) -> Path:
    """Copy the old content of a file to a file next to it, unless there is a copy already."""
    copy = path.with_name(path.name + _COPY_SUFFIX)
    try:
        descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & ~0o077)
    except FileExistsError:
        return copy
    with open(descriptor, "wb") as target:  # noqa: PTH123 - it is open already
        target.write(data)
    return copy


@contextmanager
def _partial_file(real: Path) -> Generator[tuple[Path, int]]:
    """Create a temporary file in the same folder, and remove it at the end unless it was moved."""
    descriptor, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name[:100]}.", suffix=".partial")
    partial = Path(name)
    try:
        yield partial, descriptor
    finally:
        partial.unlink(missing_ok=True)


def _copy_owner(source: Path, target: Path) -> None:
    """Keep the owner of a file that a superuser changes."""
    if not source.exists() or not hasattr(os, "chown"):
        return
    old, new = source.stat(), target.stat()
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        os.chown(target, old.st_uid, old.st_gid)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
