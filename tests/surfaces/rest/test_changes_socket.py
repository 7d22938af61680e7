"""The stream of changes over a WebSocket."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.fakes import FakeClock
from tests.patience import PATIENCE
from tests.surfaces.rest.checked_client import CheckedClient, has_metric, open_client
from tests.surfaces.rest.http_stack import open_stack
from tests.surfaces.rest.openapi_document import PROBLEM, validator
from tests.surfaces.rest.polling import wait_for_streams, wait_until
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.http11 import Response
from websockets.typing import Data

from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.requests import CreateTokenRequest, RevokeTokenRequest
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.serve import RunningDaemon
from scrubjay.surfaces.http.limits import ConnectionLimits

HEARTBEAT_SECONDS = 0.05
UPGRADE = (
    b"GET /api/v1/changes?space=work&after=0 HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\n"
    b"upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: " + b"A" * 22 + b"==\r\n\r\n"
)


@asynccontextmanager
async def open_websocket(
    address: str,
    *,
    path: str = "/api/v1/changes",
    token: str = "",
    headers: dict[str, str] | None = None,
    **params: Any,
) -> AsyncGenerator[ClientConnection]:
    url = f"{address.replace('http', 'ws', 1)}{path}?{urlencode(params)}"
    authorization = {**({"authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
    async with connect(url, additional_headers=authorization, proxy=None, open_timeout=PATIENCE) as connection:
        yield connection


async def receive_event(socket_client: ClientConnection) -> dict[str, Any]:
    return json.loads(await asyncio.wait_for(socket_client.recv(), PATIENCE))


async def close_code_of(socket_client: ClientConnection) -> int | None:
    """Return the code of the close message."""
    async with asyncio.timeout(PATIENCE):
        async for _ in _messages(socket_client):
            continue
    return socket_client.close_code


async def _messages(socket_client: ClientConnection) -> AsyncIterator[Data]:
    with suppress(ConnectionClosed):
        while True:
            yield await socket_client.recv()


async def refusal_of(address: str, **options: Any) -> Response:
    """Return the response that refuses a WebSocket."""
    with pytest.raises(InvalidStatus) as caught:
        async with open_websocket(address, **options):
            pass
    return caught.value.response


def problem_of(response: Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status
    assert response.headers["content-type"] == PROBLEM
    result = json.loads(response.body or b"")
    validator("#/components/schemas/Problem").validate(result)
    assert (result["code"], result["request_id"]) == (code, response.headers["x-request-id"])
    return result


async def test_a_change_is_sent_as_it_happens(served: RunningDaemon, client: CheckedClient) -> None:
    async with open_websocket(served.http, space=client.space) as socket_client:
        assert socket_client.response is not None
        assert socket_client.response.headers["x-request-id"]
        result = await client.remember("just now: é 😀")
        event = await receive_event(socket_client)
        assert (event["seq"], event["action"], event["id"]) == (1, "created", result["id"])


async def test_a_client_that_reconnects_misses_nothing(served: RunningDaemon, client: CheckedClient) -> None:
    for number in range(4):
        await client.remember(f"text {number}")
    async with open_websocket(served.http, space=client.space, after=2) as socket_client:
        assert [(await receive_event(socket_client))["seq"] for _ in range(2)] == [3, 4]
    async with open_websocket(served.http, space=client.space, after=0) as socket_client:
        assert [(await receive_event(socket_client))["seq"] for _ in range(4)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"after": 1}, "after"),
        ({"after": -1}, "after"),
        ({"after": "x"}, "after"),
        ({"colour": "red"}, "colour"),
        ({"space": " "}, "space"),
        ({"space": "x" * 301}, "space"),
    ],
)
async def test_an_invalid_request_is_refused_before_the_socket_opens(
    served: RunningDaemon, client: CheckedClient, params: dict[str, Any], field: str
) -> None:
    result = problem_of(await refusal_of(served.http, **{"space": client.space, **params}), 422, "invalid_input")
    assert result["field"] == field


@pytest.mark.parametrize("path", ["/api/v1/memories", "/api/v1/nowhere", "/", "/healthz", "/openapi.json", "/mcp"])
async def test_other_paths_accept_no_websocket(served: RunningDaemon, path: str) -> None:
    problem_of(await refusal_of(served.http, path=path), 404, "no_such_path")


@pytest.mark.parametrize(
    "headers",
    [{"origin": "http://evil.example"}, {"origin": "null"}, {"origin": ""}, {"origin": "http://127.0.0.1:1"}],
)
async def test_a_page_of_another_site_is_refused(served: RunningDaemon, headers: dict[str, str]) -> None:
    result = problem_of(await refusal_of(served.http, headers=headers), 403, "not_allowed")
    assert result["header"] == "Origin"


async def test_its_own_page_is_accepted(served: RunningDaemon) -> None:
    async with open_websocket(served.http, headers={"origin": served.http}):
        pass


async def test_a_token_decides(settings: Settings) -> None:
    async with open_stack(replace(settings, require_token=True), heartbeat_seconds=HEARTBEAT_SECONDS) as stack:
        problem_of(await refusal_of(stack.address), 401, "not_admitted")
        problem_of(await refusal_of(stack.address, token="sj_" + "A" * 43), 401, "not_admitted")
        figures = await stack.token("figures", access="metrics")
        problem_of(await refusal_of(stack.address, token=figures.secret), 403, "not_allowed")
        created = await stack.token("laptop", "work")
        problem_of(await refusal_of(stack.address, token=created.secret, space="home"), 403, "not_allowed")
        async with open_websocket(stack.address, token=created.secret) as socket_client:
            await stack.engine.remember(Draft(text="of home"), who=Caller(space="home"))
            mine = await stack.engine.remember(Draft(text="of work"), who=Caller(space="work"))
            event = await receive_event(socket_client)
            assert (event["seq"], event["id"]) == (1, mine.id)
            await stack.engine.revoke_token(RevokeTokenRequest(ref=created.token.id), who=Caller())
            assert await close_code_of(socket_client) == 1008
        problem_of(await refusal_of(stack.address, token=created.secret), 401, "not_admitted")


async def test_it_is_closed_when_its_token_expires(settings: Settings) -> None:
    clock = FakeClock(step=timedelta(0))
    async with open_stack(
        replace(settings, require_token=True), heartbeat_seconds=HEARTBEAT_SECONDS, clock=clock
    ) as stack:
        created = await stack.engine.create_token(
            CreateTokenRequest(name="laptop", spaces=("work",), expires="1h"), who=Caller()
        )
        async with open_websocket(stack.address, token=created.secret) as socket_client:
            clock.advance(timedelta(hours=1))
            assert await close_code_of(socket_client) == 1008


async def test_it_is_closed_when_the_server_stops(settings: Settings) -> None:
    async with open_stack(settings, heartbeat_seconds=3600) as stack:
        context = open_websocket(stack.address)
        socket_client = await context.__aenter__()
    assert await close_code_of(socket_client) == 1001
    await context.__aexit__(None, None, None)


async def test_sockets_of_one_caller_are_limited_until_one_closes(settings: Settings) -> None:
    async with open_stack(settings, heartbeat_seconds=3600) as stack:
        contexts = [open_websocket(stack.address) for _ in range(64)]
        lines = await asyncio.gather(*(context.__aenter__() for context in contexts))
        response = await refusal_of(stack.address)
        problem_of(response, 429, "too_many_requests")
        assert response.headers["retry-after"] == "30"
        await lines[0].close()
        await wait_for_streams(stack, 63)
        async with open_websocket(stack.address):
            pass
        for context in contexts:
            await context.__aexit__(None, None, None)


async def test_messages_of_clients_are_ignored(served: RunningDaemon, client: CheckedClient) -> None:
    async with open_websocket(served.http, space=client.space) as socket_client:
        for text in ("hello", b"\x00\xff", "{}", ""):
            await socket_client.send(text)
        await socket_client.ping()
        await client.remember("still here")
        assert (await receive_event(socket_client))["seq"] == 1


async def test_a_client_that_sends_a_large_message_is_disconnected(
    served: RunningDaemon, client: CheckedClient
) -> None:
    async with open_websocket(served.http, space=client.space) as socket_client:
        await socket_client.send("x" * 10_000)
        assert await close_code_of(socket_client) == 1009
    await client.request("GET", "/status")


async def test_a_client_that_never_reads_is_disconnected_and_delays_no_other(settings: Settings) -> None:
    limits = ConnectionLimits(close_seconds=1)
    async with open_stack(settings, heartbeat_seconds=HEARTBEAT_SECONDS, send_seconds=0.2, limits=limits) as stack:
        with socket.create_connection(("127.0.0.1", int(stack.address.rpartition(":")[2]))) as idle_socket:
            idle_socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            idle_socket.sendall(UPGRADE)
            await wait_for_streams(stack, 1)
            async with (
                open_client(stack.address) as client,
                open_websocket(stack.address, space="work", after=0) as reader,
            ):
                await wait_for_streams(stack, 2)
                # More than all buffers can hold.
                who = Caller(space="work", agent="a" * 200_000)
                for number in range(60):
                    await stack.engine.remember(Draft(text=f"text {number}", intent="new"), who=who)
                assert [(await receive_event(reader))["seq"] for _ in range(60)] == list(range(1, 61))
                await wait_for_streams(stack, 1)
                await client.request("GET", "/status")
                # The connection is closed too: only two are left.
                await wait_until(lambda: has_metric(client, 'scrubjay_clients{kind="http"} 2.0'))
