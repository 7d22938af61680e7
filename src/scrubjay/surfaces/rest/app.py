"""The application of `/api/v1`: its routes, its error responses and its description."""

import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from functools import cache
from inspect import Parameter, Signature, getdoc
from types import MappingProxyType
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Response
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.datastructures import State
from starlette.types import Receive, Scope, Send

from scrubjay.model.verbs import VERBS, Verb
from scrubjay.surfaces.rest import (
    attachments,
    branches,
    changes,
    code,
    conflicts,
    curation,
    graph,
    health,
    memories,
    notes,
    openapi,
    search,
    skills,
    space,
    versions,
)
from scrubjay.surfaces.rest.changes import StreamLimiter
from scrubjay.surfaces.rest.deps import ReadContext, RequestContext, RestDependencies, WriteContext
from scrubjay.surfaces.rest.direct import DirectRoute
from scrubjay.surfaces.rest.errors import add_error_handlers
from scrubjay.surfaces.rest.health import ReadinessProbe
from scrubjay.surfaces.rest.openapi import OpenApiDescription
from scrubjay.surfaces.rest.requests import Fields, Label, body_of, query_of
from scrubjay.surfaces.rest.route import json_response, router
from scrubjay.version import VERSION

PREFIX = "/api/v1"
# The routes that agents call all the time.
_DIRECT = (("GET", "/search"), ("POST", "/search"), ("POST", "/memories"))
# The order of the description.
_ROUTERS = (
    attachments.routes,
    memories.routes,
    search.routes,
    versions.routes,
    branches.routes,
    search.context_routes,
    search.extract_routes,
    graph.link_routes,
    graph.routes,
    changes.routes,
    space.rule_routes,
    space.tag_routes,
    space.inbox_routes,
    conflicts.routes,
    curation.routes,
    code.routes,
    skills.routes,
    space.job_routes,
    notes.routes,
    space.routes,
)
_ABOUT = """One memory that all of a person's agents share.

Send a bearer token on every route if the server requires one; `space` selects one of the spaces that the token allows.
Errors are `application/problem+json`, with a `code` for programs and a `hint` for people.
`ETag` and `If-Match` carry the version of a memory; `Idempotency-Key` makes a retry safe."""


class RestApp(FastAPI):
    """The application, with a short way for some of its routes."""

    direct: Mapping[tuple[str, str], DirectRoute] = MappingProxyType({})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, by its short way if it has one."""
        if scope["type"] == "http" and (route := self.direct.get((scope["method"], scope["path"]))):
            again = await route.serve(self, scope, receive, send)
            if again is None:
                return
            receive = again
        await super().__call__(scope, receive, send)


def make_rest_app(dependencies: RestDependencies) -> RestApp:
    """Return the application, to be served behind `AuthMiddleware`, which authenticates the caller."""
    app = copy(_cached_app())
    app.state = State(
        {
            "dependencies": dependencies,
            "streams": StreamLimiter(max_streams=dependencies.max_streams),
            "readiness": ReadinessProbe(),
        }
    )
    app.state.description = OpenApiDescription(app, requires_token=dependencies.authenticator.requires_token)
    return app


@cache
def _cached_app() -> RestApp:
    """Build the routes once: FastAPI resolves them when they are first iterated, which takes noticeable time."""
    app = make_bare_app()
    deque(iter_route_contexts(app.routes), maxlen=0)
    app.direct = {
        (method, f"{PREFIX}{route.path}"): DirectRoute(route)
        for routes in _ROUTERS
        for route in routes.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
        if (method, route.path) in _DIRECT
    }
    return app


def make_bare_app() -> RestApp:
    """Return the application without dependencies, which is enough to describe it."""
    app = RestApp(
        title="Scrubjay",
        version=VERSION,
        summary="Long-term memory for agents",
        description=_ABOUT,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        # `openapi` serves the description; FastAPI's pages would load scripts from other sites.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        generate_unique_id_function=_operation_id,
    )
    app.state.description = OpenApiDescription(app)
    for routes in (*_ROUTERS, _plain_routes()):
        app.include_router(routes, prefix=PREFIX)
    for routes in (health.routes, openapi.routes):
        app.include_router(routes)
        app.include_router(routes, prefix=PREFIX, include_in_schema=False)
    add_error_handlers(app)
    return app


def _plain_routes() -> APIRouter:
    """Return routes for the verbs of the registry that need no code of their own."""
    written = {
        # A parameter may have a converter: `{name:path}`.
        f"{method} {re.sub(':[a-z]+}', '}', route.path)}"
        for routes in _ROUTERS
        for route in routes.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    plain = router("other")
    for verb in VERBS.values():
        if verb.route and verb.route not in written:
            method, _, path = verb.route.partition(" ")
            about, summary = getdoc(verb.request), verb.name.replace("_", " ").capitalize()
            plain.add_api_route(
                path, _plain_endpoint(verb), methods=[method], name=verb.name, summary=summary, description=about
            )
    return plain


def _plain_endpoint(verb: Verb) -> Callable[..., Awaitable[Response]]:
    """Return a function that reads a request from the path, and from the body or the query, and carries it out."""
    method, _, path = verb.route.partition(" ")
    names = re.findall(r"{(\w+)}", path)

    async def endpoint(context: RequestContext, fields: Fields, **places: str) -> Response:
        return json_response(await context.call(verb.request.of(**places, **fields)))

    has_body = method in ("POST", "PATCH", "PUT")
    source = body_of(verb.request, without=names) if has_body else Depends(query_of(verb.request, without=names))
    kinds: dict[str, object] = {"context": ReadContext if verb.reads else WriteContext}
    kinds |= {"fields": Annotated[Fields, source], **dict.fromkeys(names, Label)}
    # The signature tells FastAPI what to read.
    endpoint.__signature__ = Signature(
        [Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind) for name, kind in kinds.items()]
    )
    return endpoint


def _operation_id(route: APIRoute) -> str:
    """Return the verb, which generated clients use as a method name."""
    return route.name.rstrip("_")
