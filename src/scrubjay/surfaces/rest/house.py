"""Who is asking, and what the routes work with."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Protocol, TypeVar, cast

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
from scrubjay.surfaces.mcp.changes import Changes
from scrubjay.surfaces.rest.route import Label
from scrubjay.surfaces.web.door import grant_of

T = TypeVar("T")
_AGENT = "rest"


class Gate(Protocol):
    """Lets so much work in at once, for so long."""

    async def run(self, verb: str, work: Coroutine[object, object, T], *, reads: bool = False, long: bool = False) -> T:
        """Do the work or raise Busy."""
        ...


class Doorman(Protocol):
    """Knows what a token opens."""

    async def still(self, grant: Grant) -> bool:
        """Whether a grant still holds."""
        ...


class Figures(Protocol):
    """What is counted."""

    async def scrape(self, accept: str) -> tuple[str, bytes]:
        """The figures of now: their content type, and the text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What all routes share."""

    engine: Engine
    gate: Gate
    changes: Changes
    doorman: Doorman
    figures: Figures
    space: str = "default"
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
class Visit:
    """One request: who comes, and to which space."""

    house: House
    grant: Grant
    who: Caller

    @property
    def memory(self) -> MemoryClient:
        """The verbs, as this caller."""
        return MemoryClient.over(self.house.engine, self.who)

    async def read(self, verb: str, work: Coroutine[object, object, T], *, long: bool = False) -> T:
        """Do what only reads."""
        return await self.house.gate.run(verb, work, reads=True, long=long)

    async def write(self, verb: str, work: Coroutine[object, object, T], *, long: bool = False) -> T:
        """Do what changes something, and tell whoever listens."""
        try:
            return await self.house.gate.run(verb, work, long=long)
        finally:
            self.house.changes.nudge()


Spaces = Annotated[
    list[Label],
    Query(
        alias="space",
        max_length=100,
        description="The space to work in; reading takes several. Default: those that the token opens.",
    ),
]
Space = Annotated[
    Label, Query(alias="space", description="The space to work in. Default: the first that the token opens.")
]
Agent = Annotated[Label, Header(alias="X-Scrubjay-Agent", description="Who writes; `undo` goes by it.")]
Run = Annotated[
    Label, Header(alias="X-Scrubjay-Run", description="Names a series of calls that `undo` takes back together.")
]


async def _reading(request: HTTPConnection, space: Spaces = [], agent: Agent = "") -> Visit:  # noqa: B006 - FastAPI copies it
    grant = grant_of(request.scope)
    grant.require_read("this")
    return _visit(request, grant, spaces=space, agent=agent)


async def _writing(request: HTTPConnection, space: Space = "", agent: Agent = "", run: Run = "") -> Visit:
    grant = grant_of(request.scope)
    grant.require_write("this")
    return _visit(request, grant, spaces=[space] if space else [], agent=agent, run=run)


async def watching(connection: HTTPConnection, space: Space = "") -> Visit:
    """A visit that reads one space."""
    grant = grant_of(connection.scope)
    grant.require_read("this")
    return _visit(connection, grant, spaces=[space] if space else [], agent="")


Reading = Annotated[Visit, Depends(_reading)]
"""A visit that only reads, of all the spaces that are open or asked for."""
Writing = Annotated[Visit, Depends(_writing)]
"""A visit that may change something, in one space."""


Watching = Annotated[Visit, Depends(watching)]
"""A visit that reads one space."""


def house_of(request: HTTPConnection) -> House:
    """What the routes of this application share."""
    return cast("House", request.app.state.house)


def _visit(request: HTTPConnection, grant: Grant, *, spaces: list[str], agent: str, run: str = "") -> Visit:
    _require_known(request)
    house = house_of(request)
    first, *also = spaces or [""]
    who = grant.caller(space=first, agent=agent or (grant.name if grant.id else _AGENT), run=run, default=house.space)
    if also:
        who = Caller(space=who.space, also=tuple(map(grant.require, also)), agent=who.agent, run=run)
    return Visit(house=house, grant=grant, who=who)


def _require_known(request: HTTPConnection) -> None:
    """What a route does not know in the query is a mistake, not something to be overlooked."""
    known = _known(cast("APIRoute", request.scope["route"]))
    for name in request.query_params:
        if name not in known:
            raise InvalidInput(
                f"there is no parameter {name[:100]!r} here",
                hint=f"There are {', '.join(known)}" if known else "",
                field=name[:100],
            )


def _known(route: APIRoute) -> tuple[str, ...]:
    names = route.__dict__.get("known_names")
    if names is None:
        found = get_flat_params(route.dependant)
        names = tuple(one.alias for one in found if isinstance(one.field_info, InQuery))
        route.__dict__["known_names"] = names
    return cast("tuple[str, ...]", names)
