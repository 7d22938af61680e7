"""Renames that never overwrite a file: to an unused name, or an atomic exchange of two names."""

import ctypes
import errno
import os
import signal
import sys
from collections.abc import Callable
from functools import cache

__all__ = ["exchange", "is_being_written", "rename_new"]

# Errors of a system that has the call on a file system that does not support it.
_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
_RenameCall = Callable[[int, bytes, int, bytes, int], int]

if sys.platform == "darwin":
    _CALL_NAME, _NO_REPLACE, _EXCHANGE = "renameatx_np", 4, 2
else:
    _CALL_NAME, _NO_REPLACE, _EXCHANGE = "renameat2", 1, 2

if sys.platform == "linux":
    import fcntl

    def is_being_written(descriptor: int) -> bool:
        """Whether any program has a file, open here for reading, open for writing; False if the system cannot tell."""
        try:
            # A program that opens the file now breaks the lease, and the default signal would end this process.
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError as error:
            return error.errno == errno.EAGAIN
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False
else:

    def is_being_written(descriptor: int) -> bool:
        """Whether any program has a file, open here for reading, open for writing; False if the system cannot tell."""
        del descriptor
        return False


def exchange(first: str, second: str, *, folder: int) -> bool:
    """Exchange the names of two files in an open folder atomically; return False if the file system cannot."""
    return _rename_with_flag(first, second, folders=(folder, folder), flag=_EXCHANGE)


def rename_new(old: str, new: str, *, folders: tuple[int, int]) -> None:
    """Rename a file to an unused name, given the two open folders; raise FileExistsError if the name is taken.

    On a file system without this call, make a second link and remove the first: a crash in between leaves both. On one
    without links, check the name just before the rename: a file created in that instant is lost.
    """
    if _rename_with_flag(old, new, folders=folders, flag=_NO_REPLACE):
        return
    source, target = folders
    try:
        os.link(old, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        if _exists(new, target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new) from None
        os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)
    else:
        os.unlink(old, dir_fd=source)


def _rename_with_flag(old: str, new: str, *, folders: tuple[int, int], flag: int) -> bool:
    call = _rename_call()
    if call is None:
        return False
    if call(folders[0], os.fsencode(old), folders[1], os.fsencode(new), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), old)


@cache
def _rename_call() -> _RenameCall | None:
    call = getattr(ctypes.CDLL(None, use_errno=True), _CALL_NAME, None)
    if call is None:
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    call.restype = ctypes.c_int
    return call


def _exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
