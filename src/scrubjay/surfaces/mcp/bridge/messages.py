"""JSON-RPC lines, as far as the bridge must understand them. None is written anew: bytes stay as the client chose."""

import json
import os
import re
from collections.abc import Callable

Id = int | str

RUN = "scrubjay/run"
UNAVAILABLE = -31023
_INVALID, _NO_JSON = -32600, -32700
# Where the id stands in what clients and servers write. Each place can only be the message's own id, so that a line
# need not be parsed to find it.
_ANSWER = re.compile(
    rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\]*")\s*,\s*"(result|error)"\s*:'
)
_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"[^"\\]*")\s*,')
_LAST = re.compile(rb',\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_NOTICE = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"method"\s*:\s*"notifications/')
_SPACE = re.compile(r"[ \t\r\n]*")

_Members = dict[str, tuple[object, int]]


class _NoNumber(ValueError):
    """One of the constants that JSON does not have; the text is its name."""


class Message:
    """One line of the client, and what the bridge knows of it. Unreadable lines have no method and no id."""

    __slots__ = ("about", "id", "is_nameless", "line", "method", "own_run", "refusal", "repeatable", "repeats", "run")

    def __init__(self, line: bytes, *, method: str = "", id: Id | None = None, about: str = "") -> None:
        self.line = line
        self.method = method
        self.id = id
        # The resource or the request that it speaks of.
        self.about = about
        self.run = ""
        # Whether the run is this one call's and no other's.
        self.own_run = False
        # Whether it does nothing more when it is sent again.
        self.repeatable = False
        self.repeats = 0
        # Whether the daemon cannot but refuse it, and cannot say by an id what it refuses.
        self.is_nameless = False
        # The answer to what the daemon is spared.
        self.refusal = b""

    @property
    def is_request(self) -> bool:
        return bool(self.method) and self.id is not None

    @property
    def is_call(self) -> bool:
        return self.is_request and self.method == "tools/call"

    @property
    def key(self) -> str:
        """Under which its answer is awaited."""
        return key_of(self.id)


def key_of(id: object) -> str:
    """A name for an id, by which 1 and "1" are two."""
    return repr(id)


NOBODY = key_of(None)
"""The key of an answer to something that could not be read."""


def understand(line: bytes) -> Message:
    """What a line of the client says; a `tools/call` without a run gets one."""
    try:
        return _message(line, strictly=True)
    except _NoNumber as error:
        return _refused(line, str(error))
    except (ValueError, IndexError, RecursionError):
        return _unreadable(line)  # Not JSON, or none that can be read: the daemon says so.


def answered(line: bytes) -> tuple[str, bool] | None:
    """The key of the request that a line of the daemon answers, and whether it succeeded; None for other lines."""
    if found := _ANSWER.match(line):
        return key_of(json.loads(found[1])), found[2] == b"result"
    if _NOTICE.match(line):
        return None
    try:
        members, _ = _members(line.decode(), 0, decode=_decode_anything)
    except (ValueError, IndexError, RecursionError):
        return None
    if "method" in members or "id" not in members:
        return None
    return key_of(members["id"][0]), "error" not in members


def error_line(id: Id | None, message: str, *, code: int = UNAVAILABLE, data: object = None) -> bytes:
    """An error that answers a request."""
    error: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": error}, separators=(",", ":")).encode() + b"\n"


def overlong_line(head: bytes, tail: bytes, *, longest: int) -> bytes:
    """The error that answers a line which was too long to be read, known by its two ends."""
    found = _FIRST.match(head) or _LAST.search(tail)
    return error_line(
        json.loads(found[1]) if found else None,
        f"the message is longer than {longest >> 20} MB and was not read. Send less at once",
        code=_INVALID,
        data={"code": "too_large", "limit": longest},
    )


