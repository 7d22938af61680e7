"""Errors without an id find the request that they are about."""

import json

from scrubjay.surfaces.mcp.bridge.messages import ClientMessage
from scrubjay.surfaces.mcp.bridge.session import LISTEN, UnmatchedErrors


def stray(code: int) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": code}}).encode() + b"\n"


def in_flight(*ids: int, listens: bool = False) -> dict[str, ClientMessage]:
    messages = [ClientMessage(b"", method="ping", id=id_) for id_ in ids]
    if listens:
        messages.append(ClientMessage(b"", method=LISTEN, id="events"))
    return {message.key: message for message in messages}


def told(data: bytes) -> list[tuple[object, int]]:
    lines = [json.loads(line) for line in data.splitlines()]
    return [(line["id"], line["error"]["code"]) for line in lines]


def test_it_is_held_until_no_more_wait_than_are_held() -> None:
    strays, waiting = UnmatchedErrors(), in_flight(1, 2, 3, listens=True)
    assert strays.receive(stray(-1)) == strays.assign(waiting) == b""
    del waiting["2"]
    assert strays.receive(stray(-2)) == b""
    assert told(strays.assign(waiting)) == [(1, -1), (3, -2)]
    assert [message.method for message in waiting.values()] == [LISTEN]
    assert strays.assign(waiting) == b""


def test_with_nobody_waiting_it_is_passed_on() -> None:
    strays = UnmatchedErrors()
    strays.receive(stray(-1))
    assert strays.assign({}) == stray(-1)


def test_what_was_sent_without_an_id_takes_the_first() -> None:
    strays, waiting = UnmatchedErrors(), in_flight(1)
    nameless = ClientMessage(b"{")
    nameless.is_nameless = True
    strays.note_sent(nameless)
    strays.note_sent(waiting["1"])
    assert strays.receive(stray(-1)) == stray(-1)
    assert strays.assign(waiting) == b""
    strays.receive(stray(-2))
    assert told(strays.assign(waiting)) == [(1, -2)]


def test_with_the_daemon_goes_what_it_would_have_said() -> None:
    strays, waiting = UnmatchedErrors(), in_flight(1, 2)
    strays.receive(stray(-1))
    nameless = ClientMessage(b"{")
    nameless.is_nameless = True
    strays.note_sent(nameless)
    assert strays.flush() == stray(-1)
    strays.receive(stray(-2))
    assert strays.assign(waiting) == b""
    del waiting["1"]
    assert told(strays.assign(waiting)) == [(2, -2)]
