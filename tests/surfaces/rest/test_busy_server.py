"""A busy server, and a server that shuts down."""

import asyncio
import socket
from dataclasses import replace

import pytest
from tests.patience import PATIENCE
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.rest.checked_client import CheckedClient, open_client
from tests.surfaces.rest.http_stack import HttpStack, open_stack
from tests.surfaces.rest.raw_client import request

from scrubjay.settings import Settings
from scrubjay.surfaces import changes


async def test_a_busy_server_asks_to_retry(settings: Settings) -> None:
    async with open_stack(replace(settings, max_requests=1)) as stack, open_client(stack.address) as client:
        done = asyncio.Event()
        running = asyncio.create_task(stack.gate.run("status", done.wait()))
        await asyncio.sleep(0)
        for method, path, inputs in (
            ("GET", "/status", {}),
            ("GET", "/search", {}),
            ("POST", "/memories", {"json": {"text": "x"}}),
            ("POST", "/import", {"content": b"{}\n"}),
        ):
            response = await client.request(method, path, status=503, **inputs)
            assert (response.headers["retry-after"], response.json()["code"]) == ("1", "busy")
        # Monitoring works even under load.
        await client.request("GET", "/healthz")
        await client.request("GET", "/metrics")
        done.set()
        await running
        assert (await client.get("/status"))["memories"] == {}


async def test_too_many_streams_are_refused_before_they_start(settings: Settings) -> None:
    async with open_stack(settings) as stack, open_client(stack.address) as client:
        await _fill(stack)
        response = await client.request("GET", "/changes", status=503)
        assert response.json()["code"] == "busy"
        stack.changes._subscribers.clear()


async def test_a_server_that_shuts_down_completes_running_requests_and_refuses_new_ones(settings: Settings) -> None:
    async with open_stack(settings) as stack, open_client(stack.address) as client:
        done = asyncio.Event()
        running = asyncio.create_task(stack.gate.run("status", done.wait()))
        await asyncio.sleep(0)
        closing = asyncio.create_task(stack.gate.close(seconds=PATIENCE))
        await asyncio.sleep(0)
        response = await client.request("GET", "/status", status=503)
        assert "shutting down" in response.json()["detail"]
        done.set()
        assert await running
        assert await closing == 0


@pytest.mark.parametrize("path", ["/api/v1/changes", "/api/v1/changes?after=0"])
def test_a_daemon_ends_its_streams_when_it_stops(settings: Settings, path: str) -> None:
    with background_daemon(settings) as running:
        reader = socket.create_connection(("127.0.0.1", int(running.http.rpartition(":")[2])), timeout=PATIENCE)
        reader.sendall(request("GET", path))
        received = b""
        while b": hello" not in received:
            received += reader.recv(1000)
    with reader:
        while piece := reader.recv(1000):
            received += piece
    assert received.endswith(b"0\r\n\r\n")


async def _fill(stack: HttpStack) -> None:
    """Subscribe up to the limit."""
    for _ in range(changes._MAX_SUBSCRIBERS):
        stack.changes._subscribers.add(changes._Subscriber("elsewhere", lambda _: None, lambda: None))


async def test_fifty_concurrent_clients_are_served(client: CheckedClient) -> None:
    async def remember_and_read(number: int) -> None:
        result = await client.remember(f"visitor number {number}")
        assert (await client.get(f"/memories/{result['id']}"))["content"] == f"visitor number {number}"

    await asyncio.gather(*map(remember_and_read, range(50)))
    assert (await client.get("/status"))["memories"] == {"live": 50}
