"""What all routes have in common: what they take, what they answer, and what may be wrong."""

import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, cast

from fastapi import APIRouter, Path, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.remote.frames import encoded
from scrubjay.remote.problems import problem
from scrubjay.remote.shapes import plain
from scrubjay.surfaces.rest.schemas import shown
from scrubjay.surfaces.web.problems import told

_UNSUPPORTED = 415
_JSON_TYPES = re.compile(r"application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_LONGEST_LABEL = 300
_VERSION = re.compile(r'(?:W/)?"(\d{1,18})"')


class Asked(BaseModel):
    """What a body may hold, and nothing else: a misspelled name is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


Label = Annotated[str, Field(max_length=_LONGEST_LABEL)]
Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-05-31T14:00:00Z"])]
Ref = Annotated[
    str,
    Path(
        alias="id",
        max_length=_LONGEST_LABEL,
        description="Id, name or title of a memory. What has a slash in it goes by its id.",
        examples=["0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"],
    ),
]


class Route(APIRoute):
    """A route that takes JSON bodies only when they are called so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, object, Response]]:
        """The handler, behind a look at the content type."""
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def handle_json(request: Request) -> Response:
            kind = request.headers.get("content-type", "")
            if not _JSON_TYPES.fullmatch(kind) and (kind or await request.body()):
                return told(_unsupported(kind))
            return await handle(request)

        return handle_json


def router(tag: str) -> APIRouter:
    """Routes about one thing."""
    return APIRouter(tags=[tag], route_class=Route)


def answer(result: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """What a verb answers, as JSON."""
    body = encoded(cast("dict[str, Json]", plain(result)))
    return Response(body, status_code=status, headers=headers, media_type="application/json")


Described = dict[int | str, dict[str, object]]


def gives(kind: type, example: Mapping[str, Json], *, status: int = 200, what: str = "Done") -> Described:
    """What a route answers when all is well, for its description."""
    return {
        status: {"model": shown(kind), "description": what, "content": {"application/json": {"example": dict(example)}}}
    }


def etag(version: int) -> dict[str, str]:
    """The header that names a version."""
    return {"etag": f'"{version}"'}


def version_from(header: str) -> int | None:
    """The version that a caller goes by; `*` is any."""
    if not header or header.strip() == "*":
        return None
    found = _VERSION.fullmatch(header.strip())
    if found is None:
        raise InvalidInput(
            f"If-Match must name one version, not {header[:100]!r}", hint='For example If-Match: "3"', field="If-Match"
        )
    return int(found[1])


def _unsupported(kind: str) -> dict[str, Json]:
    """The problem of a body that is no JSON by its own account."""
    detail = f"a body must be JSON, and this one says it is {kind[:100] or 'nothing'!r}"
    return problem(_UNSUPPORTED, "unsupported_media_type", detail) | {"hint": "Send content-type: application/json"}
