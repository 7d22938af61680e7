"""Writing, replacing, moving and removing one file of an open folder, so that a crash leaves the old or the new.

Who replaces or removes says which text the file is to have. That is looked at twice: before, and once the file has
been taken out of its place, where no program can find it by its name any more. A program that still has it open for
writing then is noticed on Linux, and the file put back. On file systems without an exchange of names (and on systems
that do not tell who writes) there is an instant, between the last look and the rename, in which a save can be lost.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from scrubjay.errors import FileChanged, ScrubjayError
from scrubjay.notes.files.atomic_rename import exchange, is_being_written, rename_new
from scrubjay.notes.files.entries import digest
from scrubjay.notes.files.paths import shown
from scrubjay.notes.files.tempfiles import keep_beside, new_name, swap_name
from scrubjay.notes.files.tree import digest_of, readable, sync_folder

__all__ = ["Spot", "create", "gone", "move", "remove", "replace"]

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = 0o600
_NOBODYS = bytes(32)


@dataclass(frozen=True, slots=True)
class Spot:
    """A name in an open folder, and the path that messages call it by; `sync`: names that change last at once."""

    path: str
    name: str
    folder: int
    sync: bool = True

    def settle(self) -> None:
        """Let the disk have the folder's names."""
        if self.sync:
            sync_folder(self.folder)


def create(spot: Spot, data: bytes) -> os.stat_result:
    """Write a file where none is; raises FileChanged when something is there."""
    with _written(spot, data) as (temporary, status):
        try:
            rename_new(temporary, spot.name, folders=(spot.folder, spot.folder))
        except FileExistsError:
            raise _taken(spot) from None
        spot.settle()
        return status


