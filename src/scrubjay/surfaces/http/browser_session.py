"""The session of a browser: the pages of the dashboard read their token from a cookie, and send strangers to sign in.

Only these pages read the cookie. A request to REST, MCP or RPC needs the header, so that no form can reach them.
"""

from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Scope

__all__ = [
    "ASSETS", "HOME", "LOGIN", "MAX_LOGIN_BYTES", "PREFIX", "SESSION_COOKIE", "cookies_of", "is_open_page", "is_page",
    "refuse_page", "session_token",
]  # fmt: skip

HOME = "/"
PREFIX = "/ui"
LOGIN = f"{PREFIX}/login"
ASSETS = f"{PREFIX}/assets/"
SESSION_COOKIE = "scrubjay_session"
"""The cookie whose value is the token that was given at `/ui/login`; no script can read it."""
MAX_LOGIN_BYTES = 16_384
_SEE_OTHER = 303
_UNAUTHORIZED = 401
# What was typed is in the tab's history, which a redirection would take away.
_ENDED = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Signed out</title><h1>You are signed out</h1>"
    f"<p>Nothing was changed. <a href={LOGIN} target=_blank>Sign in</a> in another tab; then go back and send it again."
)


def is_page(path: str) -> bool:
    """Return whether a path is one of the dashboard."""
    return path == HOME or path.startswith(f"{PREFIX}/")


def is_open_page(path: str) -> bool:
    """Return whether a page needs no token: signing in, and what its looks need."""
    return path == LOGIN or path.startswith(ASSETS)


def cookies_of(headers: Headers) -> dict[str, str]:
    """Return the cookies of a request; none if they cannot be read."""
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load("; ".join(headers.getlist("cookie")))
    except CookieError:
        return {}
    return {name: morsel.value for name, morsel in jar.items()}


def session_token(headers: Headers) -> str:
    """Return the token of a browser that has signed in, else an empty text."""
    return cookies_of(headers).get(SESSION_COOKIE, "")


def refuse_page(scope: Scope) -> Response:
    """Answer a request for a page without a valid token: go and sign in; what was sent can be sent again."""
    if scope["method"] not in ("GET", "HEAD"):
        return HTMLResponse(_ENDED, status_code=_UNAUTHORIZED)
    query = scope["query_string"].decode("latin-1")
    target = quote(scope["path"] + (f"?{query}" if query else ""), safe="")
    response = RedirectResponse(f"{LOGIN}?next={target}", status_code=_SEE_OTHER)
    response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="lax")
    return response
