"""Readers of streams of changes: each reads up to a change that it has made, so all earlier events have arrived."""

import json
from collections.abc import Callable, Iterator

from websockets.sync.client import connect

from scrubjay.model.memory import Json
from tests.patience import PATIENCE
from tests.scenarios.mcp_calls import RPC_HEADERS
from tests.scenarios.paired_servers import Answer, TenantServer
from tests.scenarios.rest_calls import API

_REVISION = "2026-07-28"
_META: Json = {
    "io.modelcontextprotocol/protocolVersion": _REVISION,
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
MakeChange = Callable[[], str]
"""Makes a change while a stream is open, and returns text that its event contains."""


def read_events(server: TenantServer, *, token: str, make_change: MakeChange, after: int = 0) -> Answer:
    """Return the server-sent events after a change, as bytes."""
    query = {"after": str(after)}
    with server.http.stream("GET", f"{API}/changes", params=query, headers=server.bearer(token)) as response:
        assert response.status_code == 200
        return _response(_read_until(response.iter_raw(), make_change()))


def read_websocket(server: TenantServer, *, token: str, make_change: MakeChange, after: int = 0) -> Answer:
    """Return the same events from a WebSocket."""
    url = server.url.replace("http://", "ws://", 1) + f"{API}/changes?after={after}"
    with connect(url, additional_headers=server.bearer(token), open_timeout=PATIENCE, proxy=None) as socket:
        last, received = make_change(), b""
        while last not in received.decode():
            message = socket.recv(timeout=PATIENCE)
            received += message.encode() if isinstance(message, str) else message
        return _response(received)


def listen_by_mcp(server: TenantServer, *, token: str, uris: list[str], make_change: MakeChange) -> Answer:
    """Return the notifications for an agent that subscribes to the list of memories and to some memories."""
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
        # The subscription starts with its acknowledgement.
        acknowledged = next(pieces)
        return _response(acknowledged + _read_until(pieces, make_change()))


def _read_until(pieces: Iterator[bytes], last: str) -> bytes:
    received = b""
    while last not in received.decode():
        received += next(pieces)
    return received


def _response(received: bytes) -> Answer:
    return Answer(status=200, headers=(), body=received)
