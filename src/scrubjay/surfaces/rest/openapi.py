"""The OpenAPI description: made when it is first asked for, and not where everybody waits for it."""

import asyncio
from collections.abc import Iterator
from typing import cast

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute, iter_route_contexts

from scrubjay.model.memory import Json
from scrubjay.rpc.codec import PROBLEM
from scrubjay.rpc.frames import encode_frame
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import writing
from scrubjay.surfaces.rest.route import Route
from scrubjay.surfaces.rest.schemas import schemas

routes = APIRouter(route_class=Route)
_READY = "/readyz"
_OPEN = frozenset({"/healthz", _READY})
_METRICS = "/metrics"
# What FastAPI would answer, and we do not.
_UNTOLD = frozenset({"HTTPValidationError", "ValidationError"})
# What is asked for by these may not be there.
_NAMED = ("/memories", "{id}", "/undo", "/graph", "/conflicts", "/notes")
_BODY = (400, 408, 413, 415)
_SAID = {
    400: "The body is no JSON",
    401: "A token is needed, and this one opens nothing",
    403: "The token does not go so far, or the request comes from a page of another site",
    404: "No memory answers to this, or there is no such job or conflict",
    408: "The body did not arrive in time",
    409: "The store has moved on, or several memories answer",
    412: "Changed since the version that the caller goes by",
    413: "More than the limit",
    415: "The body is not called JSON",
    422: "The request itself is wrong",
    429: "More than the token may ask",
    431: "The address and the headers are too long together",
    500: "Something went wrong in the server; its log says what",
    503: "Too much at once, or the store cannot be used now: retry after a moment",
    507: "No room is left, or the store cannot be written",
}
_TAGS = {
    "memories": "Kept, read, changed, put into the trash and taken out of it.",
    "search": "Found again.",
    "history": "Versions, and ways back.",
    "branches": "Other lines of versions of a memory.",
    "graph": "What relations lead to.",
    "context": "What to know before beginning.",
    "links": "Edges between memories.",
    "changes": "What happens in a space, as it happens.",
    "rules": "What becomes of what is written.",
    "tags": "The words that memories are filed under.",
    "extract": "Facts out of conversations.",
    "inbox": "What waits for a yes.",
    "conflicts": "What does not go together.",
    "jobs": "What was left for later.",
    "notes": "Memories as Markdown notes.",
    "attachments": "Files that notes embed.",
    "space": "A space as a whole.",
    "wellbeing": "Whether the server is well.",
}
_NUMBERED: dict[str, Json] = {
    "X-Request-ID": {
        "description": "The number under which the server's log tells of it.",
        "required": True,
        "schema": {"type": "string"},
    }
}
_LATER: dict[str, Json] = {
    "Retry-After": {"description": "So many seconds.", "schema": {"type": "integer", "minimum": 0}}
}
_ASKING: dict[str, Json] = {
    "WWW-Authenticate": {"description": "What is asked for.", "required": True, "schema": {"type": "string"}}
}
_HEADERS = {401: _ASKING, 429: _LATER, 503: _LATER}
_BEARER: Json = {"type": "http", "scheme": "bearer", "description": "Made by `scrubjay tokens create`, or a JWT."}


@routes.get("/openapi.json", include_in_schema=False)
async def description(request: Request) -> Response:
    """What can be asked, for programs."""
    return Response(await cast("Description", request.app.state.description).text(), media_type="application/json")


class Description:
    """The description of an application, made once."""

    def __init__(self, app: FastAPI, *, must: bool = False) -> None:
        self._app = app
        self._must = must
        self._made: asyncio.Task[bytes] | None = None

    async def text(self) -> bytes:
        """All of it, as JSON."""
        if self._made is None:
            self._made = asyncio.create_task(
                asyncio.to_thread(lambda: encode_frame(described(self._app, must=self._must)))
            )
        # Whoever hangs up must not take it away from those who wait for it too.
        return await asyncio.shield(self._made)


def described(app: FastAPI, *, must: bool = False) -> dict[str, Json]:
    """The description of an application as a document of OpenAPI 3.1. `must`: nobody comes in without a token."""
    made = cast("dict[str, Json]", app.openapi())
    paths = cast("dict[str, dict[str, dict[str, Json]]]", made["paths"])
    for route in operations(app):
        for method in route.methods or ():
            operation = paths[route.path_format][method.lower()]
            operation["responses"] = _responses(route)
            operation["security"] = [] if route.path_format in _OPEN else _security(must=must)
    components = cast("dict[str, dict[str, Json]]", made["components"])
    taken = {name: item for name, item in components["schemas"].items() if name not in _UNTOLD}
    components["schemas"] = dict(sorted({**taken, **schemas()}.items()))
    components["responses"] = {_name(status): _problem(status) for status in _SAID}
    components["securitySchemes"] = {"bearer": _BEARER}
    made["tags"] = [{"name": name, "description": what} for name, what in _TAGS.items()]
    return made


def _security(*, must: bool) -> Json:
    return [{"bearer": []}] if must else [{}, {"bearer": []}]


def operations(app: FastAPI) -> Iterator[APIRoute]:
    """The routes that are described, with their whole paths."""
    for context in iter_route_contexts(app.routes):
        if isinstance(context.original_route, APIRoute) and context.include_in_schema:
            # It stands in for the route, and knows where it was included.
            yield cast("APIRoute", context)


def _responses(route: APIRoute) -> dict[str, Json]:
    """What a route answers, examples as they were written: FastAPI would leave out what is null in them."""
    existing = cast("dict[int, dict[str, Json]]", route.responses)
    reported: dict[int, Json] = {
        status: {**item, "headers": {**cast("dict[str, Json]", item.get("headers", {})), **_NUMBERED}}
        for status, item in existing.items()
    }
    wrong: dict[int, Json] = {
        status: {"$ref": f"#/components/responses/{_name(status)}"} for status in _statuses(route)
    }
    return {str(status): answer for status, answer in sorted({**reported, **wrong}.items())}


def _statuses(route: APIRoute) -> Iterator[int]:
    """What may be wrong when something is asked of a route."""
    yield from (403, 431, 500)
    if route.path_format == _READY:
        yield 503
    if route.path_format in _OPEN:
        return
    yield from (401, 429)
    if route.path_format == _METRICS:
        return
    yield from (422, 503)
    if any(part in route.path_format for part in _NAMED):
        yield from (404, 409)
    if "GET" not in (route.methods or ()):
        yield from _BODY
    if any(dependency.call is writing for dependency in route.dependant.dependencies):
        yield from (409, 507)
    if any(param.alias == "If-Match" for param in route.dependant.header_params):
        yield 412


def _name(status: int) -> str:
    return f"Problem{status}"


def _problem(status: int) -> Json:
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}, "example": examples.PROBLEMS[status]}}
    headers = _HEADERS.get(status, {}) | _NUMBERED
    return cast("Json", {"description": _SAID[status], "headers": headers, "content": content})
