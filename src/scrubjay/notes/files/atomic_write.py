"""Create, replace, move and remove one file of an open folder, so that a crash leaves either the old or the new.

A caller that replaces or removes a file passes the digest of the content that it expects. We check the digest twice:
before the operation, and after we have taken the file out of its place, where no program finds it by its name. On Linux
we also notice a program that still has the file open for writing, and put the file back. On file systems that cannot
exchange names, and on systems that do not report writers, a save in the instant between the last check and the rename
can be lost.

New content is written to a temporary `new` file next to its target, which may be deleted after a crash. Before it
changes names with the file that it replaces, it becomes a `swap` file whose name holds the digests of both contents. If
a swap file has neither of these contents after a crash, a user saved the file in that very instant, and we recover that
content.
"""

import os
import re
import secrets
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress

from scrubjay.errors import FileChanged, ScrubjayError
from scrubjay.lazy import dataclass
from scrubjay.notes.files.atomic_rename import exchange, is_being_written, rename_new
from scrubjay.notes.files.paths import quote_path
from scrubjay.notes.files.tree import digest, digest_file, fsync_folder, open_regular_file, open_subfolder

__all__ = [
    "FolderEntry", "create", "file_gone_error", "move", "new_file_name", "remove", "replace", "swap_file_name", "sweep",
]  # fmt: skip

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_MODE = 0o600
_NO_DIGEST = bytes(32)
_PREFIX = ".scrubjay-"
_LEFTOVER = re.compile(r"\.scrubjay-(?:new|swap-(?P<digests>[0-9a-f]{16}-[0-9a-f]{16}))-[0-9a-f]{16}\.tmp")
_HEX_DIGITS = 16
_MAX_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A name in an open folder, with the path that messages show; `sync`: wait until the disk has changed names."""

    path: str
    name: str
    folder: int
    sync: bool = True

    def flush(self) -> None:
        """Write the folder's names to disk."""
        if self.sync:
            fsync_folder(self.folder)


def create(entry: FolderEntry, data: bytes) -> os.stat_result:
    """Create a file; raise FileChanged if one exists."""
    with _temporary_file(entry, data) as (temporary, status):
        try:
            rename_new(temporary, entry.name, folders=(entry.folder, entry.folder))
        except FileExistsError:
            raise _name_taken(entry) from None
        entry.flush()
        return status


def replace(entry: FolderEntry, data: bytes, *, over: bytes) -> os.stat_result:
    """Replace the file that has the digest `over`; raise FileChanged, and leave it alone, if its digest differs."""
    before = _verify(entry, over)
    new = digest(data)
    if new == over:
        return before
    with _temporary_file(entry, data, like=before) as (temporary, status):
        swap = swap_file_name(new=new, over=over)
        os.rename(temporary, swap, src_dir_fd=entry.folder, dst_dir_fd=entry.folder)
        try:
            _swap(entry, swap, new=new, over=over)
        finally:
            entry.flush()
        return status


def move(old: FolderEntry, new: FolderEntry, *, over: bytes) -> os.stat_result:
    """Move the file that has the digest `over` to an unused name; raise FileChanged, and leave it, if it differs."""
    _verify(old, over, allow_writers=True)
    try:
        rename_new(old.name, new.name, folders=(old.folder, new.folder))
    except FileExistsError:
        if not _is_same_file(old, new):
            raise _name_taken(new) from None
        # Two spellings of one name, on a file system that ignores case.
        os.rename(old.name, new.name, src_dir_fd=old.folder, dst_dir_fd=new.folder)
    except FileNotFoundError:
        raise file_gone_error(old.path) from None
    try:
        return _verify(new, over, allow_writers=True)
    except FileChanged:
        with suppress(OSError):
            rename_new(new.name, old.name, folders=(new.folder, old.folder))
        raise
    finally:
        new.flush()
        old.flush()


