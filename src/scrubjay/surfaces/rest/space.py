"""A space as a whole: how it is, and how it goes out and comes in."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Annotated, Literal

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from scrubjay.errors import Busy, InvalidInput
from scrubjay.model.results import Status
from scrubjay.model.transfer import Imported
from scrubjay.surfaces.http.body import ClientGone, UploadBuffer, split_lines
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import RequestContext, RestDependencies, Watching, Writing
from scrubjay.surfaces.rest.route import answer, router
from scrubjay.surfaces.rest.schemas import gives

routes = router("space")
_LINES = "application/x-ndjson"
_LINES_A_LOOK = 200
_TEXT = {"type": "string", "minLength": 1}
_BODY = {"requestBody": {"required": True, "content": {_LINES: {"schema": _TEXT, "example": examples.LINES}}}}


@routes.get("/status", summary="How the memory is", responses=gives(Status, examples.STATUS))
async def status(context: Watching) -> Response:
    """Health and sizes of a space; of the whole store for whoever may read all of it."""
    results = await context.read("status", context.memory.status())
    return answer(results if context.grant.allows_all_spaces else results.limited_to_space)


@routes.get(
    "/export",
    summary="Export a space",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "A line for each memory, behind one that says what this is",
            "content": {_LINES: {"schema": {"type": "string"}, "example": examples.LINES}},
        }
    },
)
async def export(
    context: Watching,
    format: Annotated[Literal["scrubjay", "kg"], Query(description="What the lines are like.")] = "scrubjay",
) -> Response:
    """Every memory of the space with its whole past, as JSON Lines; `kg` as the reference graph server keeps it."""
    lines = context.dependencies.engine.export(who=context.who, format=format)
    # What stands against it is told before anything is: an answer that has begun cannot become a refusal.
    first = await anext(lines, None)
    return _Exported(_written(first, lines, context), dependencies=context.dependencies)


@routes.post("/import", summary="Import", responses=gives(Imported, examples.IMPORTED), openapi_extra=_BODY)
async def import_(request: Request, context: Writing) -> Response:
    """Take in the lines of an export; everything is checked before anything is stored."""
    spool = UploadBuffer()
    await spool.read_from(split_lines(request.stream()))
    if spool.is_empty:
        raise InvalidInput("there is nothing to import: the body is empty", hint="Send the lines of an export")
    try:
        done = await context.write("import_", _taken_in(spool, context), long=True)
    except Busy:
        spool.close()
        raise
    # Found by words at once, and by meaning as soon as they are embedded.
    context.dependencies.later("embed_missing", context.dependencies.engine.embed_missing())
    return answer(done)


async def _taken_in(spool: UploadBuffer, context: RequestContext) -> Imported:
    # What was begun is finished, though its caller may be gone: the lines stay until then.
    with closing(spool):
        return await context.dependencies.engine.import_(spool.lines, who=context.who)


class _Exported(StreamingResponse):
    """Lines on their way to a caller, who is counted until the last of them is sent."""

    def __init__(self, lines: AsyncIterator[bytes], *, dependencies: RestDependencies) -> None:
        super().__init__(lines, media_type=_LINES)
        self._dependencies = dependencies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them; raises Busy before anything is sent."""
        async with self._dependencies.gate.staying("export"):
            await super().__call__(scope, receive, send)


async def _written(first: str | None, lines: AsyncIterator[str], context: RequestContext) -> AsyncIterator[bytes]:
    if first is not None:
        yield _line(first)
    number = 0
    async for line in lines:
        yield _line(line)
        number += 1
        if number % _LINES_A_LOOK == 0 and not await context.dependencies.authenticator.is_valid(context.grant):
            # Cut off, so that nobody takes it for the whole.
            raise ClientGone
        # Each line is quickly made: others want their turn.
        await asyncio.sleep(0)


def _line(text: str) -> bytes:
    return text.rstrip("\n").encode("utf-8", "surrogatepass") + b"\n"
