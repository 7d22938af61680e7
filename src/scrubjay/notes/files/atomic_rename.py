"""Renames that never write over a file: into a free name, or two names exchanged at once."""

import ctypes
import errno
import os
import signal
import sys
from collections.abc import Callable
from functools import cache

__all__ = ["exchange", "is_being_written", "rename_new"]

# What a system answers that has the call, for a file system that has not.
_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
_Call = Callable[[int, bytes, int, bytes, int], int]

if sys.platform == "darwin":
    _NAME, _NEW, _EXCHANGE = "renameatx_np", 4, 2
else:
    _NAME, _NEW, _EXCHANGE = "renameat2", 1, 2

if sys.platform == "linux":
    import fcntl

    def is_being_written(descriptor: int) -> bool:
        """Whether any program has a file open for writing that is open here for reading; False where none can tell."""
        try:
            # Who opens it in this very moment breaks the lease, and the usual signal for that would end the process.
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError as error:
            return error.errno == errno.EAGAIN
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False
else:

    def is_being_written(descriptor: int) -> bool:
        """Whether any program has a file open for writing that is open here for reading; False where none can tell."""
        del descriptor
        return False


def exchange(first: str, second: str, *, folder: int) -> bool:
    """Let two files of one open folder change names at once; False where the file system cannot."""
    return _renamed(first, second, folders=(folder, folder), flag=_EXCHANGE)


def rename_new(old: str, new: str, *, folders: tuple[int, int]) -> None:
    """Give a file a name that nothing has, in open folders; raises FileExistsError when something has it.

    Where a file system has no call for it, a second link is made and the first taken away: a crash in between leaves
    both. Where it has no links either, the name is looked up just before, and who takes it in that instant loses.
    """
    if _renamed(old, new, folders=folders, flag=_NEW):
        return
    source, target = folders
    try:
        os.link(old, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        if _is_taken(new, target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new) from None
        os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)
    else:
        os.unlink(old, dir_fd=source)


def _renamed(old: str, new: str, *, folders: tuple[int, int], flag: int) -> bool:
    call = _call()
    if call is None:
        return False
    if call(folders[0], os.fsencode(old), folders[1], os.fsencode(new), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), old)


@cache
def _call() -> _Call | None:
    found = getattr(ctypes.CDLL(None, use_errno=True), _NAME, None)
    if found is None:
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    found.restype = ctypes.c_int
    return found


def _is_taken(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
