"""The application of the dashboard: its pages, its files, signing in and out, and errors as pages."""

from collections.abc import Mapping
from typing import Protocol, cast
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from scrubjay.errors import NotAdmitted, NotAllowed, NotFound, ScrubjayError
from scrubjay.model.caller import Access, Grant
from scrubjay.paths import owner_ticket_file
from scrubjay.rpc.codec import problem_from_error
from scrubjay.surfaces.dashboard import browse, care, changes, graph, health, live, memories, skills, tokens
from scrubjay.surfaces.dashboard.addresses import local_path
from scrubjay.surfaces.dashboard.page import HEADERS, PageCall, View, asset, environment, handle, secure_cookies
from scrubjay.surfaces.http.browser_session import ASSETS, HOME, LOGIN, PREFIX, SESSION_COOKIE
from scrubjay.surfaces.http.problems import unexpected_error
from scrubjay.surfaces.rest.changes import StreamLimiter
from scrubjay.surfaces.rest.deps import RestDependencies
from scrubjay.telemetry import request_id

__all__ = ["GET_PAGES", "POST_PAGES", "make_dashboard"]

GET_PAGES: Mapping[str, View] = {
    "search": memories.search,
    "results": memories.results,
    "memory": memories.memory,
    "history": memories.history,
    "edit": changes.edit,
    "browse": browse.browse,
    "timeline": browse.timeline,
    "trash": browse.trash,
    "conflicts": care.conflicts,
    "duplicates": care.duplicates,
    "inbox": care.inbox,
    "curation": care.curation,
    "jobs": care.jobs,
    "health": health.health,
    "space": care.show_space,
    "skills": skills.list_skills,
    "skill": skills.show_skill,
    "graph": graph.graph,
    "graph-data": graph.data,
}
"""The pages that only read, by their name under `/ui/`."""
POST_PAGES: Mapping[str, View] = {
    "revise": changes.revise,
    "revert": changes.revert,
    "branch": changes.branch,
    "switch": changes.switch,
    "merge-branch": changes.merge_branch,
    "drop-branch": changes.drop_branch,
    "forget": changes.forget,
    "restore": changes.restore,
    "confirm": changes.confirm,
    "undo": changes.undo,
    "resolve": care.resolve,
    "duplicates": care.merge_duplicates,
    "decide": care.decide,
    "curate": care.curate,
    "retry-job": care.retry_job,
    "cancel-job": care.cancel_job,
    "run-skill": skills.run_skill,
}
"""What forms are sent to, by its name under `/ui/`."""
_MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_NOT_FOUND = 404
_SEE_OTHER = 303
_SESSION_DAYS = 30


class TokenChecker(Protocol):
    """Finds out what the holder of a token may do."""

    @property
    def requires_token(self) -> bool:
        """Whether every request needs a token."""
        ...

    async def authenticate(self, authorization: str | None) -> Grant:
        """Return the grant of a request with this header; raises NotAdmitted."""
        ...


def make_dashboard(dependencies: RestDependencies, checker: TokenChecker) -> Starlette:
    """Return the application, to be served behind `AuthMiddleware`, which authenticates the caller."""
    sign_in = _SignIn(checker)
    routes = [
        Route(HOME, handle(memories.search, dependencies), methods=["GET"]),
        Route(LOGIN, sign_in.show, methods=["GET"]),
        Route(LOGIN, sign_in.receive, methods=["POST"]),
        Route(f"{PREFIX}/logout", handle(_sign_out, dependencies), methods=["POST"]),
        Route(f"{PREFIX}/owner", handle(tokens.show_tokens, dependencies), methods=["GET"]),
        Route(f"{PREFIX}/owner", handle(tokens.change_tokens, dependencies), methods=["POST"]),
        Route(f"{ASSETS}{{name}}", _send_asset, methods=["GET"]),
        Route(f"{PREFIX}/changes", handle(live.changes, dependencies), methods=["GET"]),
        *(Route(f"{PREFIX}/{name}", handle(view, dependencies), methods=["GET"]) for name, view in GET_PAGES.items()),
        *(Route(f"{PREFIX}/{name}", handle(view, dependencies), methods=["POST"]) for name, view in POST_PAGES.items()),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={
            ScrubjayError: _show_error,
            HTTPException: _show_http_error,
            Exception: _show_unexpected_error,
        },
    )
    app.router.redirect_slashes = False
    app.state.owner_tabs = tokens.OwnerTabs(owner_ticket_file(dependencies.engine.data))
    app.state.streams = StreamLimiter(max_streams=dependencies.max_streams)
    return app


