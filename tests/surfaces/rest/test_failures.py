"""Unexpected errors: the caller gets a problem without details, the log has the traceback."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Annotated

import pytest
from fastapi import Depends, FastAPI, Response, WebSocket
from fastapi.responses import StreamingResponse
from starlette.applications import Starlette
from tests.surfaces.rest.checked_client import CheckedClient
from tests.surfaces.rest.openapi_document import require_problem
from tests.surfaces.rest.raw_client import open_raw_client
from tests.surfaces.rest.test_changes_socket import close_code_of, open_websocket, problem_of, refusal_of
from websockets.exceptions import ConnectionClosed

from scrubjay.errors import DiskFull, KeysUnavailable, ScrubjayError, StoreBusy
from scrubjay.model.caller import OWNER, Grant
from scrubjay.surfaces.http.address import LOOPBACK, bind_http, http_address
from scrubjay.surfaces.http.auth_middleware import AuthMiddleware, OriginCheck, RequestPolicy, RequestRecord
from scrubjay.surfaces.http.body import BodyReader
from scrubjay.surfaces.http.limits import ConnectionLimits
from scrubjay.surfaces.http.server import serve_http
from scrubjay.surfaces.rest.app import make_bare_app
from scrubjay.surfaces.rest.route import router

SECRET = "the password is swordfish"


class OwnerAuthenticator:
    async def authenticate(self, authorization: str | None) -> Grant:
        return OWNER


class UnlimitedRates:
    async def take(self, grant_id: str, per_minute: int) -> None:
        return None


@dataclass(frozen=True, slots=True)
class FailingServer:
    """A server with routes that fail, and the records of its middleware."""

    address: str
    records: list[RequestRecord]


@pytest.fixture
async def failing() -> AsyncGenerator[FailingServer]:
    web = bind_http("127.0.0.1:0", required=True)
    assert web is not None
    records: list[RequestRecord] = []
    policy = RequestPolicy(
        origin_check=OriginCheck(hosts=LOOPBACK, port=web.getsockname()[1]),
        authenticator=OwnerAuthenticator(),
        rate_limiter=UnlimitedRates(),
        body_reader=BodyReader(seconds=5),
        body_bytes=1000,
        record=records.append,
    )
    app = make_bare_app()
    _add_failures(app)
    with web:
        async with serve_http(
            AuthMiddleware(_mount(app), policy=policy), web, limits=ConnectionLimits(close_seconds=1)
        ):
            yield FailingServer(http_address(web), records)


def _mount(app: FastAPI) -> Starlette:
    outer = Starlette()
    outer.router.default = app
    return outer


def _add_failures(app: FastAPI) -> None:
    routes = router("failures")

    async def dependency() -> None:
        raise StoreBusy("another writer holds it", hint="Retry", retry_after=1)

    async def broken_dependency() -> None:
        raise ValueError(SECRET)

    async def lines(error: Exception) -> AsyncIterator[bytes]:
        yield b"one line\n"
        await asyncio.sleep(0)
        raise error

    @routes.get("/fails")
    async def fails() -> Response:
        raise ValueError(SECRET)

    @routes.get("/full")
    async def full() -> Response:
        raise DiskFull("no room is left")

    @routes.get("/depends")
    async def depends(_: Annotated[None, Depends(dependency)]) -> Response:
        return Response()

    @routes.get("/depends-badly")
    async def depends_badly(_: Annotated[None, Depends(broken_dependency)]) -> Response:
        return Response()

    @routes.get("/breaks-off")
    async def breaks_off() -> Response:
        return StreamingResponse(lines(ValueError(SECRET)))

    @routes.get("/store-breaks-off")
    async def store_breaks_off() -> Response:
        return StreamingResponse(lines(StoreBusy("another writer holds it")))

    @routes.websocket("/socket")
    async def socket(socket: WebSocket, accept: bool = False, ours: bool = False) -> None:
        if accept:
            await socket.accept()
        raise KeysUnavailable("no keys", retry_after=3) if ours else ValueError(SECRET)

    app.include_router(routes)


def _traces(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("path", ["/fails", "/depends-badly"])
async def test_an_unexpected_error_becomes_a_problem_and_is_logged_once(
    failing: FailingServer, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    async with CheckedClient(failing.address) as client:
        response = await client.web.get(path, headers={"x-request-id": "my-request-0001"})
        problem = require_problem(response)
        assert (response.status_code, problem["code"]) == (500, "error")
        assert problem["detail"] == "the request failed: ValueError"
        assert problem["request_id"] == "my-request-0001"
        assert SECRET not in response.text
        (record,) = _traces(caplog)
        assert record.name == "scrubjay.surfaces.http.auth_middleware"
        assert record.exc_info is not None
        assert str(record.exc_info[1]) == SECRET
        assert [(item.status, item.request_id) for item in failing.records] == [(500, "my-request-0001")]
        assert (await client.web.get("/healthz")).status_code == 200


@pytest.mark.parametrize(("path", "status", "code"), [("/full", 507, "disk_full"), ("/depends", 503, "store_busy")])
async def test_a_scrubjay_error_is_not_logged_as_unexpected(
    failing: FailingServer, caplog: pytest.LogCaptureFixture, path: str, status: int, code: str
) -> None:
    async with CheckedClient(failing.address) as client:
        response = await client.web.get(path)
        assert (response.status_code, require_problem(response)["code"]) == (status, code)
        assert response.headers.get("retry-after") == ("1" if status == 503 else None)
        assert not _traces(caplog)


@pytest.mark.parametrize("path", ["/breaks-off", "/store-breaks-off"])
async def test_an_interrupted_response_is_recognisable(
    failing: FailingServer, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    async with open_raw_client(failing.address) as raw:
        await raw.send(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        received = await raw.receive_until_close()
        assert received.startswith(b"HTTP/1.1 200")
        assert b"one line" in received
        # The last chunk is missing.
        assert not received.endswith(b"0\r\n\r\n")
        assert SECRET.encode() not in received
    (record,) = _traces(caplog)
    assert record.name == "scrubjay.surfaces.http.auth_middleware"


async def test_a_socket_that_fails_before_it_is_opened_is_refused(
    failing: FailingServer, caplog: pytest.LogCaptureFixture
) -> None:
    result = problem_of(await refusal_of(failing.address, path="/socket"), 500, "error")
    assert SECRET not in str(result)
    assert len(_traces(caplog)) == 1
    response = await refusal_of(failing.address, path="/socket", ours="true")
    problem_of(response, 503, "keys_unavailable")
    assert response.headers["retry-after"] == "3"
    assert len(_traces(caplog)) == 1
    problem_of(await refusal_of(failing.address, path="/socket", ours="perhaps"), 422, "invalid_input")
    assert {record.name for record in caplog.records if record.levelno >= logging.ERROR} == {
        "scrubjay.surfaces.http.auth_middleware"
    }


@pytest.mark.parametrize("ours", ["true", "false"])
async def test_a_socket_that_fails_is_closed(
    failing: FailingServer, caplog: pytest.LogCaptureFixture, ours: str
) -> None:
    async with open_websocket(failing.address, path="/socket", accept="true", ours=ours) as socket_client:
        assert await close_code_of(socket_client) == 1011
    (record,) = _traces(caplog)
    assert record.name == "scrubjay.surfaces.http.auth_middleware"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ScrubjayError if ours == "true" else ValueError)
    with pytest.raises(ConnectionClosed):
        await socket_client.recv()
