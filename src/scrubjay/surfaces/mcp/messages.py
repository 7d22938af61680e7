"""One JSON-RPC message from its bytes, or the error that says what is wrong with them."""

import json
from dataclasses import dataclass

from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.params import wrong_in


@dataclass(frozen=True, slots=True)
class Rejected:
    """What is answered to bytes that are no message."""

    error: JSONRPCError


def rejected(code: int, message: str, request_id: RequestId | None = None, *, field: str = "") -> Rejected:
    """The answer to something that cannot be served; `field` is what is wrong in it."""
    error = ErrorData(code=code, message=message)
    if field:
        error.data = {"code": InvalidInput.code, "field": field}
    return Rejected(JSONRPCError(jsonrpc="2.0", id=request_id, error=error))


def message_from(raw: bytes) -> JSONRPCMessage | Rejected:
    """The message that some bytes are."""
    try:
        found: Json = json.loads(raw.decode(), parse_constant=_no_constant)
    except _NotANumberError as error:
        return rejected(PARSE_ERROR, f"not JSON: {error}", _id_beside_constants(raw))
    except (ValueError, RecursionError) as error:
        return rejected(PARSE_ERROR, f"not JSON: {str(error)[:200] if isinstance(error, ValueError) else 'too deep'}")
    if isinstance(found, list):
        return rejected(INVALID_REQUEST, "batches are not part of the protocol: send one message at a time")
    if not isinstance(found, dict):
        return rejected(INVALID_REQUEST, f"a message must be an object, not {type(found).__name__}")
    fault = _fault(found)
    if fault is not None:
        return fault
    try:
        return jsonrpc_message_adapter.validate_python(found, by_name=False)
    except ValidationError:
        return rejected(INVALID_REQUEST, "neither a request nor an answer: a request has a method", _id(found))


def _fault(found: dict[str, Json]) -> Rejected | None:
    request_id = _id(found)
    if found.get("jsonrpc") != "2.0":
        return rejected(INVALID_REQUEST, 'a message needs "jsonrpc": "2.0"', request_id)
    if "method" not in found:
        return None
    if not isinstance(found["method"], str):
        return rejected(INVALID_REQUEST, "method must be a text", request_id)
    if "id" in found and request_id is None:
        return rejected(INVALID_REQUEST, "the id of a request must be a text or a whole number")
    params = found.get("params", {})
    if not isinstance(params, dict):
        return rejected(INVALID_PARAMS, "params must be an object", request_id, field="params")
    # What is wrong with a notification is nobody's to answer.
    wrong = wrong_in(found["method"], params) if "id" in found else None
    return rejected(INVALID_PARAMS, wrong.message, request_id, field=wrong.field) if wrong else None


def _id(found: dict[str, Json]) -> RequestId | None:
    given = found.get("id")
    return given if isinstance(given, str | int) and not isinstance(given, bool) else None


class _NotANumberError(ValueError):
    """NaN or an infinity: Python would take it, JSON has no such thing."""


def _no_constant(name: str) -> float:
    raise _NotANumberError(f"{name} is no number of JSON; leave it out or send null")


def _id_beside_constants(raw: bytes) -> RequestId | None:
    try:
        found: Json = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return _id(found) if isinstance(found, dict) else None