def replace(spot: Spot, data: bytes, *, over: bytes) -> os.stat_result:
    """Write a file over the one with that digest; raises FileChanged, and leaves it, when it is another."""
    before = _expected(spot, over)
    new = digest(data)
    if new == over:
        return before
    with _written(spot, data, like=before) as (temporary, status):
        swap = swap_name(new=new, over=over)
        os.rename(temporary, swap, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
        try:
            _swap(spot, swap, new=new, over=over)
        finally:
            spot.settle()
        return status


def move(old: Spot, new: Spot, *, over: bytes) -> os.stat_result:
    """Move the file with that digest to a free name; raises FileChanged, and leaves it, when it is another."""
    _expected(old, over, writers=True)
    try:
        rename_new(old.name, new.name, folders=(old.folder, new.folder))
    except FileExistsError:
        if not _are_one(old, new):
            raise _taken(new) from None
        # Two spellings of one name, where the file system takes them for the same.
        os.rename(old.name, new.name, src_dir_fd=old.folder, dst_dir_fd=new.folder)
    except FileNotFoundError:
        raise gone(old.path) from None
    try:
        return _expected(new, over, writers=True)
    except FileChanged:
        with suppress(OSError):
            rename_new(new.name, old.name, folders=(new.folder, old.folder))
        raise
    finally:
        new.settle()
        old.settle()


def remove(spot: Spot, *, over: bytes) -> None:
    """Remove the file with that digest; raises FileChanged, and leaves it, when it is another."""
    _expected(spot, over)
    swap = swap_name(new=_NOBODYS, over=over)
    os.rename(spot.name, swap, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
    try:
        try:
            _expected(Spot(spot.path, swap, spot.folder), over)
        except ScrubjayError:
            _give_back(spot, swap)
            raise
        os.unlink(swap, dir_fd=spot.folder)
    finally:
        spot.settle()


def _swap(spot: Spot, swap: str, *, new: bytes, over: bytes) -> None:
    """Let the new text and the file change names, and back again if the file was another by then."""
    if not _exchanged(spot, swap):
        _expected(spot, over)
        os.replace(swap, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
        return
    aside = Spot(spot.path, swap, spot.folder)
    try:
        _expected(aside, over)
    except ScrubjayError:
        _swap_back(spot, aside, ours=new)
        raise
    os.unlink(swap, dir_fd=spot.folder)


def _exchanged(spot: Spot, swap: str) -> bool:
    try:
        return exchange(swap, spot.name, folder=spot.folder)
    except FileNotFoundError:
        os.unlink(swap, dir_fd=spot.folder)
        raise gone(spot.path) from None


def _swap_back(spot: Spot, aside: Spot, *, ours: bytes) -> None:
    """Put back what was taken out by mistake; a text that came in between is the newest, and neither is lost."""
    try:
        exchange(aside.name, spot.name, folder=spot.folder)
    except FileNotFoundError:
        _give_back(spot, aside.name)
        return
    try:
        _expected(aside, ours)
    except ScrubjayError:
        with suppress(FileNotFoundError):
            exchange(aside.name, spot.name, folder=spot.folder)
        keep_beside(aside.name, folder=spot.folder)
    else:
        os.unlink(aside.name, dir_fd=spot.folder)


def _give_back(spot: Spot, aside: str) -> None:
    try:
        rename_new(aside, spot.name, folders=(spot.folder, spot.folder))
    except FileExistsError:
        keep_beside(aside, folder=spot.folder)


def _expected(spot: Spot, over: bytes, *, writers: bool = False) -> os.stat_result:
    """The status of a file with that digest that nobody has open for writing (unless `writers` may); or FileChanged."""
    try:
        with readable(spot.path, spot.name, folder=spot.folder) as descriptor:
            if not writers and _is_busy(spot, descriptor):
                raise _changed(spot, "is open in a program that may write to it", busy=True)
            status, found = digest_of(spot.path, descriptor)
    except FileNotFoundError:
        raise gone(spot.path) from None
    if found != over:
        raise _changed(spot, "has changed since it was read")
    return status


def _is_busy(spot: Spot, descriptor: int) -> bool:
    if not is_being_written(descriptor):
        return False
    # Some file systems of networks say so of every file: one that nobody can have open shows whether this is one.
    name = new_name()
    try:
        _new_file(name, b"", folder=spot.folder, like=None)
        with readable(spot.path, name, folder=spot.folder) as nobodys:
            return not is_being_written(nobodys)
    finally:
        with suppress(OSError):
            os.unlink(name, dir_fd=spot.folder)


@contextmanager
def _written(spot: Spot, data: bytes, *, like: os.stat_result | None = None) -> Generator[tuple[str, os.stat_result]]:
    """A new file beside the one it is for, safely on the disk; it goes if nobody has given it another name."""
    name = new_name()
    try:
        yield name, _new_file(name, data, folder=spot.folder, like=like)
    finally:
        with suppress(OSError):
            os.unlink(name, dir_fd=spot.folder)


def _new_file(name: str, data: bytes, *, folder: int, like: os.stat_result | None) -> os.stat_result:
    # Closed before it gets the note's name: from then on, who has it open for writing is somebody else.
    descriptor = os.open(name, _NEW, _NEW_FILE, dir_fd=folder)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if like is not None:
            _keep_owner(descriptor, like)
        os.fsync(descriptor)
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _keep_owner(descriptor: int, like: os.stat_result) -> None:
    """A file stays its owner's: given back to them if we may, else left as open to them as it was."""
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) == (like.st_uid, like.st_gid):
        return
    try:
        os.fchown(descriptor, like.st_uid, like.st_gid)
    except OSError:
        if status.st_uid != like.st_uid:
            os.fchmod(descriptor, stat.S_IMODE(like.st_mode) & 0o777)


def _are_one(old: Spot, new: Spot) -> bool:
    if old.name.casefold() != new.name.casefold():
        return False
    first, second = (os.stat(one.name, dir_fd=one.folder, follow_symlinks=False) for one in (old, new))
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def _taken(spot: Spot) -> FileChanged:
    return FileChanged(
        f"there is a file {shown(spot.path)} already", hint="Read it first, or choose another name", path=spot.path
    )


def gone(path: str) -> FileChanged:
    """That a file is not there any more."""
    return FileChanged(
        f"{shown(path)} is gone since it was read",
        hint="Look for where it was moved, and try again",
        path=path,
        gone=True,
    )


def _changed(spot: Spot, how: str, *, busy: bool = False) -> FileChanged:
    return FileChanged(
        f"{shown(spot.path)} {how}", hint="Read it again; nothing was changed", path=spot.path, busy=busy
    )
