"""JSON-RPC lines, as far as the bridge must understand them. It never re-encodes a line: the client's bytes stay."""

import json
import os
import re
from collections.abc import Callable

Id = int | str

RUN = "scrubjay/run"
# A stream of events, which stays open: the bridge does not wait for its answer.
LISTEN = "subscriptions/listen"
UNAVAILABLE = -31023
_INVALID_REQUEST, _PARSE_ERROR = -32600, -32700
# The places where clients and servers write the id. Only a message's own id can be there, so that the bridge finds it
# without parsing the line.
_ANSWER = re.compile(
    rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\]*")\s*,\s*"(result|error)"\s*:'
)
_FIRST_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"[^"\\]*")\s*,')
_LAST_ID = re.compile(rb',\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_NOTIFICATION = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"method"\s*:\s*"notifications/')
_SPACE = re.compile(r"[ \t\r\n]*")

_Members = dict[str, tuple[object, int]]


class _InvalidConstant(ValueError):
    """A constant that JSON does not have; the text is its name."""


class ClientMessage:
    """One line of the client, and its fields that matter here. Unreadable lines have no method and no id."""

    __slots__ = (
        "about",
        "has_own_run",
        "id",
        "idempotent",
        "is_nameless",
        "line",
        "method",
        "refusal",
        "repeats",
        "run",
    )

    def __init__(self, line: bytes, *, method: str = "", id: Id | None = None, about: str = "") -> None:
        self.line = line
        self.method = method
        self.id = id
        # The resource or the request that the message is about.
        self.about = about
        self.run = ""
        # Whether the run belongs to this call alone.
        self.has_own_run = False
        # Whether a repeat has no further effect.
        self.idempotent = False
        self.repeats = 0
        # Whether the daemon must refuse it, with an error that names no request.
        self.is_nameless = False
        # The answer to a message that the daemon does not get.
        self.refusal = b""

    @property
    def is_request(self) -> bool:
        return bool(self.method) and self.id is not None

    @property
    def is_call(self) -> bool:
        return self.is_request and self.method == "tools/call"

    @property
    def key(self) -> str:
        """The key of its answer."""
        return key_of(self.id)


def key_of(id: object) -> str:
    """Return a key for an id; 1 and "1" have different keys."""
    return repr(id)


NO_REQUEST = key_of(None)
"""The key of an error that names no request."""


def read_message(line: bytes) -> ClientMessage:
    """Read a line of the client; a `tools/call` without a run gets one."""
    try:
        return _parse(line, strict=True)
    except _InvalidConstant as error:
        return _refuse_constant(line, str(error))
    except (ValueError, IndexError, RecursionError):
        return _unreadable(line)  # Invalid JSON, or too deep to read: the daemon says so.


def match_answer(line: bytes) -> tuple[str, bool] | None:
    """Return the key of the request that a line of the daemon answers, and whether it succeeded; None for others."""
    if match := _ANSWER.match(line):
        return key_of(json.loads(match[1])), match[2] == b"result"
    if _NOTIFICATION.match(line):
        return None
    try:
        members, _ = _read_members(line.decode(), 0, decode=_decode_loosely)
    except (ValueError, IndexError, RecursionError):
        return None
    if "method" in members or "id" not in members:
        return None
    return key_of(members["id"][0]), "error" not in members


def error_line(id: Id | None, message: str, *, code: int = UNAVAILABLE, data: object = None) -> bytes:
    """Return the line of an error that answers a request."""
    error: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": error}, separators=(",", ":")).encode() + b"\n"


def overlong_line(head: bytes, tail: bytes, *, limit: int) -> bytes:
    """Return the error that answers a line over the limit, of which only both ends are known."""
    match = _FIRST_ID.match(head) or _LAST_ID.search(tail)
    return error_line(
        json.loads(match[1]) if match else None,
        f"the message is longer than {limit >> 20} MB and was not read. Send less at once",
        code=_INVALID_REQUEST,
        data={"code": "too_large", "limit": limit},
    )


