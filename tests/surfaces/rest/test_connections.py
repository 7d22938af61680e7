"""Clients that are slow, broken off, out of turn or talking nonsense: each is dealt with, and the others are served."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
from tests.surfaces.rest.checked_client import has_figure, visiting
from tests.surfaces.rest.http_stack import HttpStack, open_stack
from tests.surfaces.rest.raw_client import RawClient, request, wired
from tests.surfaces.rest.waiting import LONGEST, until, until_listening

from scrubjay.model.draft import Caller, Draft
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.serve import Running
from scrubjay.surfaces.http.server import ConnectionLimits

JSON = "content-type: application/json"
HASTY = ConnectionLimits(head_seconds=0.5, head_bytes=8_000, keep_alive_seconds=20, close_seconds=1, connections=8)


@pytest.fixture
async def hasty(settings: Settings) -> AsyncGenerator[HttpStack]:
    """A server that waits for no head."""
    async with open_stack(settings, patience=HASTY) as stack:
        yield stack
        await _serves(stack)


@pytest.fixture
async def brisk(settings: Settings) -> AsyncGenerator[HttpStack]:
    """A server that waits for no body, and takes little at once."""
    patience = replace(HASTY, head_seconds=20.0)
    async with open_stack(replace(settings, operation_seconds=1), beat=0.05, patience=patience) as stack:
        yield stack
        await _serves(stack)


async def _serves(stack: HttpStack) -> None:
    async with visiting(stack.address) as visitor:
        await visitor.ask("GET", "/status")


@pytest.mark.parametrize("begun", [b"", b"G", b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n", b"POST /"])
async def test_a_head_that_does_not_come_is_not_waited_for(hasty: HttpStack, begun: bytes) -> None:
    async with wired(hasty.address) as raw:
        await raw.say(begun)
        assert await raw.silence() == b""


async def test_a_head_that_comes_byte_by_byte_is_not_waited_for(hasty: HttpStack) -> None:
    async with wired(hasty.address) as raw:
        for byte in request("GET", "/healthz", "x-filler: " + "x" * 10_000):
            await asyncio.sleep(0.01)
            try:
                await raw.say(bytes([byte]))
            except ConnectionError:
                break
        else:
            pytest.fail("it was waited for")


async def test_the_head_of_the_next_request_neither(hasty: HttpStack) -> None:
    async with wired(hasty.address) as raw:
        assert (await raw.ask("GET", "/healthz")).status == 200
        await raw.say(b"GET /heal")
        assert await raw.silence() == b""


async def test_a_connection_that_is_kept_may_wait_between_requests(hasty: HttpStack) -> None:
    async with wired(hasty.address) as raw:
        for _ in range(3):
            assert (await raw.ask("GET", "/healthz")).status == 200
            await asyncio.sleep(HASTY.head_seconds * 1.5)


async def test_a_head_without_end_is_refused(brisk: HttpStack) -> None:
    async with wired(brisk.address) as raw:
        await raw.say(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n")
        # In pieces: what comes at once is looked at as a whole.
        await asyncio.sleep(0.01)
        await raw.say(b"x-filler: " + b"x" * HASTY.head_bytes)
        reply = await raw.hear()
        assert (reply.status, reply.problem["code"]) == (431, "request_header_fields_too_large")
        assert await raw.silence() == b""


async def test_a_body_that_does_not_come_is_not_waited_for(brisk: HttpStack) -> None:
    async def begin(path: str) -> None:
        async with wired(brisk.address) as raw:
            reply = await raw.ask("POST", path, JSON, "content-length: 100", body=b'{"text": ')
            assert (reply.status, reply.problem["code"]) == (408, "too_slow")
            assert reply.headers["connection"] == "close"
            assert await raw.silence() == b""

    paths = ("/api/v1/memories", "/api/v1/import", "/call/remember", "/call/import_", "/mcp")
    await asyncio.gather(*map(begin, paths))


async def test_a_body_that_comes_byte_by_byte_is_not_waited_for(brisk: HttpStack) -> None:
    async with wired(brisk.address) as raw:
        await raw.say(request("POST", "/api/v1/memories", JSON, "content-length: 100"))
        question_ = asyncio.create_task(raw.hear())
        while not question_.done():
            await raw.say(b" ")
            await asyncio.sleep(0.05)
        assert (await question_).problem["code"] == "too_slow"


async def test_who_was_answered_before_all_was_said_gets_a_while_to_finish(hasty: HttpStack) -> None:
    async with wired(hasty.address) as raw:
        reply = await raw.ask("GET", "/healthz", "content-length: 10", body=b"12345")
        assert reply.status == 200
        await raw.say(b"67890")
        # The connection goes on as if nothing had been.
        assert (await raw.ask("GET", "/healthz")).status == 200
    async with wired(hasty.address) as raw:
        assert (await raw.ask("GET", "/healthz", "content-length: 1000", body=b"1")).status == 200
        with pytest.raises(ConnectionError):
            await _trickle(raw)


async def test_who_said_the_rest_behind_the_answer_is_not_kept_for_ever(settings: Settings) -> None:
    async with (
        open_stack(settings, patience=replace(HASTY, keep_alive_seconds=1)) as stack,
        wired(stack.address) as raw,
    ):
        assert (await raw.ask("GET", "/healthz", "content-length: 10", body=b"12345")).status == 200
        await raw.say(b"67890")
        assert await raw.silence() == b""


@pytest.mark.parametrize(
    "said",
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
async def test_what_is_no_request_is_refused(brisk: HttpStack, said: bytes) -> None:
    async with wired(brisk.address) as raw:
        await raw.say(said)
        reply = await raw.hear()
        assert (reply.status, reply.problem["code"]) == (400, "bad_request")
        assert await raw.silence() == b""


async def test_nonsense_behind_a_request_does_not_spoil_its_answer(brisk: HttpStack) -> None:
    body = b'{"text": "kept"}'
    sent = request("POST", "/api/v1/memories", JSON, f"content-length: {len(body)}") + body
    async with wired(brisk.address) as raw:
        await raw.say(sent, b"\x00\x01nonsense\r\n\r\n")
        reply = await raw.hear()
        assert (reply.status, reply.headers["connection"]) == (201, "close")
        assert await raw.silence() == b""


async def test_requests_behind_each_other_are_answered_in_order(brisk: HttpStack) -> None:
    async with wired(brisk.address) as raw:
        paths = ["/healthz", "/api/v1/nowhere", "/api/v1/status"] * 5
        await raw.say(*(request("GET", path) for path in paths))
        assert [(await raw.hear()).status for _ in paths] == [200, 404, 200] * 5


async def test_a_stream_with_a_request_behind_it_ends_with_its_client(brisk: HttpStack) -> None:
    for behind in (request("GET", "/healthz"), b"\x00nonsense\r\n\r\n", UPGRADE):
        async with wired(brisk.address) as raw:
            await raw.say(request("GET", "/api/v1/changes"))
            await until_listening(brisk, 1)
            await raw.say(behind)
        await until_listening(brisk, 0)


UPGRADE = (
    b"GET /api/v1/changes HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: " + b"A" * 22 + b"==\r\n\r\n"
)


@pytest.mark.parametrize("extra", ["connection: upgrade\r\nupgrade: h2c", "connection: upgrade\r\nupgrade: nonsense"])
async def test_another_protocol_is_not_spoken_but_the_request_is_answered(brisk: HttpStack, extra: str) -> None:
    async with wired(brisk.address) as raw:
        assert (await raw.ask("GET", "/healthz", *extra.split("\r\n"))).status == 200


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
async def test_half_a_handshake_is_no_websocket(brisk: HttpStack, extra: list[str]) -> None:
    async with wired(brisk.address) as raw:
        await raw.say(request("GET", "/api/v1/changes", "upgrade: websocket", "connection: upgrade", *extra))
        assert (await raw.silence()).startswith(b"HTTP/1.1 4")


async def test_a_client_that_leaves_in_the_midst_of_a_body_leaves_nothing(brisk: HttpStack) -> None:
    for path in ("/api/v1/memories", "/api/v1/import", "/call/import_"):
        async with wired(brisk.address) as raw:
            await raw.say(request("POST", path, JSON, "content-length: 100"), b'{"text": "half')
    async with visiting(brisk.address) as visitor:
        assert (await visitor.get("/status"))["memories"] == {}


async def test_a_write_whose_client_is_gone_is_finished(brisk: HttpStack) -> None:
    for number in range(20):
        body = f'{{"text": "text number {number}", "intent": "new"}}'.encode()
        async with wired(brisk.address) as raw:
            await raw.say(request("POST", "/api/v1/memories", JSON, f"content-length: {len(body)}"), body)
            if number % 2:
                # One that hears no answer any more, and one that could still hear it.
                raw.writer.transport.abort()
            else:
                raw.writer.write_eof()
    await _until_live(brisk, 20)


async def test_a_reader_of_events_that_reads_nothing_is_cut_off(settings: Settings) -> None:
    async with open_stack(settings, beat=0.05, stream_patience=0.2, patience=HASTY) as stack:
        with socket.create_connection(("127.0.0.1", int(stack.address.rpartition(":")[2]))) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.sendall(request("GET", "/api/v1/changes?space=work&after=0"))
            await until_listening(stack, 1)
            who = Caller(space="work", agent="a" * 200_000)
            for number in range(60):
                await stack.engine.remember(Draft(text=f"text {number}", intent="new"), who=who)
            await until_listening(stack, 0)
            async with visiting(stack.address) as visitor:
                await until(lambda: has_figure(visitor, 'scrubjay_clients{kind="http"} 1.0'))


async def test_too_many_clients_are_told_to_come_back(brisk: HttpStack) -> None:
    lines = [wired(brisk.address) for _ in range(HASTY.connections)]
    wires = [await line.__aenter__() for line in lines]
    for raw in wires:
        assert (await raw.ask("GET", "/healthz")).status == 200
    async with wired(brisk.address) as late:
        reply = await late.ask("GET", "/healthz")
        assert (reply.status, reply.problem["code"], reply.headers["retry-after"]) == (503, "busy", "1")
        assert await late.silence() == b""
    for line in lines:
        await line.__aexit__(None, None, None)
    async with asyncio.timeout(LONGEST):
        while True:
            async with wired(brisk.address) as raw:
                if (await raw.ask("GET", "/healthz")).status == 200:
                    break


async def test_an_answer_that_is_expected_to_go_on(served: Running) -> None:
    async with wired(served.http) as raw:
        await raw.say(request("POST", "/api/v1/memories", JSON, "content-length: 20", "expect: 100-continue"))
        assert (await raw.hear()).status == 100
        await raw.say(b'{"text": "expected"}')
        assert (await raw.hear()).status == 201
    async with wired(served.http) as raw:
        reply = await raw.ask("POST", "/api/v1/memories", JSON, "content-length: 999999999", "expect: 100-continue")
        assert (reply.status, reply.problem["code"]) == (413, "too_large")


async def _until_live(stack: HttpStack, count: int) -> None:
    async with visiting(stack.address) as visitor:

        async def are_so_many() -> bool:
            return (await visitor.get("/status"))["memories"].get("live", 0) == count

        await until(are_so_many)


async def _trickle(raw: RawClient) -> None:
    for _ in range(1000):
        await raw.say(b"1")
        await asyncio.sleep(0.01)
