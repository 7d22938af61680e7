"""Whether the server is well, for whoever watches it."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Header, Request, Response

from scrubjay.errors import NotAllowed
from scrubjay.model.grant import Access
from scrubjay.surfaces.http.auth_middleware import grant_of
from scrubjay.surfaces.rest.deps import dependencies_of
from scrubjay.surfaces.rest.readiness import Ready
from scrubjay.surfaces.rest.route import answer, router
from scrubjay.surfaces.rest.schemas import gives
from scrubjay.version import VERSION

routes = router("wellbeing")
_EXAMPLE = "scrubjay_requests_inside 0.0\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """A sign of life."""

    ok: bool = True
    scrubjay: str = VERSION


@routes.get("/healthz", summary="Sign of life", responses=gives(Health, {"ok": True, "scrubjay": VERSION}))
async def health() -> Response:
    """Answers while the server lives; told to anyone."""
    return answer(Health())


@routes.get(
    "/readyz",
    summary="Whether requests can be served",
    responses=gives(Ready, {"ready": True, "store": "ok", "index": "ok", "scrubjay": VERSION}),
)
async def ready(request: Request) -> Response:
    """Whether the store can be used now, and this server is not leaving; told to anyone."""
    dependencies = dependencies_of(request)
    dependencies.gate.require_open()
    return answer(await dependencies.conflict_checker.look(dependencies.engine))


@routes.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={
        200: {"description": "Figures", "content": {"text/plain": {"schema": {"type": "string"}, "example": _EXAMPLE}}}
    },
)
async def metrics(request: Request, accept: Annotated[str, Header(include_in_schema=False)] = "") -> Response:
    """What is counted, of all spaces together: for a token with the access `metrics`, or one that opens every space."""
    grant = grant_of(request.scope)
    if grant.access is not Access.METRICS and not grant.allows_all_spaces:
        raise NotAllowed(
            "the figures tell of all spaces, and not all are open to you",
            hint="Ask for a token with the access `metrics`",
            verb="metrics",
        )
    kind, body = await dependencies_of(request).figures.scrape(accept)
    return Response(body, media_type=kind)