def _parse(line: bytes, *, strict: bool) -> ClientMessage:
    text = line.decode()
    members, end = _read_members(text, 0, decode=_decode_strictly if strict else _decode_loosely)
    id_ = _id_of(members, "id")
    if text[end:].strip():
        return _unreadable(line)
    if _text_of(members, "jsonrpc") != "2.0":
        return ClientMessage(line) if id_ is not None else _unreadable(line)
    method = _text_of(members, "method")
    params, at = _object_of(text, members, "params")
    about = _text_of(params, "uri")
    if method == "notifications/cancelled":
        about = key_of(_id_of(params, "requestId"))
    message = ClientMessage(line, method=method, id=id_, about=about)
    is_notification = bool(method) and "id" not in members and (bool(at) or "params" not in members)
    message.is_nameless = id_ is None and not is_notification
    if message.is_call and at:
        # Of all tools, only `remember` has a key that keeps a repeated call from writing twice.
        if _text_of(params, "name") == "remember":
            message.idempotent = bool(_text_of(_object_of(text, params, "arguments")[0], "idempotency_key"))
        _set_run(message, text, params, at)
    return message


def _unreadable(line: bytes) -> ClientMessage:
    message = ClientMessage(line)
    message.is_nameless = bool(line.strip())  # The daemon does not answer an empty line.
    return message


def _refuse_constant(line: bytes, constant: str) -> ClientMessage:
    """Refuse a line with a constant that JSON does not have: the daemon's error could not name its request."""
    try:
        message = _parse(line, strict=False)
    except (ValueError, IndexError, RecursionError):
        return _unreadable(line)
    if not message.is_request:
        return _unreadable(line)
    text = f"{constant} is not JSON, and the message was not sent. Give a number, or leave it out"
    message.refusal = error_line(message.id, text, code=_PARSE_ERROR, data={"code": "invalid_input"})
    return message


def _set_run(message: ClientMessage, text: str, params: _Members, at: int) -> None:
    """Note the run of a call, or insert a new one into its line."""
    meta, meta_at = _object_of(text, params, "_meta")
    if RUN in meta:
        message.run = _text_of(meta, RUN)
        return
    run = os.urandom(16).hex()
    if meta_at:
        place, inserted, others = meta_at, f'"{RUN}":"{run}"', meta
    elif "_meta" not in params:
        place, inserted, others = at, f'"_meta":{{"{RUN}":"{run}"}}', params
    else:
        return  # `_meta` is no object, and the daemon refuses it.
    message.line = f"{text[: place + 1]}{inserted}{',' if others else ''}{text[place + 1 :]}".encode()
    message.run, message.has_own_run = run, True


def _object_of(text: str, members: _Members, name: str) -> tuple[_Members, int]:
    """Return the members of a member, and where it starts; nothing and 0 if it is no object."""
    _, at = members.get(name, (None, 0))
    if not at or text[at] != "{":
        return {}, 0
    return _read_members(text, at, decode=_decode_loosely)[0], at


def _read_members(text: str, at: int, *, decode: Callable[[str, int], tuple[object, int]]) -> tuple[_Members, int]:
    """Return the members of the object at a position, each with the position of its value, and the object's end."""
    members: _Members = {}
    at = _skip(text, at, "{")
    if text[at] == "}":
        return members, at + 1
    while True:
        name, end = decode(text, at)
        if not isinstance(name, str):
            raise ValueError("a member has no name")  # noqa: TRY004 - like all invalid JSON
        at = _skip(text, end, ":")
        value, end = decode(text, at)
        members[name] = (value, at)
        at = _skip_space(text, end)
        if text[at] == "}":
            return members, at + 1
        at = _skip(text, at, ",")


def _skip(text: str, at: int, mark: str) -> int:
    at = _skip_space(text, at)
    if text[at] != mark:
        raise ValueError(f"expected {mark}")
    return _skip_space(text, at + 1)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _raise_invalid(name: str) -> float:
    raise _InvalidConstant(name)


_decode_strictly = json.JSONDecoder(parse_constant=_raise_invalid).raw_decode
# Python's decoder accepts NaN and Infinity, which does no harm where the bridge only searches a line.
_decode_loosely = json.JSONDecoder().raw_decode


def _text_of(members: _Members, name: str) -> str:
    value, _ = members.get(name, ("", 0))
    return value if isinstance(value, str) else ""


def _id_of(members: _Members, name: str) -> Id | None:
    value, _ = members.get(name, (None, 0))
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None
