"""What all routes have in common: what they take, what they answer, and what may be wrong."""

import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, cast
from urllib.parse import quote, unquote

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import MAIN, Json
from scrubjay.rpc.codec import problem, to_json
from scrubjay.rpc.frames import encode_frame
from scrubjay.surfaces.http.problems import problem_response
from scrubjay.surfaces.rest.fields import AS_OF, LONGEST_LABEL
from scrubjay.surfaces.rest.strict_json import NotJsonError, json_from
from scrubjay.telemetry import request_id

_BAD = 400
_UNSUPPORTED = 415
_JSON_TYPES = re.compile(r"application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_VERSION = re.compile(r'(?:W/)?"([1-9][0-9]{0,17})(?:~([^"]*))?"')
_HEADED = "scrubjay.headed"
ETAG = r'^(\*|(W/)?"[1-9][0-9]{0,17}(~[^"]*)?")?$'
"""What `version_from` takes, for the description."""


class Asked(BaseModel):
    """What a body may hold, and nothing else: a misspelled name is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


Ref = Annotated[
    str,
    Path(
        alias="id",
        max_length=LONGEST_LABEL,
        description="Id, name or title of a memory. What has a slash in it goes by its id.",
        examples=["0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"],
    ),
]


OnBranch = Annotated[
    str,
    Query(
        max_length=LONGEST_LABEL, description="The branch to go by. Default: the one that the memory is switched to."
    ),
]
AsOf = Annotated[str | None, Query(min_length=1, description=AS_OF, json_schema_extra={"format": "date-time"})]


class Route(APIRoute):
    """A route that takes JSON bodies only when they are called so and are so; and HEAD, wherever it takes GET."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, object, Response]]:
        """The handler, behind a look at the body."""
        handle = super().get_route_handler()
        takes_json = self.body_field is not None

        async def handle_strictly(request: Request) -> Response:
            if encoding := request.headers.get("content-encoding", ""):
                return _unsupported(f"a body must come as it is, and this one is encoded as {encoding[:100]!r}")
            if not takes_json:
                return await handle(request)
            kind, strict = request.headers.get("content-type", ""), _JsonRequest(request.scope, request.receive)
            if not _JSON_TYPES.fullmatch(kind) and (kind or await strict.body()):
                return _unsupported(f"a body must be JSON, and this one says it is {kind[:100] or 'nothing'!r}")
            try:
                await strict.parse()
            except NotJsonError as error:
                return _no_json(error)
            return await handle(strict)

        return handle_strictly

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a request is meant for this route."""
        match, results = super().matches(scope)
        return (Match.FULL if match is Match.PARTIAL and self._is_headed(scope) else match), results

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; of an answer to HEAD the server leaves out the body."""
        await super().handle(
            {**scope, "method": "GET", _HEADED: True} if self._is_headed(scope) else scope, receive, send
        )

    @property
    def allowed(self) -> frozenset[str]:
        """The methods it takes."""
        return frozenset({*(self.methods or ()), *(("HEAD",) if self._has_head else ())})

    @property
    def _has_head(self) -> bool:
        # What streams would be made whole for nothing, or never end.
        return "GET" in (self.methods or ()) and self.response_class is not StreamingResponse

    def _is_headed(self, scope: Scope) -> bool:
        return scope.get("method") == "HEAD" and self._has_head


class _JsonRequest(Request):
    """A request whose body is read as JSON has it."""

    async def parse(self) -> None:
        """Read the body, if there is one; raises NotJsonError."""
        if body := await self.body():
            self._json = json_from(body)


def saved_as(name: str) -> dict[str, str]:
    """The header that has an answer saved as a file: by its plain letters for those who know no others."""
    to_json = "".join(item if item.isascii() and item.isprintable() and item not in '"\\%' else "_" for item in name)
    return {"content-disposition": f"attachment; filename=\"{to_json}\"; filename*=UTF-8''{quote(name, safe='')}"}


def is_head(scope: Scope) -> bool:
    """Whether only the head of an answer is asked for, so that what is dear to send need not be read."""
    return _HEADED in scope


def router(tag: str) -> APIRouter:
    """Routes about one thing."""
    return APIRouter(tags=[tag], route_class=Route)


def answer(result: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """What a verb answers, as JSON."""
    body = encode_frame(cast("dict[str, Json]", to_json(result)))
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def etag(version: int, branch: str = MAIN) -> dict[str, str]:
    """The header that names a version: of main by its number alone, since that is what most have."""
    return {"etag": f'"{version}"' if branch == MAIN else f'"{version}~{quote(branch, safe="")}"'}


def version_from(header: str) -> int | None:
    """The version that a caller goes by; `*` is any."""
    if not header or header.strip() == "*":
        return None
    results = _VERSION.fullmatch(header.strip())
    if results is None:
        raise InvalidInput(
            f"If-Match must name one version, not {header[:100]!r}", hint='For example If-Match: "3"', field="If-Match"
        )
    return int(results[1])


def branch_from(header: str, branch: str = "") -> str:
    """The branch that a caller names, else the one whose version it goes by."""
    results = _VERSION.fullmatch(header.strip())
    return branch or (unquote(results[2] or "") if results else "")


def _unsupported(detail: str) -> Response:
    told_as = problem(_UNSUPPORTED, "unsupported_media_type", detail, request_id=request_id.get())
    return problem_response(told_as | {"hint": "Send content-type: application/json, and no content-encoding"})


def _no_json(error: NotJsonError) -> Response:
    told_as = problem(_BAD, "bad_json", f"the body is no JSON: {error}", request_id=request_id.get())
    return problem_response(told_as | {"hint": "Check its quotes and commas; it must be UTF-8"})
