"""The dependencies of the routes: the shared services, and the caller and the spaces of each request."""

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import field, replace
from typing import Annotated, Protocol, TypeVar, cast, get_origin

from fastapi import Depends, Header, Query
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query as QueryParameter
from fastapi.requests import HTTPConnection
from fastapi.routing import APIRoute

from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.lazy import dataclass
from scrubjay.model.arguments import Request
from scrubjay.model.caller import Access, Caller, Grant
from scrubjay.model.verbs import VERBS, names_by_alias, verb_of
from scrubjay.notes.service import Notes
from scrubjay.service import LocalService
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.http.auth_middleware import grant_of
from scrubjay.surfaces.rest.requests import Label, SpaceName

T = TypeVar("T")
_DEFAULT_AGENT = "rest"


class Gate(Protocol):
    """Limits how many operations run at once, and for how long."""

    async def run(
        self,
        verb: str,
        work: Coroutine[object, object, T],
        *,
        caller: str = "",
        reads: bool = False,
        long: bool = False,
    ) -> T:
        """Run an operation, or raise Busy."""
        ...

    def require_open(self) -> None:
        """Raise Busy if the server is shutting down."""
        ...

    def hold(self, verb: str, *, caller: str = "") -> AbstractAsyncContextManager[None]:
        """Count an operation for the duration of a block; raise Busy."""
        ...


class GrantChecker(Protocol):
    """Checks the grants of tokens."""

    @property
    def requires_token(self) -> bool:
        """Whether every request needs a token."""
        ...

    async def is_valid(self, grant: Grant) -> bool:
        """Return whether a grant is still valid."""
        ...