def remove(entry: FolderEntry, *, over: bytes) -> None:
    """Remove the file that has the digest `over`; raise FileChanged, and leave it alone, if its digest differs."""
    _verify(entry, over)
    swap = swap_file_name(new=_NO_DIGEST, over=over)
    os.rename(entry.name, swap, src_dir_fd=entry.folder, dst_dir_fd=entry.folder)
    try:
        try:
            _verify(FolderEntry(entry.path, swap, entry.folder), over)
        except ScrubjayError:
            _put_back(entry, swap)
            raise
        os.unlink(swap, dir_fd=entry.folder)
    finally:
        entry.flush()


def sweep(root: int) -> int:
    """Remove the leftovers of crashes in an open folder, recover content that a user wrote, and count both."""
    count = 0
    for parts, name in list(_find_leftovers(root)):
        with suppress(FileNotFoundError), open_subfolder(root, parts) as folder:
            if _is_expendable(name, folder):
                os.unlink(name, dir_fd=folder)
            else:
                _recover(name, folder=folder)
            fsync_folder(folder)
            count += 1
    return count


def new_file_name() -> str:
    """Return a name for content that is being written."""
    return f"{_PREFIX}new-{secrets.token_hex(_HEX_DIGITS // 2)}.tmp"


def swap_file_name(*, new: bytes, over: bytes) -> str:
    """Return a name for a file about to be exchanged: it holds the new content before, and the old one after."""
    return f"{_PREFIX}swap-{_shorten(new)}-{_shorten(over)}-{secrets.token_hex(_HEX_DIGITS // 2)}.tmp"


def file_gone_error(path: str) -> FileChanged:
    """Return the error for a file that has disappeared."""
    return FileChanged(
        f"{quote_path(path)} has disappeared since it was read",
        hint="Find out where it was moved, and try again",
        path=path,
        gone=True,
    )


def _swap(entry: FolderEntry, swap: str, *, new: bytes, over: bytes) -> None:
    """Exchange the new content and the file, and exchange them back if the file has changed by then."""
    try:
        is_exchanged = exchange(swap, entry.name, folder=entry.folder)
    except FileNotFoundError:
        os.unlink(swap, dir_fd=entry.folder)
        raise file_gone_error(entry.path) from None
    if not is_exchanged:
        _verify(entry, over)
        os.replace(swap, entry.name, src_dir_fd=entry.folder, dst_dir_fd=entry.folder)
        return
    swapped_out = FolderEntry(entry.path, swap, entry.folder)
    try:
        _verify(swapped_out, over)
    except ScrubjayError:
        _swap_back(entry, swapped_out, ours=new)
        raise
    os.unlink(swap, dir_fd=entry.folder)


def _swap_back(entry: FolderEntry, swapped_out: FolderEntry, *, ours: bytes) -> None:
    """Put back a changed file; if another save came in between, it is the newest, and both are kept."""
    try:
        exchange(swapped_out.name, entry.name, folder=entry.folder)
    except FileNotFoundError:
        _put_back(entry, swapped_out.name)
        return
    try:
        _verify(swapped_out, ours)
    except ScrubjayError:
        with suppress(FileNotFoundError):
            exchange(swapped_out.name, entry.name, folder=entry.folder)
        _recover(swapped_out.name, folder=entry.folder)
    else:
        os.unlink(swapped_out.name, dir_fd=entry.folder)


def _put_back(entry: FolderEntry, swap: str) -> None:
    try:
        rename_new(swap, entry.name, folders=(entry.folder, entry.folder))
    except FileExistsError:
        _recover(swap, folder=entry.folder)


def _recover(name: str, *, folder: int) -> str:
    """Give a temporary file a visible name in its folder, which makes it a note; return that name."""
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    ending = ".md" if stat.S_ISREG(mode) else ""
    for _ in range(_MAX_ATTEMPTS):
        visible = f"recovered-{secrets.token_hex(4)}{ending}"
        with suppress(FileExistsError):
            rename_new(name, visible, folders=(folder, folder))
            return visible
    raise FileExistsError(name)


