"""Connections to a busy daemon are retried; a missing daemon is an error at once."""

import asyncio
import socket
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from scrubjay.errors import DaemonUnavailable
from scrubjay.model.caller import Caller
from scrubjay.rpc.frames import encode_frame
from scrubjay.rpc.socket_transport import SocketTransport
from scrubjay.version import PROTOCOL, VERSION


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


@pytest.mark.parametrize("ending", ["close", "cut", "nonsense"])
async def test_the_end_of_the_connection_ends_its_calls(tmp_path: Path, ending: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(encode_frame({"scrubjay": VERSION, "protocol": PROTOCOL, "pid": 1}))
        await reader.readline()
        if ending == "nonsense":
            writer.write(b"not JSON\n")
        elif ending == "cut":
            writer.close()
        reached.set()
        await reader.read()
        writer.close()

    path, reached = tmp_path / "d", asyncio.Event()
    async with await asyncio.start_unix_server(serve, path=str(path)):
        transport = SocketTransport(path)
        calling = asyncio.create_task(transport.call("status", {}, who=Caller()))
        await reached.wait()
        if ending == "close":
            await transport.close()
        with pytest.raises(DaemonUnavailable, match="went away") as gone:
            await asyncio.wait_for(calling, PATIENCE)
        assert gone.value.fields["sent"]
        await transport.close()
