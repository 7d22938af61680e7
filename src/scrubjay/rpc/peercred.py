"""Who is at the other end of a Unix socket."""

import socket
import struct
import sys

from scrubjay.errors import NotAllowed

# On macOS: the level and option of a peer's credentials, and where its uid lies in them.
_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1
_NOBODY = -1


def require_peer(connection: socket.socket, owner: int) -> None:
    """Raise NotAllowed unless the other end belongs to the owner of the data."""
    peer = _peer_uid(connection)
    if peer is not None and peer != owner:
        raise NotAllowed(
            "this memory belongs to another user of this machine",
            hint="Run a daemon of your own with `scrubjay serve`",
            uid=peer,
        )


def has_peer(connection: socket.socket) -> bool:
    """Whether somebody is at the other end at all."""
    try:
        return _peer_uid(connection) != _NOBODY
    except OSError:
        # It is over already.
        return False


def _peer_uid(connection: socket.socket) -> int | None:
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", raw)[1])
    if sys.platform == "darwin":
        raw = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, struct.calcsize("2I"))
        return int(struct.unpack("2I", raw)[1])
    # Elsewhere the folder's mode alone keeps others out.
    return None
