"""The bridge reads a few fields of each line, and inserts a run into calls."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.surfaces.mcp.bridge.messages import (
    NO_REQUEST,
    RUN,
    error_line,
    key_of,
    match_answer,
    overlong_line,
    read_message,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def line(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


def test_a_request_is_known_by_its_method_and_id() -> None:
    message = read_message(line(id="a-1", method="resources/subscribe", params={"uri": "memory://team/tea"}))
    assert message.is_request
    assert not message.is_call
    assert (message.id, message.key, message.about) == ("a-1", key_of("a-1"), "memory://team/tea")


def test_cancelled_requests_are_recognised() -> None:
    message = read_message(line(method="notifications/cancelled", params={"requestId": 7}))
    assert not message.is_request
    assert message.about == read_message(line(id=7, method="ping")).key


@pytest.mark.parametrize(
    "unreadable",
    [
        b"",
        b"\n",
        b"{\n",
        b"{}\n",
        b"null\n",
        b'"text"\n',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"} and more\n',
        b'{"jsonrpc":"2.0","id":1,"method":"ping",}\n',
        b'{"jsonrpc":"2.0" "id":1,"method":"ping"}\n',
        b'{1:2,"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n',
        b'{"id":1,"method":"ping"}\n',
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"caf\xe9"}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}\n',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n',
        b'{"jsonrpc":"2.0","id":1,"method":["ping"]}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{}}\n',
    ],
)
def test_a_message_that_is_no_request_is_passed_on_without_waiting(unreadable: bytes) -> None:
    message = read_message(unreadable)
    assert not message.is_request
    assert message.line == unreadable


@pytest.mark.parametrize(
    "params", [{}, {"name": "x"}, {"_meta": {}}, {"_meta": {"a": 1}, "name": "x"}, {"name": "x", "_meta": {"a": [1]}}]
)
def test_a_call_gets_a_run_of_its_own(params: dict[str, Any]) -> None:
    original = line(method="tools/call", params=params, id=1)
    first, second = read_message(original), read_message(original)
    assert first.has_own_run
    assert first.run != second.run
    message = json.loads(first.line)
    assert message["params"].pop("_meta") == {**params.get("_meta", {}), RUN: first.run}
    assert message["params"] == {name: value for name, value in params.items() if name != "_meta"}


def test_a_call_keeps_the_run_that_it_has() -> None:
    original = line(id=1, method="tools/call", params={"_meta": {RUN: "morning"}})
    message = read_message(original)
    assert (message.line, message.run, message.has_own_run) == (original, "morning", False)


@pytest.mark.parametrize(
    "original",
    [
        line(id=1, method="tools/call"),
        line(id=1, method="tools/call", params=[1]),
        line(id=1, method="tools/call", params={"_meta": None}),
        line(id=1, method="tools/call", params={"_meta": {RUN: 5}}),
        line(method="tools/call", params={}),
    ],
)
def test_a_call_that_makes_no_sense_is_left_to_the_daemon(original: bytes) -> None:
    message = read_message(original)
    assert (message.line, message.run) == (original, "")


def test_all_bytes_but_the_run_stay_as_the_client_chose_them() -> None:
    params = '{"n": 1.50, "n": 1E400, "t": "\\u00e9é\\ud800"}'
    original = f'{{ "id" : 1, "params":\t{params} , "method":"tools/call","jsonrpc":"2.0"}}\r\n'
    message = read_message(original.encode())
    added = f'"_meta":{{"{RUN}":"{message.run}"}},'
    assert message.line.decode() == original.replace('{"n"', "{" + added + '"n"', 1)


@given(
    params=st.dictionaries(st.text(), JSON, max_size=4), ascii_only=st.booleans(), indent=st.none() | st.integers(0, 2)
)
def test_any_call_differs_by_its_run_alone(params: dict[str, Any], ascii_only: bool, indent: int | None) -> None:
    result = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    text = json.dumps(result, ensure_ascii=ascii_only, indent=indent)
    message = read_message(text.encode("utf-8", "replace"))
    after = json.loads(message.line)
    meta = cast("dict[str, Any]", after["params"].get("_meta"))
    if message.has_own_run:
        assert meta.pop(RUN) == message.run
        if not meta and "_meta" not in params:
            del after["params"]["_meta"]
    assert after == result


def test_a_number_and_a_text_are_two_keys() -> None:
    assert len({key_of(id_) for id_ in (1, "1", None, "None", "'1'")}) == 5
    assert read_message(line(id="1", method="ping")).key != read_message(line(id=1, method="ping")).key


@pytest.mark.parametrize(
    ("raw", "is_nameless"),
    [
        (b"{nonsense\n", True),
        (b"[]\n", True),
        (b"7\n", True),
        (b'{"jsonrpc":"1.0","method":"ping"}\n', True),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', True),
        (b'{"jsonrpc":"2.0","method":"notifications/x","params":[]}\n', True),
        (b'{"jsonrpc":"2.0","method":"notifications/x","params":{"n":NaN}}\n', True),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":NaN}} and more\n', True),
        (b'{"jsonrpc":"2.0","method":"notifications/x","params":{}}\n', False),
        (b'{"jsonrpc":"2.0","method":"notifications/x"}\n', False),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}\n', False),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', False),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}\n', False),
        (b" \n", False),
    ],
)
def test_messages_refused_without_an_id_are_recognised(raw: bytes, is_nameless: bool) -> None:
    assert read_message(raw).is_nameless is is_nameless


def test_a_constant_that_json_lacks_is_answered_here() -> None:
    refused = read_message(b'{"jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"n":-Infinity}},"id":5}\n')
    result = json.loads(refused.refusal)
    assert (result["id"], result["error"]["code"], result["error"]["data"]) == (5, -32700, {"code": "invalid_input"})
    assert "-Infinity" in result["error"]["message"]
    assert read_message(line(id=1, method="tools/call", params={"text": "NaN, Infinity"})).refusal == b""
    assert read_message(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":1E400}}\n').refusal == b""


@pytest.mark.parametrize(
    ("params", "idempotent"),
    [
        ({"name": "remember", "arguments": {"idempotency_key": "k"}}, True),
        ({"name": "remember", "arguments": {"idempotency_key": ""}}, False),
        ({"name": "remember", "arguments": {"idempotency_key": 7}}, False),
        ({"name": "remember", "arguments": ["idempotency_key"]}, False),
        ({"name": "remember"}, False),
        ({"name": "forget", "arguments": {"idempotency_key": "k"}}, False),
    ],
)
def test_only_a_remember_with_a_key_can_be_sent_again(params: dict[str, Any], idempotent: bool) -> None:
    assert read_message(line(id=1, method="tools/call", params=params)).idempotent is idempotent


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":{}}\n', (key_of(1), True)),
        (b'{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":""}}\n', (key_of("a"), False)),
        (b'{"result": {"id": 5}, "id": 2, "jsonrpc": "2.0"}\n', (key_of(2), True)),
        (b'{"jsonrpc":"2.0","id":"\\u0061","result":{}}\n', (key_of("a"), True)),
        (b'{"jsonrpc":"2.0","id":null,"error":{}}\n', (NO_REQUEST, False)),
        (b'{"jsonrpc":"2.0","id":"1","result":{}}\n', (key_of("1"), True)),
        (b'{"jsonrpc":"2.0","id":"None","result":{}}\n', (key_of("None"), True)),
        (b'{"id":4,"jsonrpc":"2.0","result":{"n":NaN}}\n', (key_of(4), True)),
        (b'{"jsonrpc":"2.0","id":3,"method":"ping"}\n', None),
        (b'{"jsonrpc":"2.0","method":"notifications/message","params":{"id":1,"result":2}}\n', None),
        (b'{"jsonrpc":"2.0","result":{}}\n', None),
        (b"not json\n", None),
        (b"\xff\n", None),
    ],
)
def test_an_answer_is_known_by_its_id(response: bytes, expected: tuple[str, bool] | None) -> None:
    assert match_answer(response) == expected


@pytest.mark.parametrize(
    ("head", "tail", "id"),
    [
        (b'{"jsonrpc":"2.0","id":12,"method"', b'x"}}\n', 12),
        (b'{"id":"a b","jsonrpc"', b'x"}}\n', "a b"),
        (b'{"method":"x","params":{"id":5,', b'"},"id":"z"}\n', "z"),
        (b'{"method":"x","params":{"id":5,', b'"}, "id": 6, "jsonrpc": "2.0" }\r\n', 6),
        (b'{"method":"x","params":{"id":5,', b',"id":6}}\n', None),
        (b'{"jsonrpc":"2.0","method":"x"', b"yyy\n", None),
        (b"xxxx", b"yyyy\n", None),
    ],
)
def test_a_line_that_was_not_read_is_answered_by_the_id_at_its_ends(
    head: bytes, tail: bytes, id: int | str | None
) -> None:
    result = json.loads(overlong_line(head, tail, limit=64 * 1024 * 1024))
    assert result["id"] == id
    assert result["error"]["message"].startswith("the message is longer than 64 MB")


def test_an_error_answers_with_the_id_as_it_was() -> None:
    assert json.loads(error_line("é\ud800", "no", data={"committed": None})) == {
        "jsonrpc": "2.0",
        "id": "é\ud800",
        "error": {"code": -31023, "message": "no", "data": {"committed": None}},
    }
