"""Curation: plan and apply what keeps a space in order, and report it."""

from typing import Annotated

from fastapi import Depends, Response

from scrubjay.lazy import dataclass
from scrubjay.model.curation import CurationReport
from scrubjay.model.requests import CurateRequest, CurationsRequest, PruneRequest, UsageRequest
from scrubjay.model.results import Usage
from scrubjay.surfaces.rest.deps import OneSpaceContext, WriteContext
from scrubjay.surfaces.rest.requests import Fields, body_of, query_of
from scrubjay.surfaces.rest.route import json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("curation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Curations:
    """Runs of curation, the newest first."""

    curations: tuple[CurationReport, ...]


@routes.post("/curations", summary="Curate the space", responses=response_schema(CurationReport))
async def curate(body: Annotated[Fields, body_of(CurateRequest)], context: WriteContext) -> Response:
    """Run the jobs that keep the space in order; with `dry_run` return their plan. `POST /undo` takes a run back."""
    return json_response(await context.call(CurateRequest.of(**body)))


@routes.post("/prune", summary="Prune the space", responses=response_schema(CurationReport))
async def prune(body: Annotated[Fields, body_of(PruneRequest)], context: WriteContext) -> Response:
    """Move memories to the trash by age, worth and budget; with `dry_run` plan it. `POST /undo` takes it back."""
    return json_response(await context.call(PruneRequest.of(**body)))


@routes.get("/curations", summary="List runs of curation", responses=response_schema(Curations))
async def curations(
    context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(CurationsRequest))]
) -> Response:  # fmt: skip
    """List what earlier runs did, or one of them, with their first changes."""
    return json_response(Curations(curations=await context.call(CurationsRequest.of(**query))))


@routes.get("/usage", summary="Show usage", responses=response_schema(Usage))
async def usage(context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(UsageRequest))]) -> Response:
    """Return the most frequent questions, the most used memories, those never read, and counts by day."""
    return json_response(await context.call(UsageRequest.of(**query)))