class _SignIn:
    """Signing in with a token, where one is needed."""

    def __init__(self, checker: TokenChecker) -> None:
        self._checker = checker

    async def show(self, request: Request) -> Response:
        """Return the form; a server that needs no token needs no form."""
        target = local_path(request.query_params.get("next", HOME))
        if not self._checker.requires_token and target != HOME:
            return RedirectResponse(target, status_code=_SEE_OTHER)
        return _login_page(target)

    async def receive(self, request: Request) -> Response:
        """Check a token, and keep it in the browser where no script reads it."""
        page = _Form(await request.body())
        target = local_path(page.value("next"))
        try:
            grant = await self._checker.authenticate(f"Bearer {page.value('token').strip()}")
            grant.access.require(Access.READ, verb="the dashboard")
        except (NotAdmitted, NotAllowed) as error:
            return _login_page(target, problem=error)
        if grant.mcp_only:
            return _login_page(target, problem=NotAllowed("this token is valid for MCP alone"))
        response = RedirectResponse(target, status_code=_SEE_OTHER, headers=HEADERS)
        secure_cookies(request, response, SESSION_COOKIE, page.value("token").strip(), days=_SESSION_DAYS)
        return response


class _Form:
    """A form before anyone has signed in."""

    def __init__(self, body: bytes) -> None:

        self._values = parse_qs(body.decode("utf-8", "replace"))

    def value(self, name: str) -> str:
        """Return the first value of a field."""
        return self._values.get(name, [""])[0]


def _login_page(target: str, *, problem: ScrubjayError | None = None) -> Response:
    text = environment().get_template("login.html").render(target=target, problem=problem)
    status = cast("int", problem_from_error(problem)["status"]) if problem else 200
    return Response(text, status_code=status, media_type="text/html", headers=HEADERS)


async def _sign_out(_: PageCall) -> Response:
    response = RedirectResponse(LOGIN, status_code=_SEE_OTHER, headers=HEADERS)
    response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="lax")
    return response


async def _send_asset(request: Request) -> Response:
    name = str(request.path_params["name"])
    body, media_type = asset(name), _MEDIA_TYPES.get(name.rpartition(".")[2])
    if body is None or media_type is None:
        raise NotFound(f"there is no file {name[:100]!r}")
    headers = {**HEADERS, "cache-control": "public, max-age=31536000, immutable"}
    return Response(body, media_type=media_type, headers=headers)


async def _show_error(_: Request, error: Exception) -> Response:
    shown = cast("ScrubjayError", error).without_places()
    status = cast("int", problem_from_error(shown)["status"])
    text = environment().get_template("error.html").render(
        error=shown, hint=shown.hint, request_id=request_id.get()
    )  # fmt: skip
    return Response(text, status_code=status, media_type="text/html", headers=HEADERS)


async def _show_http_error(request: Request, error: Exception) -> Response:
    status = cast("HTTPException", error).status_code
    if status == _NOT_FOUND:
        return await _show_error(request, NotFound("there is no such page", hint="Begin at the search"))
    response = await _show_error(request, ScrubjayError("this page does not accept that", hint="Begin at the search"))
    response.status_code = status
    return response


async def _show_unexpected_error(request: Request, error: Exception) -> Response:
    return await _show_error(request, unexpected_error(error))