def _verify(entry: FolderEntry, over: bytes, *, allow_writers: bool = False) -> os.stat_result:
    """Return the status of a file with this digest; raise FileChanged if it differs or is open for writing."""
    try:
        with open_regular_file(entry.path, entry.name, folder=entry.folder) as descriptor:
            if not allow_writers and _is_busy(entry, descriptor):
                raise _change_error(entry, "is open in a program that may write to it", busy=True)
            status, actual = digest_file(entry.path, descriptor)
    except FileNotFoundError:
        raise file_gone_error(entry.path) from None
    if actual != over:
        raise _change_error(entry, "has changed since it was read")
    return status


def _is_busy(entry: FolderEntry, descriptor: int) -> bool:
    if not is_being_written(descriptor):
        return False
    # Some network file systems report every file as open: a file that no other program can have open exposes them.
    name = new_file_name()
    try:
        _write_new_file(name, b"", folder=entry.folder, like=None)
        with open_regular_file(entry.path, name, folder=entry.folder) as probe:
            return not is_being_written(probe)
    finally:
        with suppress(OSError):
            os.unlink(name, dir_fd=entry.folder)


@contextmanager
def _temporary_file(
    entry: FolderEntry, data: bytes, *, like: os.stat_result | None = None
) -> Generator[tuple[str, os.stat_result]]:
    """Write a new file next to its target, synced to disk; remove it at the end unless it has been renamed."""
    name = new_file_name()
    try:
        yield name, _write_new_file(name, data, folder=entry.folder, like=like)
    finally:
        with suppress(OSError):
            os.unlink(name, dir_fd=entry.folder)


def _write_new_file(name: str, data: bytes, *, folder: int, like: os.stat_result | None) -> os.stat_result:
    # Close it before it gets the note's name: from then on, any writer is another program.
    descriptor = os.open(name, _CREATE, _FILE_MODE, dir_fd=folder)
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
    """Give a new file the owner of the old one, or, if we may not, the permissions of the old one."""
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) == (like.st_uid, like.st_gid):
        return
    try:
        os.fchown(descriptor, like.st_uid, like.st_gid)
    except OSError:
        if status.st_uid != like.st_uid:
            os.fchmod(descriptor, stat.S_IMODE(like.st_mode) & 0o777)


def _is_same_file(old: FolderEntry, new: FolderEntry) -> bool:
    if old.name.casefold() != new.name.casefold():
        return False
    first, second = (os.stat(entry.name, dir_fd=entry.folder, follow_symlinks=False) for entry in (old, new))
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def _name_taken(entry: FolderEntry) -> FileChanged:
    return FileChanged(
        f"a file {quote_path(entry.path)} exists already", hint="Read it first, or choose another name", path=entry.path
    )


def _change_error(entry: FolderEntry, problem: str, *, busy: bool = False) -> FileChanged:
    return FileChanged(
        f"{quote_path(entry.path)} {problem}", hint="Read it again; nothing was changed", path=entry.path, busy=busy
    )


def _find_leftovers(root: int) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the folders and names of the temporary files anywhere in an open folder."""
    pending: list[tuple[str, ...]] = [()]
    while pending:
        parts = pending.pop()
        with suppress(OSError), open_subfolder(root, parts) as folder, os.scandir(folder) as entries:
            for entry in entries:
                if _LEFTOVER.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    yield parts, entry.name
                elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    pending.append((*parts, entry.name))


def _is_expendable(name: str, folder: int) -> bool:
    """Whether a temporary file has only content that we wrote or that is stored elsewhere."""
    match = _LEFTOVER.fullmatch(name)
    digests = match["digests"] if match else None
    if digests is None:
        return True
    with open_regular_file(name, name, folder=folder) as descriptor:
        return _shorten(digest_file(name, descriptor)[1]) in digests.split("-")


def _shorten(digest: bytes) -> str:
    return digest.hex()[:_HEX_DIGITS]
