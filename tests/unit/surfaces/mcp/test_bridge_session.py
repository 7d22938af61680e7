"""Errors without an id are assigned to the requests that they answer."""

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


def ids_and_codes(data: bytes) -> list[tuple[object, int]]:
    lines = [json.loads(line) for line in data.splitlines()]
    return [(line["id"], line["error"]["code"]) for line in lines]


def test_it_is_held_until_no_more_wait_than_are_held() -> None:
    errors, waiting = UnmatchedErrors(), in_flight(1, 2, 3, listens=True)
    assert errors.receive(stray(-1)) == errors.assign(waiting) == b""
    del waiting["2"]
    assert errors.receive(stray(-2)) == b""
    assert ids_and_codes(errors.assign(waiting)) == [(1, -1), (3, -2)]
    assert [message.method for message in waiting.values()] == [LISTEN]
    assert errors.assign(waiting) == b""


def test_without_a_waiting_request_it_is_passed_on() -> None:
    errors = UnmatchedErrors()
    errors.receive(stray(-1))
    assert errors.assign({}) == stray(-1)


def test_a_message_without_an_id_takes_the_first_error() -> None:
    errors, waiting = UnmatchedErrors(), in_flight(1)
    nameless = ClientMessage(b"{")
    nameless.is_nameless = True
    errors.note_sent(nameless)
    errors.note_sent(waiting["1"])
    assert errors.receive(stray(-1)) == stray(-1)
    assert errors.assign(waiting) == b""
    errors.receive(stray(-2))
    assert ids_and_codes(errors.assign(waiting)) == [(1, -2)]


def test_unmatched_errors_are_dropped_with_the_daemon() -> None:
    errors, waiting = UnmatchedErrors(), in_flight(1, 2)
    errors.receive(stray(-1))
    nameless = ClientMessage(b"{")
    nameless.is_nameless = True
    errors.note_sent(nameless)
    assert errors.flush() == stray(-1)
    errors.receive(stray(-2))
    assert errors.assign(waiting) == b""
    del waiting["1"]
    assert ids_and_codes(errors.assign(waiting)) == [(2, -2)]
