"""Idle connections of strangers keep no one from being served."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from scrubjay.client import MemoryClient
from scrubjay.model.requests import CreateTokenRequest
from scrubjay.paths import read_daemon_record
from scrubjay.settings import Settings
from scrubjay.surfaces.http.limits import ConnectionLimits
from tests.patience import PATIENCE
from tests.surfaces.daemon_process import Daemon
from tests.surfaces.rest.http_stack import open_stack
from tests.surfaces.rest.polling import wait_for_streams
from tests.surfaces.rest.raw_client import open_raw_client, request

MANY = 1_000
# The daemon has fewer descriptors than the strangers have connections.
DESCRIPTORS = 600
LIMITS = ConnectionLimits(connections=8)
MAX_LOG_BYTES = 20_000


class SmallDaemon(Daemon):
    """A daemon that may open few files: fewer at first than it is allowed to."""

    def _spawn(self) -> subprocess.Popen[bytes]:
        limits = f'ulimit -Sn 128 && ulimit -Hn {DESCRIPTORS} && exec "$@"'
        command = ["sh", "-c", limits, "sh", sys.executable, "-m", "scrubjay", *self._arguments]
        with self._log.open("ab") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment)


@contextmanager
def idle_connections(port: int, count: int) -> Generator[list[socket.socket]]:
    """Open connections that send nothing."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)) for _ in range(count)
        ]


@pytest.mark.embedded
def test_a_thousand_idle_connections_silence_no_one(home: Path) -> None:
    """A thousand idle connections without a token keep neither HTTP nor the owner's socket from answering."""
    with SmallDaemon(home, "--require-token") as daemon:
        port = int(str(read_daemon_record(home)["http"]).rpartition(":")[2])
        with idle_connections(port, MANY) as connections:
            for path in ("/healthz", "/readyz"):
                assert _ask(port, path).startswith(b"HTTP/1.1 200")
            asyncio.run(_use(port))
            # The limit of 128 was raised, and the oldest are gone.
            open_ones = [not _is_closed(each) for each in connections]
            assert 128 < sum(open_ones) < DESCRIPTORS
            assert open_ones == sorted(open_ones)
        assert len(daemon.log) < MAX_LOG_BYTES
        assert daemon.log.count("too many connections") == 1


async def test_the_oldest_idle_connection_makes_room(settings: Settings) -> None:
    """A new connection over the limit closes the oldest idle one, unused ones before those that were used."""
    async with open_stack(settings, limits=LIMITS) as stack, AsyncExitStack() as clients:
        used = await clients.enter_async_context(open_raw_client(stack.address))
        assert (await used.request("GET", "/api/v1/status")).status == 200
        unused = [
            await clients.enter_async_context(open_raw_client(stack.address)) for _ in range(LIMITS.connections - 1)
        ]
        for _ in range(2):
            newest = await clients.enter_async_context(open_raw_client(stack.address))
            assert (await newest.request("GET", "/api/v1/status")).status == 200
        for client in unused[:2]:
            assert await client.receive_until_close() == b""
        for client in (used, *unused[2:]):
            assert (await client.request("GET", "/api/v1/status")).status == 200


async def test_busy_connections_stay_and_health_checks_have_room(settings: Settings) -> None:
    """While every connection is busy none is closed, and a health check is still answered."""
    async with open_stack(settings, limits=LIMITS) as stack, AsyncExitStack() as clients:
        for _ in range(LIMITS.connections):
            await (await clients.enter_async_context(open_raw_client(stack.address))).send(
                request("GET", "/api/v1/changes")
            )
        await wait_for_streams(stack, LIMITS.connections)
        late = await clients.enter_async_context(open_raw_client(stack.address))
        assert (await late.request("GET", "/healthz")).status == 200
        assert (await late.request("GET", "/api/v1/status")).status == 503
        assert len(stack.changes._subscribers) == LIMITS.connections


async def test_unread_answers_to_strangers_keep_no_connection(settings: Settings) -> None:
    """A stranger that asks for public pages and reads no answer cannot keep its connections."""
    limits = replace(LIMITS, connections=4)
    async with open_stack(settings, limits=limits) as stack, AsyncExitStack() as clients:
        for _ in range(limits.connections):
            stranger = await clients.enter_async_context(open_raw_client(stack.address))
            await stranger.send(*[request("GET", "/openapi.json")] * 100)
        for _ in range(2 * limits.connections):
            async with open_raw_client(stack.address) as client:
                assert (await client.request("GET", "/api/v1/status")).status == 200


async def _use(port: int) -> None:
    """Use the memory as its owner, over the socket, and with a token, over HTTP."""
    async with asyncio.timeout(PATIENCE), MemoryClient() as owner:
        await owner.remember("The owner still has a memory")
        token = await owner.call(CreateTokenRequest(name="neighbour", spaces=("*",)))
    reply = await asyncio.to_thread(_ask, port, "/api/v1/search?q=owner", f"authorization: Bearer {token.secret}")
    assert b"The owner still has a memory" in reply


def _ask(port: int, path: str, *headers: str) -> bytes:
    """Ask on a new connection, and return the whole response."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        client.sendall(request("GET", path, "connection: close", *headers))
        received = b""
        while piece := client.recv(65536):
            received += piece
    return received


def _is_closed(connection: socket.socket) -> bool:
    """Whether the other side has closed a connection on which it never sends anything."""
    connection.settimeout(0)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
