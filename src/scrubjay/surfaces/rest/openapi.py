"""The OpenAPI description: built on the first request, in a thread."""

import asyncio
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import cast

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute, iter_route_contexts

from scrubjay.model.memory import Json
from scrubjay.rpc.codec import PROBLEM
from scrubjay.rpc.frames import encode_frame
from scrubjay.surfaces.rest.deps import write_context
from scrubjay.surfaces.rest.docs_page import HEADERS, render_docs
from scrubjay.surfaces.rest.route import Route
from scrubjay.surfaces.rest.schemas import component_schemas

routes = APIRouter(route_class=Route)
_READY = "/readyz"
_PUBLIC_PATHS = frozenset({"/healthz", _READY})
_METRICS = "/metrics"
# FastAPI adds these schemas, but the server does not use them.
_UNUSED_SCHEMAS = frozenset({"HTTPValidationError", "ValidationError"})
# Routes under these paths name a memory, a job or a conflict, which may not exist.
_NAMING_PATHS = ("/memories", "{id}", "/undo", "/graph", "/conflicts", "/notes", "/curations", "/code", "/skills")
_BODY_STATUSES = (400, 408, 413, 415)
_PROBLEMS = {
    400: "The body is not valid JSON",
    401: "A token is required, or the token is not valid",
    403: "The token does not allow this, or the request comes from a page of another site",
    404: "No such memory, job, conflict or run",
    408: "The body did not arrive in time",
    409: "The request conflicts with the state of the store, or several memories have the name",
    412: "The memory is not at the version of `If-Match`",
    413: "The body is too large",
    415: "The body is not declared as JSON",
    422: "The request is not valid",
    429: "The token exceeds its rate limit",
    431: "The URL and the headers are too long",
    500: "An unexpected error; see the server's log for details",
    503: "The server is busy or the store is not available: retry later",
    507: "The disk is full, or the store is read-only",
}
_TAGS = {
    "memories": "Write, read, revise, forget and restore memories.",
    "search": "Search memories.",
    "history": "Versions, diffs and undo.",
    "branches": "Branches of a memory.",
    "graph": "Traversals of relations.",
    "context": "The context for a new session.",
    "links": "Edges between memories.",
    "changes": "The changes of a space as they happen.",
    "rules": "The rules of a space for writes.",
    "tags": "Tags and their synonyms.",
    "extract": "Facts from conversations.",
    "inbox": "Memories that wait for approval.",
    "conflicts": "Conflicts between statements.",
    "curation": "Jobs that keep a space in order, and their reports.",
    "code": "Programs that compute over memories.",
    "skills": "Procedures that can be run.",
    "jobs": "Background jobs.",
    "notes": "Memories as Markdown notes.",
    "attachments": "Files that notes embed.",
    "space": "Status, export and import of a space.",
    "health": "Health, readiness and metrics of the server.",
}
_REQUEST_ID_HEADER: dict[str, Json] = {
    "X-Request-ID": {
        "description": "The id of the request in the server's log.",
        "required": True,
        "schema": {"type": "string"},
    }
}
_RETRY_HEADER: dict[str, Json] = {
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 0}}
}
_CHALLENGE_HEADER: dict[str, Json] = {
    "WWW-Authenticate": {
        "description": "The authentication scheme.",
        "required": True,
        "schema": {"type": "string"},
    }
}
_PROBLEM_HEADERS = {401: _CHALLENGE_HEADER, 429: _RETRY_HEADER, 503: _RETRY_HEADER}
_BEARER: Json = {"type": "http", "scheme": "bearer", "description": "From `scrubjay tokens create`, or a JWT."}


@routes.get("/openapi.json", include_in_schema=False)
async def description(request: Request) -> Response:
    """Return the OpenAPI description."""
    text = await cast("OpenApiDescription", request.app.state.description).text()
    return Response(text, media_type="application/json")


@routes.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """Return the description as a page for people, which needs no other site."""
    page = await cast("OpenApiDescription", request.app.state.description).page()
    return Response(page, media_type="text/html", headers=HEADERS)


class OpenApiDescription:
    """The description of an application, built once."""

    def __init__(self, app: FastAPI, *, requires_token: bool = False) -> None:
        self._app = app
        self._requires_token = requires_token
        self._task: asyncio.Task[bytes] | None = None
        self._page = ""

    async def text(self) -> bytes:
        """Return the document as JSON."""
        if self._task is None:
            self._task = asyncio.create_task(
                asyncio.to_thread(lambda: encode_frame(describe_app(self._app, requires_token=self._requires_token)))
            )
        # A caller that disconnects must not cancel it for the others.
        return await asyncio.shield(self._task)

    async def page(self) -> str:
        """Return the document as a page."""
        if not self._page:
            text = await self.text()
            self._page = await asyncio.to_thread(lambda: render_docs(json.loads(text)))
        return self._page


