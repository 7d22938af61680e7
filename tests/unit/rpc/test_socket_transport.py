"""Connections to a busy daemon are retried; a missing daemon is an error at once."""

import asyncio
import socket
from pathlib import Path

import pytest

from scrubjay.errors import DaemonUnavailable
from scrubjay.rpc.socket_transport import SocketTransport


async def test_a_full_queue_is_retried_and_then_given_up(tmp_path: Path) -> None:
    path = tmp_path / "d"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(0)
        waiting = [await asyncio.open_unix_connection(str(path)) for _ in range(4)]
        with pytest.raises(DaemonUnavailable) as refused:
            await SocketTransport(path).open()
        assert not refused.value.fields["sent"]
        for _, writer in waiting:
            writer.close()


async def test_a_missing_daemon_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "d"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    with pytest.raises(DaemonUnavailable):
        await SocketTransport(path).open()
