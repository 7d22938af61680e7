"""Who is asking, and what the routes work with."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Annotated, Protocol, TypeVar, cast, get_origin

from fastapi import Depends, Header, Query
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query as InQuery
from fastapi.requests import HTTPConnection
from fastapi.routing import APIRoute

from scrubjay.client import MemoryClient
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.model.draft import Caller
from scrubjay.model.grant import Grant
from scrubjay.notes.service import Notes
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.http.auth_middleware import grant_of
from scrubjay.surfaces.rest.fields import Label, SpaceName
from scrubjay.surfaces.rest.readiness import ReadinessProbe

T = TypeVar("T")
_AGENT = "rest"


class Gate(Protocol):
    """Lets so much work in at once, for so long."""

    async def run(self, verb: str, work: Coroutine[object, object, T], *, reads: bool = False, long: bool = False) -> T:
        """Do the work or raise Busy."""
        ...

    def require_open(self) -> None:
        """Raise Busy when nobody is let in any more."""
        ...

    def staying(self, verb: str) -> AbstractAsyncContextManager[None]:
        """Be counted for as long as a block lasts; raises Busy."""
        ...


class Doorman(Protocol):
    """Checks tokens."""

    @property
    def requires_token(self) -> bool:
        """Whether every request needs a token."""
        ...

    async def is_valid(self, grant: Grant) -> bool:
        """Return whether a grant is still valid."""
        ...


class Figures(Protocol):
    """What is counted."""

    async def scrape(self, accept: str) -> tuple[str, bytes]:
        """The figures of now: their content type, and the text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RestDependencies:
    """What all routes share."""

    engine: Engine
    gate: Gate
    changes: ChangeBroadcaster
    authenticator: Doorman
    figures: Figures
    notes: Notes | None = None
    space: str = "default"
    # So often a stream gives a sign of life, and looks whether its reader may still read.
    beat: float = 15.0
    # Whoever takes nothing of a stream for so long is not reading it.
    patience: float = 10.0
    # One caller reads so many streams at once, and leaves room for others.
    streams: int = 64
    conflict_checker: ReadinessProbe = field(default_factory=ReadinessProbe)
    # Kept here, because the event loop holds tasks only weakly.
    tasks: set[asyncio.Task[object]] = field(default_factory=set[asyncio.Task[object]])

    def later(self, verb: str, work: Coroutine[object, object, object]) -> None:
        """Have something done that nobody waits for."""
        task = asyncio.create_task(self._done(verb, work))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _done(self, verb: str, work: Coroutine[object, object, object]) -> None:
        # It is made up for at the next opening.
        with suppress(ScrubjayError):
            await self.gate.run(verb, work, long=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """One request: who comes, and to which space."""

    dependencies: RestDependencies
    grant: Grant
    who: Caller

    @property
    def memory(self) -> MemoryClient:
        """The verbs, as this caller."""
        return MemoryClient.over(self.dependencies.engine, self.who, notes=self.dependencies.notes)

    async def read(self, verb: str, work: Coroutine[object, object, T], *, long: bool = False) -> T:
        """Do what only reads."""
        return await self.dependencies.gate.run(verb, work, reads=True, long=long)

    async def write(self, verb: str, work: Coroutine[object, object, T], *, long: bool = False) -> T:
        """Do what changes something, and tell whoever listens."""
        try:
            return await self.dependencies.gate.run(verb, work, long=long)
        finally:
            self.dependencies.changes.nudge()


Spaces = Annotated[
    list[SpaceName],
    Query(
        alias="space",
        max_length=100,
        description="The space to work in; reading takes several. Default: those that the token opens.",
    ),
]
Space = Annotated[
    SpaceName, Query(alias="space", description="The space to work in. Default: the first that the token opens.")
]
Agent = Annotated[
    Label, Header(alias="X-Scrubjay-Agent", description="Who asks: noted with every change, and `undo` goes by it.")
]
Run = Annotated[
    Label, Header(alias="X-Scrubjay-Run", description="Names a series of calls that `undo` takes back together.")
]


async def reading(request: HTTPConnection, space: Spaces = [], agent: Agent = "") -> RequestContext:  # noqa: B006 - FastAPI copies it
    """A visit that only reads, of all the spaces that are open or asked for."""
    grant = grant_of(request.scope)
    grant.require_read("this")
    return _context(request, grant, spaces=space, agent=agent)


async def writing(request: HTTPConnection, space: Space = "", agent: Agent = "", run: Run = "") -> RequestContext:
    """A visit that may change something, in one space."""
    grant = grant_of(request.scope)
    grant.require_write("this")
    return _context(request, grant, spaces=[space] if space else [], agent=agent, run=run)


async def watching(connection: HTTPConnection, space: Space = "") -> RequestContext:
    """A visit that reads one space."""
    grant = grant_of(connection.scope)
    grant.require_read("this")
    return _context(connection, grant, spaces=[space] if space else [], agent="")


Reading = Annotated[RequestContext, Depends(reading)]
Writing = Annotated[RequestContext, Depends(writing)]
Watching = Annotated[RequestContext, Depends(watching)]


def dependencies_of(request: HTTPConnection) -> RestDependencies:
    """What the routes of this application share."""
    return cast("RestDependencies", request.app.state.dependencies)


def _context(request: HTTPConnection, grant: Grant, *, spaces: list[str], agent: str, run: str = "") -> RequestContext:
    _require_known(request)
    dependencies = dependencies_of(request)
    # A name that is left empty is one that is not given.
    first, *also = [space for space in spaces if space] or [""]
    name = _as_written(agent) or (grant.name if grant.id else _AGENT)
    who = grant.caller(space=first, agent=name, run=_as_written(run), default=dependencies.space)
    if also:
        others = tuple(grant.require(_named(space)) for space in also)
        who = Caller(space=grant.require(_named(first)), also=others, agent=who.agent, run=who.run)
    return RequestContext(dependencies=dependencies, grant=grant, who=who)


def _named(space: str) -> str:
    if not space.strip():
        raise InvalidInput("a space needs a name", hint="Leave out `space` for the token's own", field="space")
    return space


def _as_written(header: str) -> str:
    """A header as its sender wrote it: most write UTF-8, and HTTP takes it for Latin-1."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _require_known(request: HTTPConnection) -> None:
    """What a route does not know in the query is a mistake, not something to be overlooked; so is what it has twice."""
    if not request.scope["query_string"]:
        return
    existing = _known(cast("APIRoute", request.scope["route"]))
    counted = Counter(name for name, _ in request.query_params.multi_items())
    for name, count in counted.items():
        if name not in existing:
            raise InvalidInput(
                f"there is no parameter {name[:100]!r} here",
                hint=f"There are {', '.join(existing)}" if existing else "",
                field=name[:100],
            )
        if count > 1 and not existing[name]:
            raise InvalidInput(f"{name} is given {count:,} times", hint="Give it once", field=name)


def _known(route: APIRoute) -> dict[str, bool]:
    """The parameters of a route's query, and whether each may be given several times."""
    names = route.__dict__.get("known_names")
    if names is None:
        request = [param for param in get_flat_params(route.dependant) if isinstance(param.field_info, InQuery)]
        names = {item.alias: get_origin(item.field_info.annotation) is list for item in request}
        route.__dict__["known_names"] = names
    return cast("dict[str, bool]", names)