def describe_app(app: FastAPI, *, requires_token: bool = False) -> dict[str, Json]:
    """Return the description of an application as an OpenAPI 3.1 document."""
    document = cast("dict[str, Json]", app.openapi())
    paths = cast("dict[str, dict[str, dict[str, Json]]]", document["paths"])
    security: Json = [{"bearer": []}] if requires_token else [{}, {"bearer": []}]
    for route in operations(app):
        for method in route.methods or ():
            operation = paths[route.path_format][method.lower()]
            _add_request_example(operation)
            operation["responses"] = _responses(route, str(operation["operationId"]))
            operation["security"] = [] if route.path_format in _PUBLIC_PATHS else security
    components = cast("dict[str, dict[str, Json]]", document["components"])
    bodies = {name: schema for name, schema in components["schemas"].items() if name not in _UNUSED_SCHEMAS}
    components["schemas"] = dict(sorted({**bodies, **component_schemas()}.items()))
    components["responses"] = {_problem_name(status): _problem(status) for status in _PROBLEMS}
    components["securitySchemes"] = {"bearer": _BEARER}
    document["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items()]
    return document


def operations(app: FastAPI) -> Iterator[APIRoute]:
    """Yield the routes that the document describes, with their full paths."""
    for context in iter_route_contexts(app.routes):
        if isinstance(context.original_route, APIRoute) and context.include_in_schema:
            # The context has the attributes of its route, and the prefix of the router.
            yield cast("APIRoute", context)


@cache
def _examples() -> dict[str, dict[str, Json]]:
    """Return the recorded answers of a server, which `make docs` writes."""
    return json.loads(Path(__file__).with_name("examples.json").read_bytes())


def _add_request_example(operation: dict[str, Json]) -> None:
    """Add the example of a body that is not JSON; the fields of the others have examples of their own."""
    example = _examples()["requests"].get(str(operation["operationId"]))
    if example is not None:
        body = cast("dict[str, dict[str, dict[str, Json]]]", operation["requestBody"])
        for content in body["content"].values():
            content["example"] = example


def _responses(route: APIRoute, operation_id: str) -> dict[str, Json]:
    """Return the responses of a route with their examples, from which FastAPI would drop nulls."""
    declared = cast("dict[int, dict[str, dict[str, Json]]]", route.responses)
    recorded = cast("dict[str, dict[str, Json]]", _examples()["responses"].get(operation_id, {}))
    responses: dict[int, Json] = {}
    for status, response in declared.items():
        described: dict[str, Json] = {**response, "headers": {**response.get("headers", {}), **_REQUEST_ID_HEADER}}
        if content := cast("dict[str, dict[str, Json]]", response.get("content")):
            described["content"] = _with_examples(content, recorded.get(str(status), {}))
        responses[status] = described
    problems: dict[int, Json] = {
        status: {"$ref": f"#/components/responses/{_problem_name(status)}"} for status in _problem_statuses(route)
    }
    return {str(status): response for status, response in sorted({**responses, **problems}.items())}


def _with_examples(content: dict[str, dict[str, Json]], examples: dict[str, Json]) -> Json:
    """Return the types of a response; a verb that is not recorded yet has no example."""
    return {
        media_type: {**described, "example": examples[media_type]} if media_type in examples else described
        for media_type, described in content.items()
    }


def _problem_statuses(route: APIRoute) -> Iterator[int]:
    """Yield the status codes of the problems that a route may return."""
    yield from (403, 431, 500)
    if route.path_format == _READY:
        yield 503
    if route.path_format in _PUBLIC_PATHS:
        return
    yield from (401, 429)
    if route.path_format == _METRICS:
        return
    yield from (422, 503)
    if any(part in route.path_format for part in _NAMING_PATHS):
        yield from (404, 409)
    if "GET" not in (route.methods or ()):
        yield from _BODY_STATUSES
    if any(dependency.call is write_context for dependency in route.dependant.dependencies):
        yield from (409, 507)
    if any(parameter.alias == "If-Match" for parameter in route.dependant.header_params):
        yield 412


def _problem_name(status: int) -> str:
    return f"Problem{status}"


def _problem(status: int) -> Json:
    example = _examples()["problems"][str(status)]
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}}
    headers = _PROBLEM_HEADERS.get(status, {}) | _REQUEST_ID_HEADER
    return cast("Json", {"description": _PROBLEMS[status], "headers": headers, "content": content})
