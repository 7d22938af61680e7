"""Too much at once, and a server that leaves."""

import asyncio
import socket
from dataclasses import replace

import pytest
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.rest.checked_client import Visitor, visiting
from tests.surfaces.rest.http_stack import HttpStack, open_stack
from tests.surfaces.rest.raw_client import request
from tests.surfaces.rest.waiting import LONGEST

from scrubjay.settings import Settings
from scrubjay.surfaces import changes


async def test_what_is_too_much_is_told_to_retry(settings: Settings) -> None:
    async with open_stack(replace(settings, max_requests=1)) as stack, visiting(stack.address) as visitor:
        done = asyncio.Event()
        holding = asyncio.create_task(stack.gate.run("status", done.wait()))
        await asyncio.sleep(0)
        for method, path, inputs in (
            ("GET", "/status", {}),
            ("GET", "/search", {}),
            ("POST", "/memories", {"json": {"text": "x"}}),
            ("POST", "/import", {"content": b"{}\n"}),
        ):
            response = await visitor.ask(method, path, status=503, **inputs)
            assert (response.headers["retry-after"], response.json()["code"]) == ("1", "busy")
        # Those who watch it are told how it is, however much there is to do.
        await visitor.ask("GET", "/healthz")
        await visitor.ask("GET", "/metrics")
        done.set()
        await holding
        assert (await visitor.get("/status"))["memories"] == {}


async def test_who_listens_where_too_many_do_is_told_before_anything_begins(settings: Settings) -> None:
    async with open_stack(settings) as stack, visiting(stack.address) as visitor:
        await _fill(stack)
        response = await visitor.ask("GET", "/changes", status=503)
        assert response.json()["code"] == "busy"
        stack.changes._subscribers.clear()


async def test_a_server_that_leaves_answers_those_inside_and_no_others(settings: Settings) -> None:
    async with open_stack(settings) as stack, visiting(stack.address) as visitor:
        done = asyncio.Event()
        inside = asyncio.create_task(stack.gate.run("status", done.wait()))
        await asyncio.sleep(0)
        closing = asyncio.create_task(stack.gate.close(seconds=LONGEST))
        await asyncio.sleep(0)
        response = await visitor.ask("GET", "/status", status=503)
        assert "shutting down" in response.json()["detail"]
        done.set()
        assert await inside
        assert await closing == 0


@pytest.mark.parametrize("path", ["/api/v1/changes", "/api/v1/changes?after=0"])
def test_a_daemon_that_leaves_ends_its_streams(settings: Settings, path: str) -> None:
    with background_daemon(settings) as running:
        reader = socket.create_connection(("127.0.0.1", int(running.http.rpartition(":")[2])), timeout=LONGEST)
        reader.sendall(request("GET", path))
        received = b""
        while b": hello" not in received:
            received += reader.recv(1000)
    with reader:
        while piece := reader.recv(1000):
            received += piece
    assert received.endswith(b"0\r\n\r\n")


async def _fill(stack: HttpStack) -> None:
    """So many listen that there is room for no other."""
    for _ in range(changes._MAX_SUBSCRIBERS):
        stack.changes._subscribers.add(changes._Subscriber("elsewhere", lambda _: None, lambda: None))


async def test_fifty_at_once_are_all_served(visitor: Visitor) -> None:
    async def visit(number: int) -> None:
        reported = await visitor.remember(f"visitor number {number}")
        assert (await visitor.get(f"/memories/{reported['id']}"))["content"] == f"visitor number {number}"

    await asyncio.gather(*map(visit, range(50)))
    assert (await visitor.get("/status"))["memories"] == {"live": 50}
