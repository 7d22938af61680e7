"""The application of `/api/v1`: its routes, what they answer when something is wrong, and its description."""

import asyncio
import logging
from collections.abc import Sequence
from typing import cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from scrubjay.errors import ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.remote.problems import PROBLEM, problem
from scrubjay.surfaces.rest import changes, links, memories, search, space, versions, wellbeing
from scrubjay.surfaces.rest.feed import Streams
from scrubjay.surfaces.rest.house import House
from scrubjay.surfaces.rest.route import answer
from scrubjay.surfaces.rest.schemas import Problem
from scrubjay.surfaces.web.problems import refusal, told
from scrubjay.telemetry import request_id
from scrubjay.version import VERSION

PREFIX = "/api/v1"
_log = logging.getLogger(__name__)
_INVALID = 422
_BAD = 400
_CODES = {
    404: ("no_such_path", "is not a path that is served here"),
    405: ("method_not_allowed", "does not take this method"),
}
_NOUNS = (memories, search, versions, links, changes, space)
_SAID = {
    400: "The body is no JSON",
    401: "A token is needed, and this one opens nothing",
    403: "The token does not go so far",
    404: "No memory answers to this",
    409: "The store has moved on, or several memories answer",
    412: "Changed since the version that the caller goes by",
    413: "More than the limit",
    415: "The body is not called JSON",
    422: "The request itself is wrong",
    429: "More than the token may ask",
    503: "Too much at once: retry after a moment",
}


def make_rest(house: House) -> FastAPI:
    """The application. It stands behind the door, which tells it who asks."""
    app = FastAPI(
        title="Scrubjay",
        version=VERSION,
        summary="Long-term memory for agents",
        description=_ABOUT,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        # Half a second to make: see `_description`. The pages that show it load their scripts from elsewhere.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        responses=_problems(),
    )
    app.state.house = house
    app.state.streams = Streams()
    for noun in _NOUNS:
        app.include_router(noun.routes, prefix=PREFIX)
    app.include_router(wellbeing.routes)
    app.include_router(wellbeing.routes, prefix=PREFIX, include_in_schema=False)
    app.add_api_route("/openapi.json", _description, include_in_schema=False)
    app.add_exception_handler(ScrubjayError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _wrong)
    app.add_exception_handler(Exception, _failed)
    return app


_ABOUT = """One memory that all of a person's agents share.

Every route takes a bearer token where the server asks for one; `space` chooses among those that the token opens.
What is wrong is told as `application/problem+json`, with a `code` for programs and a `hint` for people.
`ETag` and `If-Match` carry the version of a memory; `Idempotency-Key` makes a retry safe."""


def _problems() -> dict[int | str, dict[str, object]]:
    return {status: {"model": Problem, "description": what, "content": {PROBLEM: {}}} for status, what in _SAID.items()}


async def _description(request: Request) -> Response:
    """What can be asked, for programs; made when first asked for, and not where everybody waits for it."""
    app = cast("FastAPI", request.app)
    return answer(await asyncio.to_thread(app.openapi))


async def _refused(_: Request, error: Exception) -> Response:
    return refusal(cast("ScrubjayError", error))


async def _invalid(_: Request, error: Exception) -> Response:
    """What does not fit the description: the first thing in words, and all of them as a list."""
    found = cast("Sequence[dict[str, object]]", cast("RequestValidationError", error).errors())
    if any(one["type"] == "json_invalid" for one in found):
        return _told(_BAD, "bad_json", "the body is no JSON", {"hint": "Check its quotes and commas"})
    wrong: list[Json] = [f"{_place(one)}: {one['msg']}" for one in found[:20]]
    return _told(_INVALID, "invalid_input", str(wrong[0]), {"errors": wrong})


async def _wrong(request: Request, error: Exception) -> Response:
    known = cast("HTTPException", error)
    code, about = _CODES.get(known.status_code, ("bad_request", ""))
    detail = f"{request.url.path[:200]} {about}" if about else str(known.detail)
    return told(
        problem(known.status_code, code, detail, request_id=request_id.get()), headers=dict(known.headers or {})
    )


async def _failed(_: Request, error: Exception) -> Response:
    _log.error("a request failed", exc_info=error)
    return refusal(ScrubjayError(f"the request failed: {type(error).__name__}", hint="The server's log says more"))


def _told(status: int, code: str, detail: str, more: dict[str, Json]) -> Response:
    return told(problem(status, code, detail, request_id=request_id.get()) | more)


def _place(one: dict[str, object]) -> str:
    parts = cast("Sequence[object]", one["loc"])
    return ".".join(str(part)[:60] for part in parts[1:]) or str(parts[0])
