"""Error responses of the routes, by HTTP and before a WebSocket opens."""

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
from scrubjay.surfaces.rest.route import Route
from scrubjay.telemetry import request_id

_GONE = 499
_NOT_FOUND = 404
_NOT_ALLOWED = 405
_MOST_TOLD = 20
_LONGEST_NAME = 60
_CODES = {
    _NOT_FOUND: ("no_such_path", "is not a path that is served here"),
    _NOT_ALLOWED: ("method_not_allowed", "does not take this method"),
}
# What pydantic calls them, in words that go behind the name of a field.
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
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
_NOT_LEFT_OUT = "none_required"
_TOO_MUCH = frozenset({"string_too_long", "too_long"})


def tell_faults(app: FastAPI) -> None:
    """Have an application tell of what is wrong."""
    app.add_exception_handler(ScrubjayError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(WebSocketRequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _wrong)
    app.add_exception_handler(ClientDisconnect, _left)
    app.add_exception_handler(Exception, _failed)
    app.router.default = _nowhere


async def _refused(connection: Request | WebSocket, error: Exception) -> Response:
    if is_websocket_open(connection.scope):
        # Too late to refuse it: the door closes it.
        raise error
    return error_response(cast("ScrubjayError", error))


async def _invalid(_: Request | WebSocket, error: Exception) -> Response:
    """What does not fit the description: the first thing in words, and all of them as a list."""
    existing = cast("RequestValidationError | WebSocketRequestValidationError", error)
    results = _named(cast("Sequence[Mapping[str, object]]", existing.errors()))
    wrong = [f"{_place(item)} {_words(item)}" for item in results[:_MOST_TOLD]]
    is_too_much = results[0]["type"] in _TOO_MUCH and _where(results[0]) == "body"
    refused = (TooLarge if is_too_much else InvalidInput)(wrong[0], field=_place(results[0]))
    facts: dict[str, Json] = {"errors": [*wrong]}
    return problem_response(problem_from_error(refused, request_id=request_id.get()) | facts)


async def _wrong(request: Request | WebSocket, error: Exception) -> Response:
    existing = cast("HTTPException", error)
    code, about = _CODES.get(existing.status_code, ("bad_request", ""))
    detail = f"{request.scope['path'][:200]} {about}" if about else str(existing.detail)
    headers = dict(existing.headers or {})
    if existing.status_code == _NOT_ALLOWED:
        # Of all routes of the path, not of the first alone.
        headers = {"allow": ", ".join(sorted(_allowed(request)))}
    return problem_response(problem(existing.status_code, code, detail, request_id=request_id.get()), headers=headers)


async def _left(_: Request | WebSocket, __: Exception) -> Response:
    return Response(status_code=_GONE)


async def _failed(_: Request | WebSocket, error: Exception) -> Response:
    # It goes on to the door, which writes it down.
    return error_response(unexpected_error(error))


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer for a path that is not served, also to whoever wants a WebSocket there."""
    if scope["type"] == "websocket":
        code, about = _CODES[_NOT_FOUND]
        refused = problem(_NOT_FOUND, code, f"{scope['path'][:200]} {about}", request_id=request_id.get())
        await problem_response(refused)(scope, receive, send)
        return
    raise HTTPException(_NOT_FOUND)


def _allowed(request: Request | WebSocket) -> set[str]:
    """Every method that some route takes for a path."""
    path, results = request.scope["path"], set[str]()
    for context in iter_route_contexts(request.app.routes):
        route = context.original_route
        if isinstance(route, Route) and compile_path(str(context.path))[0].match(path):
            results |= route.allowed
    return results


def _named(found: Sequence[Mapping[str, object]]) -> Sequence[Mapping[str, object]]:
    """What is wrong, by the names that the caller knows: a field that may be left out fails once for each of its types.

    That it is not left out is one of these failures and no fault; the others have the type behind the name.
    """
    left = {_loc(item)[:-1] for item in found if item["type"] == _NOT_LEFT_OUT}
    named: list[Mapping[str, object]] = []
    for entry in found:
        if entry["type"] == _NOT_LEFT_OUT:
            continue
        at = next((len(field) for field in left if _loc(entry)[: len(field)] == field), None)
        named.append(entry if at is None else {**entry, "loc": (*_loc(entry)[:at], *_loc(entry)[at + 1 :])})
    return named or found


def _loc(one: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(cast("Sequence[object]", one["loc"]))


def _words(one: Mapping[str, object]) -> str:
    """What is wrong with a field; the words of the request are not repeated."""
    words = _WORDS.get(str(one["type"]))
    if words is None:
        return f"is not as it should be: {one['msg']}"
    return words.format(**cast("Mapping[str, object]", one.get("ctx", {})))


def _where(one: Mapping[str, object]) -> str:
    return str(_loc(one)[0])


def _place(one: Mapping[str, object]) -> str:
    """The name of a field, as the caller writes it."""
    parts = _loc(one)
    return ".".join(str(part)[:_LONGEST_NAME] for part in parts[1:]) or f"the {parts[0]}"
