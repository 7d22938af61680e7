"""A short way for the requests that come most often: it looks at what a request has, not at all that it may have.

It is made from the declaration of the route. A request with anything wrong goes to FastAPI, which words the error.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import cast, get_origin

from fastapi import Request, Response
from fastapi._compat import ModelField
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from scrubjay.errors import ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.surfaces.http.body import replay_body
from scrubjay.surfaces.http.problems import error_response
from scrubjay.surfaces.rest.strict_json import NotJsonError, parse_json

_CLIENT_CLOSED_REQUEST = 499
_JSON = "application/json"

_Values = dict[str, object]


class DirectRoute:
    """Serves the valid requests of a route as FastAPI would."""

    def __init__(self, route: APIRoute) -> None:
        self._route = route
        top = route.dependant
        self._parts = [_Part(part) for part in top.dependencies]
        self._endpoint = _Part(top)
        self._body = next(iter(top.body_params), None)

    async def serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> Receive | None:
        """Answer a request and return None; or return a `receive` with which FastAPI can answer it."""
        scope["app"], scope["route"] = app, self._route
        request = Request(scope, receive)
        values: _Values = {}
        try:
            if self._body is not None:
                body = await request.body()
                receive = replay_body(body, receive)
                values[self._body.name] = _read_body(self._body, request, body)
            elif "content-encoding" in request.headers:
                return receive
            values |= await self._read(request)
        except ClientDisconnect:
            await Response(status_code=_CLIENT_CLOSED_REQUEST)(scope, receive, send)
            return None
        except (_UnusualError, NotJsonError, ScrubjayError):
            return receive
        try:
            response = await self._endpoint.call(values)
        except ScrubjayError as error:
            response = error_response(error)
        except ClientDisconnect:
            response = Response(status_code=_CLIENT_CLOSED_REQUEST)
        await response(scope, receive, send)
        return None

    async def _read(self, request: Request) -> _Values:
        """Return the arguments of the endpoint."""
        values = {part.name: await part.call(part.read(request)) for part in self._parts}
        return values | self._endpoint.read(request)


class _Part:
    """A function of a route, the endpoint or what it depends on, with its parameters."""

    def __init__(self, dependant: Dependant) -> None:
        call = dependant.call
        assert call is not None
        self.name = dependant.name or ""
        self.call: Callable[[_Values], Awaitable[Response]] = lambda values: call(**values)
        self._connection = dependant.http_connection_param_name or dependant.request_param_name
        self._query = {field.alias: field for field in dependant.query_params}
        self._headers = {field.alias.lower(): field for field in dependant.header_params}
        parameters = (*dependant.query_params, *dependant.header_params)
        self._required = frozenset(field.name for field in parameters if field.field_info.is_required())
        self._defaults = {field.name: field.get_default() for field in parameters if field.name not in self._required}

    def read(self, request: Request) -> _Values:
        """Return its arguments; raise if one is missing or wrong."""
        values = dict(self._defaults)
        if self._connection:
            values[self._connection] = request
        query, headers = request.query_params, request.headers
        # The endpoint itself has none.
        for alias in query if self._query else ():
            if field := self._query.get(alias):
                sent = query.getlist(alias) if get_origin(field.field_info.annotation) is list else query[alias]
                values[field.name] = _validated(field, sent)
        for alias, field in self._headers.items():
            if alias in headers:
                values[field.name] = _validated(field, headers[alias])
        if self._required and not self._required <= values.keys():
            raise _UnusualError
        return values


class _UnusualError(Exception):
    """A request that FastAPI answers."""


def _read_body(field: ModelField, request: Request, body: bytes) -> object:
    headers: Mapping[str, str] = request.headers
    if headers.get("content-type") != _JSON or "content-encoding" in headers:
        raise _UnusualError
    parsed: Json = parse_json(body)
    if not isinstance(parsed, dict):
        raise _UnusualError
    return _validated(field, parsed)


def _validated(field: ModelField, value: object) -> object:
    checked, errors = field.validate(value)
    if errors:
        raise _UnusualError
    return cast("object", checked)
