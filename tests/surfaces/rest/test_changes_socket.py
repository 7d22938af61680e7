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
from tests.surfaces.rest.checked_client import Visitor, has_figure, visiting
from tests.surfaces.rest.http_stack import open_stack
from tests.surfaces.rest.openapi_document import PROBLEM, validator
from tests.surfaces.rest.waiting import LONGEST, until, until_listening
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.http11 import Response
from websockets.typing import Data

from scrubjay.model.draft import Caller, Draft
from scrubjay.model.token import TokenRequest
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.serve import Running
from scrubjay.surfaces.http.server import ConnectionLimits

BEAT = 0.05
UPGRADE = (
    b"GET /api/v1/changes?space=work&after=0 HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\n"
    b"upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: " + b"A" * 22 + b"==\r\n\r\n"
)


@asynccontextmanager
async def listening(
    address: str,
    *,
    path: str = "/api/v1/changes",
    token: str = "",
    headers: dict[str, str] | None = None,
    **params: Any,
) -> AsyncGenerator[ClientConnection]:
    url = f"{address.replace('http', 'ws', 1)}{path}?{urlencode(params)}"
    shown = {**({"authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
    async with connect(url, additional_headers=shown, proxy=None, open_timeout=LONGEST) as results:
        yield results


async def heard(line: ClientConnection) -> dict[str, Any]:
    return json.loads(await asyncio.wait_for(line.recv(), LONGEST))


async def closed(line: ClientConnection) -> int | None:
    """The code with which the server closes."""
    async with asyncio.timeout(LONGEST):
        async for _ in _all(line):
            continue
    return line.close_code


async def _all(line: ClientConnection) -> AsyncIterator[Data]:
    with suppress(ConnectionClosed):
        while True:
            yield await line.recv()


async def refused(address: str, **options: Any) -> Response:
    """The answer of whoever does not open one."""
    with pytest.raises(InvalidStatus) as caught:
        async with listening(address, **options):
            pass
    return caught.value.response


def problem_of(response: Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status
    assert response.headers["content-type"] == PROBLEM
    reported = json.loads(response.body or b"")
    validator("#/components/schemas/Problem").validate(reported)
    assert (reported["code"], reported["request_id"]) == (code, response.headers["x-request-id"])
    return reported


async def test_a_change_is_told_as_it_happens(served: Running, visitor: Visitor) -> None:
    async with listening(served.http, space=visitor.space) as line:
        assert line.response is not None
        assert line.response.headers["x-request-id"]
        reported = await visitor.remember("just now: é 😀")
        event = await heard(line)
        assert (event["seq"], event["action"], event["id"]) == (1, "created", reported["id"])


async def test_who_comes_back_misses_nothing(served: Running, visitor: Visitor) -> None:
    for number in range(4):
        await visitor.remember(f"text {number}")
    async with listening(served.http, space=visitor.space, after=2) as line:
        assert [(await heard(line))["seq"] for _ in range(2)] == [3, 4]
    async with listening(served.http, space=visitor.space, after=0) as line:
        assert [(await heard(line))["seq"] for _ in range(4)] == [1, 2, 3, 4]


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
async def test_a_bad_question_is_refused_before_anything_is_opened(
    served: Running, visitor: Visitor, params: dict[str, Any], field: str
) -> None:
    reported = problem_of(await refused(served.http, **{"space": visitor.space, **params}), 422, "invalid_input")
    assert reported["field"] == field


@pytest.mark.parametrize("path", ["/api/v1/memories", "/api/v1/nowhere", "/", "/healthz", "/openapi.json", "/mcp"])
async def test_there_is_no_other_socket(served: Running, path: str) -> None:
    problem_of(await refused(served.http, path=path), 404, "no_such_path")


@pytest.mark.parametrize(
    "headers",
    [{"origin": "http://evil.example"}, {"origin": "null"}, {"origin": ""}, {"origin": "http://127.0.0.1:1"}],
)
async def test_a_page_of_another_site_is_kept_out(served: Running, headers: dict[str, str]) -> None:
    reported = problem_of(await refused(served.http, headers=headers), 403, "not_allowed")
    assert reported["header"] == "Origin"


async def test_its_own_page_gets_in(served: Running) -> None:
    async with listening(served.http, headers={"origin": served.http}):
        pass


async def test_a_token_decides(settings: Settings) -> None:
    async with open_stack(replace(settings, require_token=True), beat=BEAT) as stack:
        problem_of(await refused(stack.address), 401, "not_admitted")
        problem_of(await refused(stack.address, token="sj_" + "A" * 43), 401, "not_admitted")
        figures = await stack.token("figures", access="metrics")
        problem_of(await refused(stack.address, token=figures.secret), 403, "not_allowed")
        made = await stack.token("laptop", "work")
        problem_of(await refused(stack.address, token=made.secret, space="home"), 403, "not_allowed")
        async with listening(stack.address, token=made.secret) as line:
            await stack.engine.remember(Draft(text="of home"), who=Caller(space="home"))
            mine = await stack.engine.remember(Draft(text="of work"), who=Caller(space="work"))
            event = await heard(line)
            assert (event["seq"], event["id"]) == (1, mine.id)
            await stack.engine.revoke_token(made.token.id)
            assert await closed(line) == 1008
        problem_of(await refused(stack.address, token=made.secret), 401, "not_admitted")


async def test_it_is_closed_when_its_token_expires(settings: Settings) -> None:
    clock = FakeClock(step=timedelta(0))
    async with open_stack(replace(settings, require_token=True), beat=BEAT, clock=clock) as stack:
        made = await stack.engine.create_token(TokenRequest(name="laptop", spaces=("work",), expires="1h"))
        async with listening(stack.address, token=made.secret) as line:
            clock.advance(timedelta(hours=1))
            assert await closed(line) == 1008


async def test_it_is_closed_when_the_server_leaves(settings: Settings) -> None:
    async with open_stack(settings, beat=3600) as stack:
        context = listening(stack.address)
        line = await context.__aenter__()
    assert await closed(line) == 1001
    await context.__aexit__(None, None, None)


async def test_one_caller_has_so_many_and_who_leaves_makes_room(settings: Settings) -> None:
    async with open_stack(settings, beat=3600) as stack:
        contexts = [listening(stack.address) for _ in range(64)]
        lines = await asyncio.gather(*(context.__aenter__() for context in contexts))
        response = await refused(stack.address)
        problem_of(response, 429, "too_many_requests")
        assert response.headers["retry-after"] == "30"
        await lines[0].close()
        await until_listening(stack, 63)
        async with listening(stack.address):
            pass
        for context in contexts:
            await context.__aexit__(None, None, None)


async def test_what_a_client_says_does_not_matter(served: Running, visitor: Visitor) -> None:
    async with listening(served.http, space=visitor.space) as line:
        for text in ("hello", b"\x00\xff", "{}", ""):
            await line.send(text)
        await line.ping()
        await visitor.remember("still here")
        assert (await heard(line))["seq"] == 1


async def test_a_client_that_says_too_much_is_cut_off(served: Running, visitor: Visitor) -> None:
    async with listening(served.http, space=visitor.space) as line:
        await line.send("x" * 10_000)
        assert await closed(line) == 1009
    await visitor.ask("GET", "/status")


async def test_a_client_that_never_reads_is_let_go_and_nobody_waits_for_it(settings: Settings) -> None:
    patience = ConnectionLimits(close_seconds=1)
    async with open_stack(settings, beat=BEAT, stream_patience=0.2, patience=patience) as stack:
        with socket.create_connection(("127.0.0.1", int(stack.address.rpartition(":")[2]))) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.sendall(UPGRADE)
            await until_listening(stack, 1)
            async with visiting(stack.address) as visitor, listening(stack.address, space="work", after=0) as reader:
                await until_listening(stack, 2)
                # More than all the buffers between us can hold.
                who = Caller(space="work", agent="a" * 200_000)
                for number in range(60):
                    await stack.engine.remember(Draft(text=f"text {number}", intent="new"), who=who)
                assert [(await heard(reader))["seq"] for _ in range(60)] == list(range(1, 61))
                await until_listening(stack, 1)
                await visitor.ask("GET", "/status")
                # It is not only let go but cut off: those two are left.
                await until(lambda: has_figure(visitor, 'scrubjay_clients{kind="http"} 2.0'))
