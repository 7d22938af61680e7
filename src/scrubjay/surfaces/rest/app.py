"""The application of `/api/v1`: its routes, what they answer when something is wrong, and its description."""

from collections import deque
from copy import copy
from functools import cache

from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.datastructures import State

from scrubjay.surfaces.rest import (
    attachments,
    branches,
    changes,
    conflicts,
    context,
    exports,
    extract,
    graph,
    health,
    inbox,
    jobs,
    links,
    memories,
    notes,
    openapi,
    rules,
    search,
    space,
    tags,
    versions,
)
from scrubjay.surfaces.rest.deps import RestDependencies
from scrubjay.surfaces.rest.errors import tell_faults
from scrubjay.surfaces.rest.feed import Streams
from scrubjay.surfaces.rest.openapi import Description
from scrubjay.version import VERSION

PREFIX = "/api/v1"
_NOUNS = (
    attachments,
    memories,
    search,
    versions,
    branches,
    context,
    extract,
    links,
    graph,
    changes,
    rules,
    tags,
    inbox,
    conflicts,
    jobs,
    notes,
    exports,
    space,
)
_ABOUT = """One memory that all of a person's agents share.

Every route takes a bearer token where the server asks for one; `space` chooses among those that the token opens.
What is wrong is told as `application/problem+json`, with a `code` for programs and a `hint` for people.
`ETag` and `If-Match` carry the version of a memory; `Idempotency-Key` makes a retry safe."""


def make_rest(dependencies: RestDependencies) -> FastAPI:
    """The application. It stands behind the door, which tells it who asks."""
    app = copy(_laid_out())
    app.state = State({"dependencies": dependencies, "streams": Streams(most=dependencies.streams)})
    app.state.description = Description(app, must=dependencies.authenticator.requires_token)
    return app


@cache
def _laid_out() -> FastAPI:
    """Routes are laid out when they are first looked through: long enough to be noticed by whoever waits, so once."""
    app = rest_app()
    deque(iter_route_contexts(app.routes), maxlen=0)
    return app


def rest_app() -> FastAPI:
    """The application without what its routes work with: enough to describe it."""
    app = FastAPI(
        title="Scrubjay",
        version=VERSION,
        summary="Long-term memory for agents",
        description=_ABOUT,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        # A description of our own; the pages that show one load their scripts from elsewhere.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        generate_unique_id_function=_operation_id,
    )
    app.state.description = Description(app)
    for noun in _NOUNS:
        app.include_router(noun.routes, prefix=PREFIX)
    for watched in (health, openapi):
        app.include_router(watched.routes)
        app.include_router(watched.routes, prefix=PREFIX, include_in_schema=False)
    tell_faults(app)
    return app


def _operation_id(route: APIRoute) -> str:
    """The verb, which clients that are made from the description call their methods by."""
    return route.name.rstrip("_")
