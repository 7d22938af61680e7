"""Health, readiness and metrics of the server, for monitoring."""

import asyncio
import time
from typing import Annotated, Protocol

from fastapi import Header, Request, Response

from scrubjay.errors import NotAllowed, ScrubjayError, StoreBusy
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Access
from scrubjay.surfaces.http.auth_middleware import grant_of
from scrubjay.surfaces.rest.deps import dependencies_of
from scrubjay.surfaces.rest.route import json_response, router
from scrubjay.surfaces.rest.schemas import response_schema
from scrubjay.version import VERSION

routes = router("health")
# The route needs no token, so results are cached; to check an index may mean to count its points.
_STORE_CACHE_SECONDS, _INDEX_CACHE_SECONDS = 1.0, 15.0
_CHECK_SECONDS = 2.0
_RETRY_AFTER = 1
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The server runs."""

    ok: bool = True
    scrubjay: str = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The store is available. With a degraded `index`, searches use words only."""

    ready: bool = True
    store: str = "ok"
    index: str = "ok"
    scrubjay: str = VERSION


@routes.get("/healthz", summary="Check health", responses=response_schema(Health))
async def alive() -> Response:
    """Respond while the server runs. This route needs no token."""
    return json_response(Health())


@routes.get(
    "/readyz",
    summary="Check readiness",
    responses=response_schema(Ready),
)
async def ready(request: Request) -> Response:
    """Check whether the store is available and the server is not shutting down. This route needs no token."""
    dependencies = dependencies_of(request)
    dependencies.gate.require_open()
    probe: ReadinessProbe = request.app.state.readiness
    return json_response(await probe.check(dependencies.engine))


@routes.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={200: {"description": "Metrics", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request, accept: Annotated[str, Header(include_in_schema=False)] = "") -> Response:
    """Return the metrics of all spaces. The token needs the access `metrics`, or access to every space."""
    grant = grant_of(request.scope)
    if grant.access is not Access.METRICS and not grant.allows_all_spaces:
        raise NotAllowed(
            "the metrics cover all spaces, and your token does not allow all of them",
            hint="Ask for a token with the access `metrics`",
            verb="metrics",
        )
    content_type, body = await dependencies_of(request).metrics.scrape(accept)
    return Response(body, media_type=content_type)


class CheckedEngine(Protocol):
    """The part of the engine that a readiness check needs."""

    async def ready(self) -> None:
        """Raise an error if the store is not available."""
        ...

    async def index_problem(self) -> str:
        """Return the problem of the index, or an empty string."""
        ...


class ReadinessProbe:
    """Checks the readiness of the engine: one check at a time, whose result is cached for all callers."""

    def __init__(self) -> None:
        self._check: asyncio.Task[Ready] | None = None
        self._checked_at = _NEVER
        self._index = "ok"
        self._index_checked_at = _NEVER

    async def check(self, engine: CheckedEngine) -> Ready:
        """Return the readiness; raise StoreBusy, without the store's address, if the store is not available."""
        now = time.monotonic()
        if self._check is None or (self._check.done() and now - self._checked_at >= _STORE_CACHE_SECONDS):
            self._checked_at = now
            self._check = asyncio.create_task(self._run_check(engine))
            # Retrieve the exception even if every caller has disconnected.
            self._check.add_done_callback(lambda task: task.cancelled() or task.exception())
        # A caller that disconnects must not cancel the check of the others.
        return await asyncio.shield(self._check)

    async def _run_check(self, engine: CheckedEngine) -> Ready:
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                await engine.ready()
        except (ScrubjayError, TimeoutError) as error:
            raise StoreBusy(
                "the store is not available", hint=f"Retry after {_RETRY_AFTER} s", retry_after=_RETRY_AFTER
            ) from error
        if time.monotonic() - self._index_checked_at >= _INDEX_CACHE_SECONDS:
            self._index = await _index_state(engine)
            self._index_checked_at = time.monotonic()
        return Ready(index=self._index)


async def _index_state(engine: CheckedEngine) -> str:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            return "degraded" if await engine.index_problem() else "ok"
    except (ScrubjayError, TimeoutError):
        return "degraded"
