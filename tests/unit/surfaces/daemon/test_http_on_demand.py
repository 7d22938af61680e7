import asyncio
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress

import pytest
from tests.patience import PATIENCE

from scrubjay.surfaces.daemon.http_on_demand import Connections, listen_on_demand


@pytest.mark.parametrize("error", [ImportError("missing"), MemoryError(), RuntimeError("broken")])
async def test_a_server_that_cannot_be_loaded_keeps_no_one_waiting(error: Exception) -> None:
    def load() -> Callable[[], AbstractAsyncContextManager[Connections]]:
        raise error

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = listener.getsockname()
        async with asyncio.timeout(PATIENCE), listen_on_demand(listener, load) as http:
            reader, writer = await asyncio.open_connection(*address)
            with suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
            with pytest.raises(ConnectionError):
                await asyncio.open_connection(*address)
            assert http.connections == 0, "an idle daemon may stop"
