"""The socket: where it lies, who may connect, and what they say first."""

import asyncio
import os
import socket
import stat
import struct
import sys
from pathlib import Path

from scrubjay.errors import NotAllowed, StoreReadOnly

_BACKLOG = 512
_PRIVATE = 0o700
_OWNER_ONLY = 0o177
# On macOS: the level and option of a peer's credentials, and where its uid lies in them.
_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1


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
    listener.listen(_BACKLOG)
    listener.setblocking(False)  # noqa: FBT003 - the standard library's own signature
    return listener


def require_owner(writer: asyncio.StreamWriter, *, owner: int) -> None:
    """Raise NotAllowed unless the other end of the connection is the owner of the data."""
    peer = _peer_uid(writer.get_extra_info("socket"))
    if peer is not None and peer != owner:
        raise NotAllowed(
            "this memory belongs to another user of this machine",
            hint="Run a daemon of your own with `scrubjay serve`, or ask its owner for an HTTP address",
            uid=peer,
        )


def _private_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise NotAllowed(
            f"{folder} belongs to somebody else", hint="Remove it, or choose another data folder", path=str(folder)
        )
    folder.chmod(_PRIVATE)


def _peer_uid(connection: socket.socket) -> int | None:
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", raw)[1])
    if sys.platform == "darwin":
        raw = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, struct.calcsize("2I"))
        return int(struct.unpack("2I", raw)[1])
    # Elsewhere the folder's mode alone keeps others out.
    return None
