"""The error handlers of the application: problems by HTTP, and before a WebSocket opens."""

from collections.abc import Mapping, Sequence
from typing import cast

from fastapi import FastAPI, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from scrubjay.errors import InvalidInput, ScrubjayError, TooLarge
from scrubjay.model.memory import Json
from scrubjay.rpc.codec import problem, problem_from_error
from scrubjay.surfaces.http.auth_middleware import is_websocket_open
from scrubjay.surfaces.http.problems import error_response, problem_response, unexpected_error
from scrubjay.surfaces.rest.requests import MAX_ERRORS
from scrubjay.surfaces.rest.route import Route
from scrubjay.telemetry import request_id

_CLIENT_CLOSED_REQUEST = 499
_NOT_FOUND = 404
_METHOD_NOT_ALLOWED = 405
_MAX_NAME_LENGTH = 60
_HTTP_ERRORS = {
    _NOT_FOUND: ("no_such_path", "is not a path of this server: /openapi.json lists them"),
    _METHOD_NOT_ALLOWED: ("method_not_allowed", "does not accept this method"),
}
# The types of pydantic's errors, as text that follows the name of a field.
_MESSAGES = {
    "missing": "is missing",
    "string_type": "must be a text",
    "string_too_long": "is longer than {max_length:,} characters",
    "string_too_short": "must not be empty",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is too large a number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be a list",
    "too_long": "has more than {max_length:,} entries",
    "too_short": "must not be empty",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "literal_error": "must be one of {expected}",
    "recursion_loop": "is nested too deeply",
}
_TOO_LONG = frozenset({"string_too_long", "too_long"})
_ValidationError = Mapping[str, object]


def add_error_handlers(app: FastAPI) -> None:
    """Let an application answer every error with a problem."""
    app.add_exception_handler(ScrubjayError, _handle_scrubjay_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(WebSocketRequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_exception)
    app.add_exception_handler(ClientDisconnect, _handle_disconnect)
    app.add_exception_handler(Exception, _handle_unexpected_error)
    app.router.default = _handle_unknown_path


async def _handle_scrubjay_error(connection: Request | WebSocket, error: Exception) -> Response:
    if is_websocket_open(connection.scope):
        # Too late for a response: the middleware closes the WebSocket.
        raise error
    return error_response(cast("ScrubjayError", error))


async def _handle_validation_error(_: Request | WebSocket, error: Exception) -> Response:
    """Answer an invalid request with its first error as the detail, and all errors as a list."""
    validation = cast("RequestValidationError | WebSocketRequestValidationError", error)
    errors = cast("Sequence[_ValidationError]", validation.errors())
    messages = [f"{_field_name(item)} {_message(item)}" for item in errors[:MAX_ERRORS]]
    is_too_large = errors[0]["type"] in _TOO_LONG and _location(errors[0])[0] == "body"
    refusal = (TooLarge if is_too_large else InvalidInput)(messages[0], field=_field_name(errors[0]))
    members: dict[str, Json] = {"errors": [*messages]}
    return problem_response(problem_from_error(refusal, request_id=request_id.get()) | members)


async def _handle_http_exception(request: Request | WebSocket, error: Exception) -> Response:
    exception = cast("HTTPException", error)
    code, message = _HTTP_ERRORS.get(exception.status_code, ("bad_request", ""))
    detail = f"{request.scope['path'][:200]} {message}" if message else str(exception.detail)
    headers = dict(exception.headers or {})
    if exception.status_code == _METHOD_NOT_ALLOWED:
        # Starlette names the methods of the first route only.
        headers = {"allow": ", ".join(sorted(_allowed_methods(request)))}
    return problem_response(problem(exception.status_code, code, detail, request_id=request_id.get()), headers=headers)


async def _handle_disconnect(_: Request | WebSocket, __: Exception) -> Response:
    return Response(status_code=_CLIENT_CLOSED_REQUEST)


async def _handle_unexpected_error(_: Request | WebSocket, error: Exception) -> Response:
    # Starlette raises the error again, and the middleware logs it.
    return error_response(unexpected_error(error))


async def _handle_unknown_path(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request or a WebSocket for a path without a route."""
    if scope["type"] == "websocket":
        code, message = _HTTP_ERRORS[_NOT_FOUND]
        body = problem(_NOT_FOUND, code, f"{scope['path'][:200]} {message}", request_id=request_id.get())
        await problem_response(body)(scope, receive, send)
        return
    raise HTTPException(_NOT_FOUND)


def _allowed_methods(request: Request | WebSocket) -> set[str]:
    """Return the methods of all routes that match a path."""
    path, methods = request.scope["path"], set[str]()
    for context in iter_route_contexts(request.app.routes):
        route = context.original_route
        if isinstance(route, Route) and compile_path(str(context.path))[0].match(path):
            methods |= route.allowed_methods
    return methods


def _location(error: _ValidationError) -> tuple[object, ...]:
    return tuple(cast("Sequence[object]", error["loc"]))


def _message(error: _ValidationError) -> str:
    """Return what is wrong with a field, without quoting the request."""
    message = _MESSAGES.get(str(error["type"]))
    if message is None:
        return f"is not valid: {error['msg']}"
    return message.format(**cast("Mapping[str, object]", error.get("ctx", {})))


def _field_name(error: _ValidationError) -> str:
    """Return the name of a field as the caller writes it."""
    parts = _location(error)
    return ".".join(str(part)[:_MAX_NAME_LENGTH] for part in parts[1:]) or f"the {parts[0]}"