def _message(line: bytes, *, strictly: bool) -> Message:
    text = line.decode()
    members, end = _members(text, 0, decode=_decode if strictly else _decode_anything)
    named = _id_of(members, "id")
    if text[end:].strip():
        return _unreadable(line)
    if _text_of(members, "jsonrpc") != "2.0":
        return Message(line) if named is not None else _unreadable(line)
    method = _text_of(members, "method")
    params, at = _object_of(text, members, "params")
    about = _text_of(params, "uri")
    if method == "notifications/cancelled":
        about = key_of(_id_of(params, "requestId"))
    message = Message(line, method=method, id=named, about=about)
    is_notice = bool(method) and "id" not in members and (bool(at) or "params" not in members)
    message.is_nameless = named is None and not is_notice
    if message.is_call and at:
        message.repeatable = _is_repeatable(text, params)
        _note_run(message, text, params, at)
    return message


def _unreadable(line: bytes) -> Message:
    message = Message(line)
    message.is_nameless = bool(line.strip())  # Nobody answers an empty line.
    return message


def _refused(line: bytes, constant: str) -> Message:
    """A line with a constant that JSON does not have. The daemon could not name the request that it refuses."""
    try:
        message = _message(line, strictly=False)
    except (ValueError, IndexError, RecursionError):
        return _unreadable(line)
    if not message.is_request:
        return _unreadable(line)
    told = f"{constant} is not JSON, and the message was not sent. Give a number, or leave it out"
    message.refusal = error_line(message.id, told, code=_NO_JSON, data={"code": "invalid_input"})
    return message


def _is_repeatable(text: str, params: _Members) -> bool:
    """Whether a call carries what keeps it from being done twice. Of the tools one alone heeds it."""
    if _text_of(params, "name") != "remember":
        return False
    return bool(_text_of(_object_of(text, params, "arguments")[0], "idempotency_key"))


def _note_run(message: Message, text: str, params: _Members, at: int) -> None:
    """Note the run of a call, or write a fresh one into its line."""
    meta, meta_at = _object_of(text, params, "_meta")
    if RUN in meta:
        message.run = _text_of(meta, RUN)
        return
    run = os.urandom(16).hex()
    if meta_at:
        place, said, others = meta_at, f'"{RUN}":"{run}"', meta
    elif "_meta" not in params:
        place, said, others = at, f'"_meta":{{"{RUN}":"{run}"}}', params
    else:
        return  # It has something there that is no object, which is for the daemon to refuse.
    message.line = f"{text[: place + 1]}{said}{',' if others else ''}{text[place + 1 :]}".encode()
    message.run, message.own_run = run, True


def _object_of(text: str, members: _Members, name: str) -> tuple[_Members, int]:
    """The members of a member, and where it starts; nothing and 0 where it is no object."""
    _, at = members.get(name, (None, 0))
    if not at or text[at] != "{":
        return {}, 0
    return _members(text, at, decode=_decode_anything)[0], at


def _members(text: str, at: int, *, decode: Callable[[str, int], tuple[object, int]]) -> tuple[_Members, int]:
    """The members of the object that starts here, each with where its value starts, and where the object ends."""
    found: _Members = {}
    at = _after(text, at, "{")
    if text[at] == "}":
        return found, at + 1
    while True:
        name, end = decode(text, at)
        if not isinstance(name, str):
            raise ValueError("a member has no name")  # noqa: TRY004 - as all that is no JSON
        at = _after(text, end, ":")
        value, end = decode(text, at)
        found[name] = (value, at)
        at = _spaced(text, end)
        if text[at] == "}":
            return found, at + 1
        at = _after(text, at, ",")


def _after(text: str, at: int, mark: str) -> int:
    at = _spaced(text, at)
    if text[at] != mark:
        raise ValueError(f"expected {mark}")
    return _spaced(text, at + 1)


def _spaced(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _no_number(name: str) -> float:
    raise _NoNumber(name)


_decode = json.JSONDecoder(parse_constant=_no_number).raw_decode
# Python reads also NaN and Infinity, and so would we where we only look for something.
_decode_anything = json.JSONDecoder().raw_decode


def _text_of(members: _Members, name: str) -> str:
    value, _ = members.get(name, ("", 0))
    return value if isinstance(value, str) else ""


def _id_of(members: _Members, name: str) -> Id | None:
    value, _ = members.get(name, (None, 0))
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None
