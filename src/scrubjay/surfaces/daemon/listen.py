"""The socket: where it lies, and that its owner alone can reach it."""

import os
import socket
import stat
from pathlib import Path

from scrubjay.errors import NotAllowed, StoreReadOnly

BACKLOG = 512
_PRIVATE = 0o700
_OWNER_ONLY = 0o177


def bound_socket(path: Path) -> socket.socket:
    """A listening socket that its owner alone can reach; a stale one in its place goes. The caller holds the lock."""
    _private_folder(path.parent)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Between binding and a later chmod anyone could connect: it must be private from the start.
    before = os.umask(_OWNER_ONLY)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise StoreReadOnly(
            f"the socket {path} cannot be made: {error.strerror}",
            hint="Choose a data folder on a local disk",
            path=str(path),
        ) from error
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    listener.setblocking(False)  # noqa: FBT003 - the standard library's own signature
    return listener


def _private_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE)
    results = folder.lstat()
    if not stat.S_ISDIR(results.st_mode) or results.st_uid != os.getuid():
        raise NotAllowed(
            f"{folder} belongs to somebody else", hint="Remove it, or choose another data folder", path=str(folder)
        )
    folder.chmod(_PRIVATE)
