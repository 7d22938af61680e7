"""Clients that are slow, disconnect, pipeline requests or send invalid bytes, while others are served."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
from tests.patience import PATIENCE
from tests.surfaces.rest.checked_client import has_metric, open_client
from tests.surfaces.rest.http_stack import HttpStack, open_stack
from tests.surfaces.rest.polling import wait_for_streams, wait_until
from tests.surfaces.rest.raw_client import RawClient, open_raw_client, request

from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.serve import RunningDaemon
from scrubjay.surfaces.http.limits import ConnectionLimits

JSON = "content-type: application/json"
SHORT_LIMITS = ConnectionLimits(
    head_seconds=0.5, head_bytes=8_000, keep_alive_seconds=20, close_seconds=1, connections=8
)


@pytest.fixture
async def short_head_server(settings: Settings) -> AsyncGenerator[HttpStack]:
    """A server with a short timeout for heads."""
    async with open_stack(settings, limits=SHORT_LIMITS) as stack:
        yield stack
        await _require_served(stack)


@pytest.fixture
async def short_body_server(settings: Settings) -> AsyncGenerator[HttpStack]:
    """A server with a short timeout for bodies and few connections."""
    limits = replace(SHORT_LIMITS, head_seconds=20.0)
    async with open_stack(replace(settings, operation_seconds=1), heartbeat_seconds=0.05, limits=limits) as stack:
        yield stack
        await _require_served(stack)


async def _require_served(stack: HttpStack) -> None:
    async with open_client(stack.address) as client:
        await client.request("GET", "/status")


@pytest.mark.parametrize("partial_head", [b"", b"G", b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n", b"POST /"])
async def test_an_incomplete_head_times_out(short_head_server: HttpStack, partial_head: bytes) -> None:
    async with open_raw_client(short_head_server.address) as raw:
        await raw.send(partial_head)
        assert await raw.receive_until_close() == b""


async def test_a_head_that_arrives_byte_by_byte_times_out(short_head_server: HttpStack) -> None:
    async with open_raw_client(short_head_server.address) as raw:
        for byte in request("GET", "/healthz", "x-filler: " + "x" * 10_000):
            await asyncio.sleep(0.01)
            try:
                await raw.send(bytes([byte]))
            except ConnectionError:
                break
        else:
            pytest.fail("it was waited for")


async def test_the_head_of_the_next_request_times_out(short_head_server: HttpStack) -> None:
    async with open_raw_client(short_head_server.address) as raw:
        assert (await raw.request("GET", "/healthz")).status == 200
        await raw.send(b"GET /heal")
        assert await raw.receive_until_close() == b""


async def test_a_kept_alive_connection_may_be_idle_between_requests(short_head_server: HttpStack) -> None:
    async with open_raw_client(short_head_server.address) as raw:
        for _ in range(3):
            assert (await raw.request("GET", "/healthz")).status == 200
            await asyncio.sleep(SHORT_LIMITS.head_seconds * 1.5)


async def test_an_endless_head_is_refused(short_body_server: HttpStack) -> None:
    async with open_raw_client(short_body_server.address) as raw:
        await raw.send(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n")
        # In two pieces: the limit applies between reads.
        await asyncio.sleep(0.01)
        await raw.send(b"x-filler: " + b"x" * SHORT_LIMITS.head_bytes)
        reply = await raw.receive_response()
        assert (reply.status, reply.problem["code"]) == (431, "request_header_fields_too_large")
        assert await raw.receive_until_close() == b""


async def test_a_missing_body_times_out(short_body_server: HttpStack) -> None:
    async def begin(path: str) -> None:
        async with open_raw_client(short_body_server.address) as raw:
            reply = await raw.request("POST", path, JSON, "content-length: 100", body=b'{"text": ')
            assert (reply.status, reply.problem["code"]) == (408, "too_slow")
            assert reply.headers["connection"] == "close"
            assert await raw.receive_until_close() == b""

    paths = ("/api/v1/memories", "/api/v1/import", "/call/remember", "/call/import", "/mcp")
    await asyncio.gather(*map(begin, paths))


async def test_a_body_that_arrives_byte_by_byte_times_out(short_body_server: HttpStack) -> None:
    async with open_raw_client(short_body_server.address) as raw:
        await raw.send(request("POST", "/api/v1/memories", JSON, "content-length: 100"))
        response = asyncio.create_task(raw.receive_response())
        while not response.done():
            await raw.send(b" ")
            await asyncio.sleep(0.05)
        assert (await response).problem["code"] == "too_slow"


async def test_a_client_has_limited_time_to_finish_its_body_after_the_response(short_head_server: HttpStack) -> None:
    async with open_raw_client(short_head_server.address) as raw:
        reply = await raw.request("GET", "/healthz", "content-length: 10", body=b"12345")
        assert reply.status == 200
        await raw.send(b"67890")
        # The connection stays usable.
        assert (await raw.request("GET", "/healthz")).status == 200
    async with open_raw_client(short_head_server.address) as raw:
        assert (await raw.request("GET", "/healthz", "content-length: 1000", body=b"1")).status == 200
        with pytest.raises(ConnectionError):
            await _trickle(raw)


async def test_a_body_that_ends_after_the_response_starts_the_keep_alive_timeout(settings: Settings) -> None:
    async with (
        open_stack(settings, limits=replace(SHORT_LIMITS, keep_alive_seconds=1)) as stack,
        open_raw_client(stack.address) as raw,
    ):
        assert (await raw.request("GET", "/healthz", "content-length: 10", body=b"12345")).status == 200
        await raw.send(b"67890")
        assert await raw.receive_until_close() == b""


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /api/v1/memories HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\nnonsense\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nhost: 127.0.0.1\r\nx: \x00\r\n\r\n",
    ],
)
async def test_invalid_http_is_refused(short_body_server: HttpStack, data: bytes) -> None:
    async with open_raw_client(short_body_server.address) as raw:
        await raw.send(data)
        reply = await raw.receive_response()
        assert (reply.status, reply.problem["code"]) == (400, "bad_request")
        assert await raw.receive_until_close() == b""


async def test_invalid_bytes_after_a_request_do_not_spoil_its_response(short_body_server: HttpStack) -> None:
    body = b'{"text": "kept"}'
    sent = request("POST", "/api/v1/memories", JSON, f"content-length: {len(body)}") + body
    async with open_raw_client(short_body_server.address) as raw:
        await raw.send(sent, b"\x00\x01nonsense\r\n\r\n")
        reply = await raw.receive_response()
        assert (reply.status, reply.headers["connection"]) == (201, "close")
        assert await raw.receive_until_close() == b""


async def test_pipelined_requests_are_answered_in_order(short_body_server: HttpStack) -> None:
    async with open_raw_client(short_body_server.address) as raw:
        paths = ["/healthz", "/api/v1/nowhere", "/api/v1/status"] * 5
        await raw.send(*(request("GET", path) for path in paths))
        assert [(await raw.receive_response()).status for _ in paths] == [200, 404, 200] * 5


async def test_a_stream_with_a_pipelined_request_ends_with_its_client(short_body_server: HttpStack) -> None:
    for pipelined in (request("GET", "/healthz"), b"\x00nonsense\r\n\r\n", UPGRADE):
        async with open_raw_client(short_body_server.address) as raw:
            await raw.send(request("GET", "/api/v1/changes"))
            await wait_for_streams(short_body_server, 1)
            await raw.send(pipelined)
        await wait_for_streams(short_body_server, 0)


UPGRADE = (
    b"GET /api/v1/changes HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: " + b"A" * 22 + b"==\r\n\r\n"
)


@pytest.mark.parametrize("extra", ["connection: upgrade\r\nupgrade: h2c", "connection: upgrade\r\nupgrade: nonsense"])
async def test_an_upgrade_to_another_protocol_is_ignored(short_body_server: HttpStack, extra: str) -> None:
    async with open_raw_client(short_body_server.address) as raw:
        assert (await raw.request("GET", "/healthz", *extra.split("\r\n"))).status == 200


@pytest.mark.parametrize(
    "extra",
    [
        [],
        ["sec-websocket-version: 99"],
        ["sec-websocket-version: 13", "sec-websocket-key: short"],
        ["sec-websocket-version: 13", "sec-websocket-key: " + "A" * 22 + "==", "content-length: 2"],
        ["sec-websocket-version: 13", "sec-websocket-key: " + "A" * 22 + "==", "transfer-encoding: chunked"],
    ],
    ids=str,
)
async def test_an_incomplete_handshake_is_refused(short_body_server: HttpStack, extra: list[str]) -> None:
    async with open_raw_client(short_body_server.address) as raw:
        await raw.send(request("GET", "/api/v1/changes", "upgrade: websocket", "connection: upgrade", *extra))
        assert (await raw.receive_until_close()).startswith(b"HTTP/1.1 4")


async def test_a_client_that_disconnects_during_a_body_stores_nothing(short_body_server: HttpStack) -> None:
    for path in ("/api/v1/memories", "/api/v1/import", "/call/import"):
        async with open_raw_client(short_body_server.address) as raw:
            await raw.send(request("POST", path, JSON, "content-length: 100"), b'{"text": "half')
    async with open_client(short_body_server.address) as client:
        assert (await client.get("/status"))["memories"] == {}


async def test_a_write_completes_after_its_client_disconnects(short_body_server: HttpStack) -> None:
    for number in range(20):
        body = f'{{"text": "text number {number}", "intent": "new"}}'.encode()
        async with open_raw_client(short_body_server.address) as raw:
            await raw.send(request("POST", "/api/v1/memories", JSON, f"content-length: {len(body)}"), body)
            if number % 2:
                # Half of the clients can no longer read a response; the others could.
                raw.writer.transport.abort()
            else:
                raw.writer.write_eof()
    await _wait_for_live(short_body_server, 20)


async def test_a_client_that_reads_no_events_is_disconnected(settings: Settings) -> None:
    async with open_stack(settings, heartbeat_seconds=0.05, send_seconds=0.2, limits=SHORT_LIMITS) as stack:
        with socket.create_connection(("127.0.0.1", int(stack.address.rpartition(":")[2]))) as idle_socket:
            idle_socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            idle_socket.sendall(request("GET", "/api/v1/changes?space=work&after=0"))
            await wait_for_streams(stack, 1)
            who = Caller(space="work", agent="a" * 200_000)
            for number in range(60):
                await stack.engine.remember(Draft(text=f"text {number}", intent="new"), who=who)
            await wait_for_streams(stack, 0)
            async with open_client(stack.address) as client:
                await wait_until(lambda: has_metric(client, 'scrubjay_clients{kind="http"} 1.0'))


async def test_too_many_busy_clients_get_a_retry_response(short_body_server: HttpStack) -> None:
    clients = [open_raw_client(short_body_server.address) for _ in range(SHORT_LIMITS.connections)]
    raw_clients = [await opened.__aenter__() for opened in clients]
    for raw in raw_clients:
        await raw.send(request("GET", "/api/v1/changes"))
    await wait_for_streams(short_body_server, len(clients))
    async with open_raw_client(short_body_server.address) as late:
        reply = await late.request("GET", "/api/v1/status")
        assert (reply.status, reply.problem["code"], reply.headers["retry-after"]) == (503, "busy", "1")
        assert await late.receive_until_close() == b""
    for opened in clients:
        await opened.__aexit__(None, None, None)
    async with asyncio.timeout(PATIENCE):
        while True:
            async with open_raw_client(short_body_server.address) as raw:
                if (await raw.request("GET", "/api/v1/status")).status == 200:
                    break


async def test_expect_100_continue_is_supported(served: RunningDaemon) -> None:
    async with open_raw_client(served.http) as raw:
        await raw.send(request("POST", "/api/v1/memories", JSON, "content-length: 20", "expect: 100-continue"))
        assert (await raw.receive_response()).status == 100
        await raw.send(b'{"text": "expected"}')
        assert (await raw.receive_response()).status == 201
    async with open_raw_client(served.http) as raw:
        reply = await raw.request("POST", "/api/v1/memories", JSON, "content-length: 999999999", "expect: 100-continue")
        assert (reply.status, reply.problem["code"]) == (413, "too_large")


async def _wait_for_live(stack: HttpStack, count: int) -> None:
    async with open_client(stack.address) as client:

        async def has_count() -> bool:
            return (await client.get("/status"))["memories"].get("live", 0) == count

        await wait_until(has_count)


async def _trickle(raw: RawClient) -> None:
    for _ in range(1000):
        await raw.send(b"1")
        await asyncio.sleep(0.01)
