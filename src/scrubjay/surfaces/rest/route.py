"""The parts that all routes share: the route class, common parameters, responses and headers."""

import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, cast
from urllib.parse import quote, unquote
from weakref import ref

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import MAIN, Json
from scrubjay.model.results import Recalled
from scrubjay.rpc.codec import problem, to_json
from scrubjay.rpc.frames import encode_frame
from scrubjay.surfaces.http.problems import is_json, not_declared_as_json, problem_response, unsupported_media_type
from scrubjay.surfaces.rest.deps import RequestContext
from scrubjay.surfaces.rest.requests import MAX_LABEL_LENGTH
from scrubjay.surfaces.rest.strict_json import NotJsonError, parse_json
from scrubjay.telemetry import request_id

_BAD_REQUEST = 400
_VERSION = re.compile(r'(?:W/)?"([1-9][0-9]{0,17})(?:~([^"]*))?"')
_IS_HEAD = "scrubjay.is_head"
MARKDOWN = "text/markdown"
ETAG = r'^(\*|(W/)?"[1-9][0-9]{0,17}(~[^"]*)?")?$'
"""The headers that `version_from` accepts, for the description."""

EXAMPLE_ID = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"
"""The id in the examples of paths, and of the first memory or job in the recorded answers."""
MemoryRef = Annotated[
    str,
    Path(
        alias="id",
        max_length=MAX_LABEL_LENGTH,
        description="Id, name or title of a memory. Use the id if the name contains a slash.",
        examples=[EXAMPLE_ID],
    ),
]
OnBranch = Annotated[
    str,
    Query(
        max_length=MAX_LABEL_LENGTH, description="The branch to use. Default: the one that the memory is switched to."
    ),
]


class Route(APIRoute):
    """A route that accepts only valid JSON declared as JSON, and that answers HEAD wherever it answers GET."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, object, Response]]:
        """Return the handler, with a check of the body before it."""
        handle = super().get_route_handler()
        takes_json = self.body_field is not None

        async def handle_strictly(request: Request) -> Response:
            if encoding := request.headers.get("content-encoding", ""):
                return unsupported_media_type(
                    f"a body must not be encoded, and this one is encoded as {encoding[:100]!r}"
                )
            if not takes_json:
                return await handle(request)
            content_type, strict = request.headers.get("content-type", ""), _JsonRequest(request.scope, request.receive)
            if not is_json(content_type) and (content_type or await strict.body()):
                return not_declared_as_json(content_type)
            try:
                await strict.parse()
            except NotJsonError as error:
                return _invalid_json(error)
            return await handle(strict)

        return handle_strictly

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether this route serves a request."""
        match, child_scope = super().matches(scope)
        return (Match.FULL if match is Match.PARTIAL and self._answers_head(scope) else match), child_scope

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. HEAD is handled as GET, and the server omits the body."""
        is_head = self._answers_head(scope)
        await super().handle({**scope, "method": "GET", _IS_HEAD: True} if is_head else scope, receive, send)

    @property
    def allowed_methods(self) -> frozenset[str]:
        """The methods that the route accepts."""
        return frozenset({*(self.methods or ()), *(("HEAD",) if self._has_head else ())})

    @property
    def _has_head(self) -> bool:
        # A stream would be produced for nothing, or never end.
        return "GET" in (self.methods or ()) and self.response_class is not StreamingResponse

    def _answers_head(self, scope: Scope) -> bool:
        return scope.get("method") == "HEAD" and self._has_head


class _JsonRequest(Request):
    """A request whose body is parsed as strict JSON."""

    async def parse(self) -> None:
        """Parse the body, if there is one; raise NotJsonError."""
        if body := await self.body():
            self._json = parse_json(body)


def router(tag: str) -> APIRouter:
    """Return a router whose routes have a tag."""
    return APIRouter(tags=[tag], route_class=Route)


def is_head(scope: Scope) -> bool:
    """Whether a request needs only headers, so that a costly body need not be read."""
    return _IS_HEAD in scope


def json_response(result: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return the result of a verb as a JSON response."""
    body = _recalled.body_of(result) if isinstance(result, Recalled) else _body_of(result)
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def _body_of(result: object) -> bytes:
    return encode_frame(cast("dict[str, Json]", to_json(result)))


class RecalledBodies:
    """The bodies of answers, as long as someone holds these: the cache of answers holds those that may be repeated."""

    def __init__(self) -> None:
        self._bodies: dict[int, tuple[ref[Recalled], bytes]] = {}

    def __len__(self) -> int:
        return len(self._bodies)

    def body_of(self, answer: Recalled) -> bytes:
        """Return the body of an answer, written once."""
        number = id(answer)
        if number not in self._bodies:
            # Nothing of a memory that was purged may stay.
            held = ref(answer, lambda _: self._bodies.pop(number, None))
            self._bodies[number] = held, _body_of(answer)
        return self._bodies[number][1]


_recalled = RecalledBodies()


def download_headers(name: str) -> dict[str, str]:
    """Return headers that make a browser save a response as a file, and never show it as a page of this server."""
    ascii_name = "".join(char if char.isascii() and char.isprintable() and char not in '"\\%' else "_" for char in name)
    return {
        "content-disposition": f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(name, safe='')}",
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-store",
    }


def location(collection: str, item_id: str, context: RequestContext) -> dict[str, str]:
    """Return the Location header of a new item, with the space if it is not the caller's default."""
    default = context.grant.caller(default=context.dependencies.space).space
    space = context.who.space
    query = "" if space == default else f"?space={quote(space, safe='')}"
    return {"location": f"/api/v1/{collection}/{item_id}{query}"}


def etag(version: int, branch: str = MAIN) -> dict[str, str]:
    """Return the ETag header of a version: its number, and the branch unless it is main."""
    return {"etag": f'"{version}"' if branch == MAIN else f'"{version}~{quote(branch, safe="")}"'}


def version_from(header: str) -> int | None:
    """Return the version of an If-Match header; None for an empty header or `*`."""
    if not header or header.strip() == "*":
        return None
    match = _VERSION.fullmatch(header.strip())
    if match is None:
        raise InvalidInput(
            f"If-Match must name one version, not {header[:100]!r}", hint='For example If-Match: "3"', field="If-Match"
        )
    return int(match[1])


def branch_from(header: str, branch: str = "") -> str:
    """Return the given branch, or the branch of an If-Match header."""
    match = _VERSION.fullmatch(header.strip())
    return branch or (unquote(match[2] or "") if match else "")


def _invalid_json(error: NotJsonError) -> Response:
    body = problem(_BAD_REQUEST, "bad_json", f"the body is not valid JSON: {error}", request_id=request_id.get())
    return problem_response(body | {"hint": "Check its quotes and commas; it must be UTF-8"})
