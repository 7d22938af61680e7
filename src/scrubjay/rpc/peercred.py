"""Credentials of the process at the other end of a Unix socket."""

import socket
import struct
import sys

# On macOS: the level and option of the credentials of a peer.
_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1
_NO_PEER = -1


def require_peer(connection: socket.socket, owner: int) -> None:
    """Raise NotAllowed unless the other end belongs to the owner of the data."""
    if not is_owned_by(connection, owner):
        # A command that starts fast does not load the tree of errors.
        from scrubjay.errors import NotAllowed  # noqa: PLC0415

        raise NotAllowed(
            "this memory belongs to another user of this machine",
            hint="Run a daemon of your own with `scrubjay serve`",
            uid=_peer_uid(connection),
        )


def is_owned_by(connection: socket.socket, owner: int) -> bool:
    """Return whether the other end belongs to a user, as far as the system tells."""
    peer = _peer_uid(connection)
    return peer is None or peer == owner


def has_peer(connection: socket.socket) -> bool:
    """Return whether a process is at the other end."""
    try:
        return _peer_uid(connection) != _NO_PEER
    except OSError:
        # The connection is closed already.
        return False


def _peer_uid(connection: socket.socket) -> int | None:
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", raw)[1])
    if sys.platform == "darwin":
        raw = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, struct.calcsize("2I"))
        return int(struct.unpack("2I", raw)[1])
    # On other systems only the mode of the folder protects the socket.
    return None
