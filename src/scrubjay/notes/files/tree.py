"""Opening what is in a folder by walking down from it, one name at a time, never through a link."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from scrubjay.errors import FileChanged, TooLarge
from scrubjay.notes.files.entries import Odd
from scrubjay.notes.files.errors import no_file
from scrubjay.notes.files.paths import is_hidden, reason_against, shown

__all__ = ["Entry", "below", "content_of", "digest_of", "opened", "readable", "status_of", "sync_folder", "walk"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without waiting: what was a file when it was looked at may be a pipe when it is opened.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW_FOLDER = 0o700
_TRIES = 3
_CHUNK = 1024 * 1024
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
_KINDS = {
    stat.S_IFLNK: "is a link, and links are not followed",
    stat.S_IFDIR: "is a folder",
    stat.S_IFIFO: "is a pipe",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFCHR: "is a device",
    stat.S_IFBLK: "is a device",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A regular file that a walk came by."""

    path: str
    status: os.stat_result


@contextmanager
def opened(name: str | os.PathLike[str], *, within: int | None = None) -> Generator[int]:
    """An open folder."""
    descriptor = os.open(name, _FOLDER, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def below(root: int, parts: tuple[str, ...], *, make: bool = False) -> Generator[int]:
    """The open folder so many names below another; with `make`, those that are missing are made for the owner alone."""
    descriptor = os.dup(root)
    try:
        for part in parts:
            inner = _inner(part, descriptor, make=make)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def readable(path: str, name: str, *, folder: int) -> Generator[int]:
    """An open regular file of an open folder; raises PathRefused for anything else."""
    _only_regular(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        _only_regular(path, os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def status_of(path: str, name: str, *, folder: int) -> os.stat_result:
    """The status of a regular file; raises PathRefused for anything else."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    _only_regular(path, status)
    return status


def content_of(path: str, descriptor: int, *, most: int) -> tuple[os.stat_result, bytes]:
    """All of an open file, and its status; it is read again if it changes meanwhile, and refused if it is too large."""

    def read() -> bytes:
        if (size := os.fstat(descriptor).st_size) > most:
            raise _too_large(path, size, most)
        data = b"".join(_pieces(descriptor, most=most + 1))
        if len(data) > most:
            raise _too_large(path, len(data), most)
        return data

    return _unchanged(path, descriptor, read)


def digest_of(path: str, descriptor: int) -> tuple[os.stat_result, bytes]:
    """The digest of an open file of any size, and its status."""

    def read() -> bytes:
        found = hashlib.sha256()
        for piece in _pieces(descriptor):
            found.update(piece)
        return found.digest()

    return _unchanged(path, descriptor, read)


def sync_folder(folder: int) -> None:
    """Let the disk have the names in an open folder, where the file system knows how to."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def walk(root: int, *, skip: frozenset[str] = frozenset()) -> Iterator[Entry | Odd]:
    """All that is visible below an open folder, except in some folders right in it; folder by folder, by name."""
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        parts = waiting.pop()
        files, folders = _looked_through(root, parts)
        yield from files
        waiting += [(*parts, name) for name in reversed(folders) if parts or name.casefold() not in skip]


def _looked_through(root: int, parts: tuple[str, ...]) -> tuple[list[Entry | Odd], list[str]]:
    prefix = "".join(f"{part}/" for part in parts)
    found: list[Entry | Odd] = []
    folders: list[str] = []
    try:
        with below(root, parts) as folder, os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if not is_hidden(entry.name):
                    _sort_out(entry, prefix + entry.name, found, folders)
    except FileNotFoundError:
        # It went while we were on the way.
        return [], []
    except OSError as error:
        return [Odd(path=prefix.rstrip("/"), why=f"cannot be looked through: {error.strerror}")], []
    return found, folders


def _sort_out(entry: os.DirEntry[str], path: str, found: list[Entry | Odd], folders: list[str]) -> None:
    if against := reason_against(path):
        found.append(Odd(path=_printable(path), why=against))
        return
    if entry.is_dir(follow_symlinks=False):
        folders.append(entry.name)
        return
    with suppress(FileNotFoundError):
        status = entry.stat(follow_symlinks=False)
        found.append(Entry(path, status) if stat.S_ISREG(status.st_mode) else Odd(path=path, why=_kind(status)))


def _inner(name: str, folder: int, *, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, _NEW_FOLDER, dir_fd=folder)
        sync_folder(folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _only_regular(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise no_file(path, _kind(status))


def _kind(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "is no file")


def _unchanged(path: str, descriptor: int, read: Callable[[], bytes]) -> tuple[os.stat_result, bytes]:
    for _ in range(_TRIES):
        before = os.fstat(descriptor)
        found = read()
        after = os.fstat(descriptor)
        if _moment(before) == _moment(after):
            return after, found
    raise FileChanged(
        f"{shown(path)} is being written while it is read", hint="Try again in a moment", path=path, busy=True
    )


def _pieces(descriptor: int, *, most: int | None = None) -> Iterator[bytes]:
    os.lseek(descriptor, 0, os.SEEK_SET)
    left = _CHUNK if most is None else most
    while left > 0 and (piece := os.read(descriptor, min(left, _CHUNK))):
        yield piece
        left -= 0 if most is None else len(piece)


def _moment(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _too_large(path: str, size: int, most: int) -> TooLarge:
    return TooLarge(
        f"{shown(path)} has {size:,} bytes, and at most {most:,} are read as a note",
        hint="Split it, or keep it as an attachment",
        path=path,
        size=size,
    )


def _printable(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode("utf-8")
