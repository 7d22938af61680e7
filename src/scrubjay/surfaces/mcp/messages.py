"""Parses one JSON-RPC message, or says what is wrong with it: in the message, or in the params of a request."""

import json
from collections.abc import Mapping

from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json

_EXPECTED: dict[type, str] = {str: "a text", dict: "an object", list: "a list"}
_TYPES: dict[type, str] = {bool: "true or false", int: "a number", float: "a number", type(None): "null", **_EXPECTED}


@dataclass(frozen=True, slots=True)
class RejectedMessage:
    """The error that answers an invalid message."""

    error: JSONRPCError


@dataclass(frozen=True, slots=True)
class ParamError:
    """A field of a request's params that is missing or of the wrong type."""

    field: str
    message: str


@dataclass(frozen=True, slots=True)
class _Field:
    path: str
    kind: type
    is_required: bool = True


_NAMED = (_Field("name", str), _Field("arguments", dict, is_required=False))
_ADDRESSED = (_Field("uri", str),)
_LISTED = (_Field("cursor", str, is_required=False),)
_ALWAYS = (_Field("_meta", dict, is_required=False),)
# An object comes before its members.
_FIELDS: Mapping[str, tuple[_Field, ...]] = {
    "initialize": (
        _Field("protocolVersion", str),
        _Field("capabilities", dict),
        _Field("clientInfo", dict),
        _Field("clientInfo.name", str),
        _Field("clientInfo.version", str),
    ),
    "tools/call": _NAMED,
    "prompts/get": _NAMED,
    "resources/read": _ADDRESSED,
    "resources/subscribe": _ADDRESSED,
    "resources/unsubscribe": _ADDRESSED,
    "tools/list": _LISTED,
    "prompts/list": _LISTED,
    "resources/list": _LISTED,
    "resources/templates/list": _LISTED,
    "subscriptions/listen": (_Field("notifications", dict),),
    "completion/complete": (
        _Field("ref", dict),
        _Field("ref.type", str),
        _Field("argument", dict),
        _Field("argument.name", str),
        _Field("argument.value", str),
    ),
}
# The newer revision has none of these: the server refuses them itself, with any params.
_HANDSHAKE_ONLY = frozenset({"initialize", "resources/subscribe", "resources/unsubscribe"})


def parse_message(raw: bytes) -> JSONRPCMessage | RejectedMessage:
    """Return the message, or the error that answers it."""
    try:
        message: Json = json.loads(raw.decode(), parse_constant=_refuse_constant)
    except _NotANumberError as error:
        return reject(PARSE_ERROR, f"not JSON: {error}", _id_despite_constants(raw))
    except (ValueError, RecursionError) as error:
        return reject(PARSE_ERROR, f"not JSON: {str(error)[:200] if isinstance(error, ValueError) else 'too deep'}")
    if isinstance(message, list):
        return reject(INVALID_REQUEST, "batches are not part of the protocol: send one message at a time")
    if not isinstance(message, dict):
        return reject(INVALID_REQUEST, f"a message must be an object, not {type(message).__name__}")
    fault = _find_fault(message)
    if fault is not None:
        return fault
    try:
        return jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        return reject(INVALID_REQUEST, "neither a request nor a response: a request has a method", _id_of(message))


def reject(code: int, message: str, request_id: RequestId | None = None, *, field: str = "") -> RejectedMessage:
    """Return the error that answers an invalid message; `field` names the invalid field."""
    error = ErrorData(code=code, message=message)
    if field:
        error.data = {"code": InvalidInput.code, "field": field}
    return RejectedMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=error))


def check_params(method: str, params: Mapping[str, Json]) -> ParamError | None:
    """Return the first missing or wrong field of a request's params."""
    is_gone = method in _HANDSHAKE_ONLY and _value_at(params, "_meta", PROTOCOL_VERSION_META_KEY) is not None
    for field in (*_ALWAYS, *(() if is_gone else _FIELDS.get(method, ()))):
        value = _value_at(params, *field.path.split("."))
        if value is None and not field.is_required:
            continue
        if not isinstance(value, field.kind):
            return ParamError(f"params.{field.path}", _explain(method, field, value))
    arguments = params.get("arguments")
    if method == "prompts/get" and isinstance(arguments, dict):
        # The arguments of a prompt are texts, all of them.
        for name, value in arguments.items():
            if not isinstance(value, str):
                path = f"arguments.{name[:80]}"
                return ParamError(f"params.{path}", _explain(method, _Field(path, str), value))
    return None


def _find_fault(message: dict[str, Json]) -> RejectedMessage | None:
    request_id = _id_of(message)
    if message.get("jsonrpc") != "2.0":
        return reject(INVALID_REQUEST, 'a message needs "jsonrpc": "2.0"', request_id)
    if "method" not in message:
        return None
    if not isinstance(message["method"], str):
        return reject(INVALID_REQUEST, "method must be a text", request_id)
    if "id" in message and request_id is None:
        return reject(INVALID_REQUEST, "the id of a request must be a text or a whole number")
    params = message.get("params", {})
    if not isinstance(params, dict):
        return reject(INVALID_PARAMS, "params must be an object", request_id, field="params")
    # A notification has no answer, so its params are not checked.
    wrong = check_params(message["method"], params) if "id" in message else None
    return reject(INVALID_PARAMS, wrong.message, request_id, field=wrong.field) if wrong else None


def _id_of(message: dict[str, Json]) -> RequestId | None:
    value = message.get("id")
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


class _NotANumberError(ValueError):
    """NaN or an infinity: Python accepts them, JSON does not have them."""


def _refuse_constant(name: str) -> float:
    raise _NotANumberError(f"JSON has no number {name}; leave it out or send null")


def _id_despite_constants(raw: bytes) -> RequestId | None:
    try:
        message: Json = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return _id_of(message) if isinstance(message, dict) else None


def _value_at(params: Mapping[str, Json], *path: str) -> Json:
    value: Json = dict(params)
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _explain(method: str, field: _Field, value: Json) -> str:
    expected = _EXPECTED[field.kind]
    if value is None:
        return f"{method} needs params.{field.path}: give it as {expected}"
    return f"params.{field.path} of {method} must be {expected}, not {_TYPES[type(value)]}"