class MetricsSource(Protocol):
    """The metrics of the server."""

    async def scrape(self, accept: str) -> tuple[str, bytes]:
        """Return the content type and the text of the current metrics."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RestDependencies:
    """The services and limits that all routes share."""

    engine: Engine
    gate: Gate
    changes: ChangeBroadcaster
    authenticator: GrantChecker
    metrics: MetricsSource
    notes: Notes | None = None
    space: str = "default"
    # A stream sends a heartbeat at this interval, and checks whether the caller's token is still valid.
    heartbeat_seconds: float = 15.0
    # A stream closes if its client reads nothing for this long.
    send_seconds: float = 10.0
    # One caller may open this many streams at once.
    max_streams: int = 64
    # The event loop holds tasks only weakly.
    tasks: set[asyncio.Task[object]] = field(default_factory=set[asyncio.Task[object]])

    def run_in_background(self, verb: str, work: Coroutine[object, object, object]) -> None:
        """Start an operation that no caller waits for, and ignore its errors."""

        async def run() -> None:
            # The engine repeats the work when it opens the next time.
            with suppress(ScrubjayError):
                await self.gate.run(verb, work, long=True)

        task = asyncio.create_task(run())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """One request: its caller and its space."""

    dependencies: RestDependencies
    grant: Grant
    who: Caller

    @property
    def service(self) -> LocalService:
        """The front door of the memory."""
        return LocalService.over(self.dependencies.engine, self.dependencies.notes)

    async def call(self, request: Request[T]) -> T:
        """Carry out a request."""
        verb = verb_of(request)
        run = self.read if verb.reads or verb.stops else self.write
        return await run(verb.name, self.service.call(request, who=self.who), long=verb.long)

    async def read(self, verb: str, work: Coroutine[object, object, T], *, long: bool = False) -> T:
        """Run an operation that ends with its caller, as those that only read do."""
        return await self.dependencies.gate.run(verb, work, caller=self.grant.id, reads=True, long=long)

    async def write(self, verb: str, work: Coroutine[object, object, T], *, long: bool = False) -> T:
        """Run an operation that writes, and notify the streams of changes."""
        try:
            return await self.dependencies.gate.run(verb, work, caller=self.grant.id, long=long)
        finally:
            self.dependencies.changes.nudge()


Spaces = Annotated[
    list[SpaceName],
    Query(
        alias="space",
        max_length=100,
        description="The space to use; reads accept several. Default: the spaces that the token allows.",
    ),
]
Space = Annotated[
    SpaceName, Query(alias="space", description="The space to use. Default: the first that the token allows.")
]
Agent = Annotated[
    Label,
    Header(
        alias="X-Scrubjay-Agent",
        description="The name of the agent, recorded with every change; `undo` reverts the changes of this agent.",
    ),
]
Run = Annotated[
    Label, Header(alias="X-Scrubjay-Run", description="Names a series of calls that `undo` reverts together.")
]


async def read_context(request: HTTPConnection, space: Spaces = [], agent: Agent = "") -> RequestContext:  # noqa: B006 - FastAPI copies it
    """Return the context of a request that reads the given spaces, or all that the token allows."""
    grant = _require_access(request, Access.READ)
    return _context(request, grant, spaces=space, agent=agent)


async def write_context(request: HTTPConnection, space: Space = "", agent: Agent = "", run: Run = "") -> RequestContext:
    """Return the context of a request that writes to one space."""
    grant = _require_access(request, Access.AGENT)
    return _context(request, grant, spaces=[space] if space else [], agent=agent, run=run)


async def one_space_context(connection: HTTPConnection, space: Space = "") -> RequestContext:
    """Return the context of a request that reads one space."""
    grant = _require_access(connection, Access.READ)
    return _context(connection, grant, spaces=[space] if space else [], agent="")


async def program_context(
    connection: HTTPConnection, space: Space = "", agent: Agent = "", run: Run = ""
) -> RequestContext:  # fmt: skip
    """Return the context of a program, which needs the right to read, and writes what its caller may write."""
    grant = _require_access(connection, Access.READ)
    return _context(connection, grant, spaces=[space] if space else [], agent=agent, run=run)


ReadContext = Annotated[RequestContext, Depends(read_context)]
WriteContext = Annotated[RequestContext, Depends(write_context)]
OneSpaceContext = Annotated[RequestContext, Depends(one_space_context)]
ProgramContext = Annotated[RequestContext, Depends(program_context)]


def dependencies_of(request: HTTPConnection) -> RestDependencies:
    """Return the dependencies of the application that serves a request."""
    return cast("RestDependencies", request.app.state.dependencies)


def _require_access(request: HTTPConnection, least: Access) -> Grant:
    """Return the grant of a caller that may call the verb of the route, before its body is read."""
    grant, verb = grant_of(request.scope), VERBS.get(str(request.scope["route"].name).rstrip("_"))
    grant.access.require(least, verb="this")
    if verb is not None:
        grant.access.require(verb.needs, verb=verb.name)
    return grant


def _context(request: HTTPConnection, grant: Grant, *, spaces: list[str], agent: str, run: str = "") -> RequestContext:
    _check_query_names(request)
    dependencies = dependencies_of(request)
    # An empty name counts as omitted.
    first, *also = [space for space in spaces if space] or [""]
    name = _decode_header(agent) or (grant.name if grant.id else _DEFAULT_AGENT)
    who = grant.caller(space=first, agent=name, run=_decode_header(run), default=dependencies.space)
    if also:
        others = tuple(grant.require(_require_name(space)) for space in also)
        who = replace(who, space=grant.require(_require_name(first)), also=others)
    return RequestContext(dependencies=dependencies, grant=grant, who=who)


def _require_name(space: str) -> str:
    if not space.strip():
        raise InvalidInput("a space needs a name", hint="Omit `space` to use the token's own", field="space")
    return space


def _decode_header(header: str) -> str:
    """Decode a header as UTF-8: most clients send that, although HTTP reads it as Latin-1."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _check_query_names(request: HTTPConnection) -> None:
    """Raise InvalidInput for query parameters that the route does not have, or that are repeated."""
    if not request.scope["query_string"]:
        return
    allowed = _query_parameters(cast("APIRoute", request.scope["route"]))
    names = [name for name, _ in request.query_params.multi_items()]
    for name in dict.fromkeys(names):
        if name not in allowed:
            own = names_by_alias().get(name, "")
            listed = f"It has {', '.join(allowed)}" if allowed else ""
            raise InvalidInput(
                f"this route has no parameter {name[:100]!r}",
                hint=f"Did you mean `{own}`?" if own in allowed else listed,
                field=name[:100],
            )
        if not allowed[name] and (count := names.count(name)) > 1:
            raise InvalidInput(f"{name} is given {count:,} times", hint="Send it once", field=name)


def _query_parameters(route: APIRoute) -> dict[str, bool]:
    """Return the query parameters of a route, and whether each may be repeated."""
    names = route.__dict__.get("query_names")
    if names is None:
        parameters = [
            parameter
            for parameter in get_flat_params(route.dependant)
            if isinstance(parameter.field_info, QueryParameter)
        ]
        names = {parameter.alias: get_origin(parameter.field_info.annotation) is list for parameter in parameters}
        route.__dict__["query_names"] = names
    return cast("dict[str, bool]", names)
