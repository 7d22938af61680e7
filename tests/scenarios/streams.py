"""Streams of changes, read up to a change that the reader has made itself: whatever comes before it has come then."""

import json
from collections.abc import Callable, Iterator

from websockets.sync.client import connect

from scrubjay.model.memory import Json
from tests.scenarios.mcp_calls import RPC_HEADERS
from tests.scenarios.paired_servers import Answer, TenantServer
from tests.scenarios.rest_calls import API

_SECONDS = 20.0
_REVISION = "2026-07-28"
_META: Json = {
    "io.modelcontextprotocol/protocolVersion": _REVISION,
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
Act = Callable[[], str]
"""Does something while a stream is open; returns what the last event must tell of."""


def server_sent(server: TenantServer, *, token: str, act: Act, after: int = 0) -> Answer:
    """Every event from a place on, as it was sent."""
    query = {"after": str(after)}
    with server.http.stream("GET", f"{API}/changes", params=query, headers=server.bearer(token)) as response:
        assert response.status_code == 200
        return _heard(_until(response.iter_raw(), act()))


def by_websocket(server: TenantServer, *, token: str, act: Act, after: int = 0) -> Answer:
    """The same as messages."""
    url = server.url.replace("http://", "ws://", 1) + f"{API}/changes?after={after}"
    with connect(url, additional_headers=server.bearer(token), open_timeout=_SECONDS, proxy=None) as socket:
        last, received = act(), b""
        while last not in received.decode():
            message = socket.recv(timeout=_SECONDS)
            received += message.encode() if isinstance(message, str) else message
        return _heard(received)


def listening(server: TenantServer, *, token: str, uris: list[str], act: Act) -> Answer:
    """What an agent is told that asks for changes of the list, and of some memories."""
    expected: Json = {"resourcesListChanged": True, "resourceSubscriptions": [*uris]}
    message: Json = {
        "jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen",
        "params": {"notifications": expected, "_meta": _META},
    }  # fmt: skip
    headers = {
        **RPC_HEADERS, **server.bearer(token), "accept": "application/json, text/event-stream",
        "mcp-protocol-version": _REVISION, "mcp-method": "subscriptions/listen",
    }  # fmt: skip
    with server.http.stream("POST", "/mcp/core", content=json.dumps(message), headers=headers) as response:
        assert response.status_code == 200
        pieces = response.iter_raw()
        # It listens when it says so, not before.
        acknowledged = next(pieces)
        return _heard(acknowledged + _until(pieces, act()))


def _until(pieces: Iterator[bytes], last: str) -> bytes:
    received = b""
    while last not in received.decode():
        received += next(pieces)
    return received


def _heard(heard: bytes) -> Answer:
    return Answer(status=200, headers=(), body=heard)
