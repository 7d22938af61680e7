"""Open and list files below a folder, descending one name at a time and never following a link."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress

from scrubjay.errors import FileChanged, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.notes.files.errors import not_a_regular_file
from scrubjay.notes.files.paths import find_path_problem, is_hidden, quote_path

__all__ = [
    "FileInfo", "SkippedEntry", "WalkedFile", "digest", "digest_file", "file_info", "fsync_folder", "open_folder",
    "open_regular_file", "open_subfolder", "read_content", "stat_regular_file", "walk",
]  # fmt: skip

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking: a regular file may have become a pipe between the check and the open.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER_MODE = 0o700
_MAX_ATTEMPTS = 3
_CHUNK = 1024 * 1024
_NO_FSYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
_KINDS = {
    stat.S_IFLNK: "is a link, and links are not followed",
    stat.S_IFDIR: "is a folder",
    stat.S_IFIFO: "is a pipe",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFCHR: "is a device",
    stat.S_IFBLK: "is a device",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInfo:
    """The metadata of a regular file; `path` is relative to the folder, with `/` between its parts."""

    path: str
    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedEntry:
    """An entry of the folder that is skipped, and why; `path` is printable, and may not open the entry."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class WalkedFile:
    """A regular file found by a walk."""

    path: str
    status: os.stat_result


def digest(data: bytes) -> bytes:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(data).digest()


def file_info(path: str, status: os.stat_result) -> FileInfo:
    """Return the metadata of a file from its status."""
    return FileInfo(path=path, size=status.st_size, mtime_ns=status.st_mtime_ns, inode=status.st_ino)


@contextmanager
def open_folder(name: str | os.PathLike[str], *, within: int | None = None) -> Generator[int]:
    """Open a folder."""
    descriptor = os.open(name, _FOLDER, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_subfolder(root: int, parts: tuple[str, ...], *, make: bool = False) -> Generator[int]:
    """Open the folder at these names below another; with `make`, create missing ones, private to the owner."""
    descriptor = os.dup(root)
    try:
        for part in parts:
            inner = _open_inner(part, descriptor, make=make)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_regular_file(path: str, name: str, *, folder: int) -> Generator[int]:
    """Open a regular file of an open folder for reading; raise PathRefused for anything else."""
    _require_regular(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        _require_regular(path, os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def stat_regular_file(path: str, name: str, *, folder: int) -> os.stat_result:
    """Return the status of a regular file; raise PathRefused for anything else."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    _require_regular(path, status)
    return status


def read_content(path: str, descriptor: int, *, max_bytes: int) -> tuple[os.stat_result, bytes]:
    """Return the status and the bytes of an open file, from a read during which it did not change."""

    def read() -> bytes:
        if (size := os.fstat(descriptor).st_size) > max_bytes:
            raise _too_large(path, size, max_bytes)
        data = b"".join(_read_chunks(descriptor, max_bytes=max_bytes + 1))
        if len(data) > max_bytes:
            raise _too_large(path, len(data), max_bytes)
        return data

    return _read_unchanged(path, descriptor, read)


def digest_file(path: str, descriptor: int) -> tuple[os.stat_result, bytes]:
    """Return the status and the digest of an open file of any size."""

    def read() -> bytes:
        sha256 = hashlib.sha256()
        for chunk in _read_chunks(descriptor):
            sha256.update(chunk)
        return sha256.digest()

    return _read_unchanged(path, descriptor, read)


def fsync_folder(folder: int) -> None:
    """Write the names in an open folder to disk, if the file system supports that."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in _NO_FSYNC:
            raise


def walk(root: int, *, skip: frozenset[str] = frozenset()) -> Iterator[WalkedFile | SkippedEntry]:
    """Yield all visible files below an open folder, by folder and name, except those in the top folders of `skip`."""
    pending: list[tuple[str, ...]] = [()]
    while pending:
        parts = pending.pop()
        files, folders = _list_folder(root, parts)
        yield from files
        pending += [(*parts, name) for name in reversed(folders) if parts or name.casefold() not in skip]


def _list_folder(root: int, parts: tuple[str, ...]) -> tuple[list[WalkedFile | SkippedEntry], list[str]]:
    prefix = "".join(f"{part}/" for part in parts)
    files: list[WalkedFile | SkippedEntry] = []
    folders: list[str] = []
    try:
        with open_subfolder(root, parts) as folder, os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if not is_hidden(entry.name):
                    _classify(entry, prefix + entry.name, files, folders)
    except FileNotFoundError:
        # The folder was removed during the walk.
        return [], []
    except OSError as error:
        return [SkippedEntry(path=prefix.rstrip("/"), reason=f"cannot be listed: {error.strerror}")], []
    return files, folders


def _classify(
    entry: os.DirEntry[str], path: str, files: list[WalkedFile | SkippedEntry], folders: list[str]
) -> None:  # fmt: skip
    if problem := find_path_problem(path):
        printable = path.encode("utf-8", "backslashreplace").decode("utf-8")
        files.append(SkippedEntry(path=printable, reason=problem))
        return
    if entry.is_dir(follow_symlinks=False):
        folders.append(entry.name)
        return
    with suppress(FileNotFoundError):
        status = entry.stat(follow_symlinks=False)
        is_regular = stat.S_ISREG(status.st_mode)
        files.append(WalkedFile(path, status) if is_regular else SkippedEntry(path=path, reason=_kind(status)))


def _open_inner(name: str, folder: int, *, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, _FOLDER_MODE, dir_fd=folder)
        fsync_folder(folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _require_regular(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise not_a_regular_file(path, _kind(status))


def _kind(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "is not a file")


def _read_unchanged(path: str, descriptor: int, read: Callable[[], bytes]) -> tuple[os.stat_result, bytes]:
    """Repeat a read until the file has not changed during it."""
    for _ in range(_MAX_ATTEMPTS):
        before = os.fstat(descriptor)
        data = read()
        after = os.fstat(descriptor)
        if _fingerprint(before) == _fingerprint(after):
            return after, data
    raise FileChanged(
        f"{quote_path(path)} is being written while we read it", hint="Try again in a moment", path=path, busy=True
    )


def _read_chunks(descriptor: int, *, max_bytes: int | None = None) -> Iterator[bytes]:
    os.lseek(descriptor, 0, os.SEEK_SET)
    remaining = _CHUNK if max_bytes is None else max_bytes
    while remaining > 0 and (chunk := os.read(descriptor, min(remaining, _CHUNK))):
        yield chunk
        remaining -= 0 if max_bytes is None else len(chunk)


def _fingerprint(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _too_large(path: str, size: int, max_bytes: int) -> TooLarge:
    return TooLarge(
        f"{quote_path(path)} has {size:,} bytes, and a note has at most {max_bytes:,}",
        hint="Split it, or keep it as an attachment",
        path=path,
        size=size,
    )
