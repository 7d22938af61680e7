"""A web page cannot use the server through its visitor's browser."""

import json
from collections.abc import AsyncGenerator

import httpx2
import pytest

from scrubjay.settings import Settings
from scrubjay.version import PROTOCOL
from tests.patience import PATIENCE
from tests.surfaces.rest.http_stack import HttpStack, open_stack

_CALLS = ("/call/remember", "/call/purge", "/call/undo", "/call/export", "/call/import", "/call/nothing")
_BODY = json.dumps({"args": {"text": "planted"}})


@pytest.fixture
async def page(settings: Settings) -> AsyncGenerator[tuple[HttpStack, httpx2.AsyncClient]]:
    """A server on this machine that requires no token, and the browser of its user."""
    async with (
        open_stack(settings) as stack,
        httpx2.AsyncClient(base_url=stack.address, timeout=PATIENCE, trust_env=False) as browser,
    ):
        yield stack, browser


@pytest.mark.parametrize(
    "kind",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp"],
)
async def test_what_a_form_can_send_is_no_call(page: tuple[HttpStack, httpx2.AsyncClient], kind: str) -> None:
    """`/call` takes JSON only: what a page can send without asking the server first is refused."""
    stack, browser = page
    for path in _CALLS[:-1]:
        response = await browser.post(path, content=_BODY, headers={"content-type": kind} if kind else {})
        assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type"), path
    assert await stack.engine.change_log.last_place("default") == 0


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site", "anything"])
async def test_a_browser_tells_who_asks(page: tuple[HttpStack, httpx2.AsyncClient], site: str) -> None:
    """Where a browser says that another site makes a request, it is refused, even without an `Origin`."""
    stack, browser = page
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors", "content-type": "application/json"}
    for path in _CALLS:
        response = await browser.post(path, content=_BODY, headers=headers)
        assert (response.status_code, response.json()["header"]) == (403, "Sec-Fetch-Site"), path
    for path in ("/api/v1/export", "/api/v1/search?q=x", "/api/v1/status", "/mcp", "/metrics"):
        assert (await browser.get(path, headers=headers)).status_code == 403, path
    framed = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    assert (await browser.get("/api/v1/export", headers=framed)).status_code == 403
    assert await stack.engine.change_log.last_place("default") == 0


async def test_users_and_programs_get_through(page: tuple[HttpStack, httpx2.AsyncClient]) -> None:
    """Programs, the server's own pages, typed addresses and followed links are served."""
    _, browser = page
    for site in ("same-origin", "none"):
        assert (await browser.get("/api/v1/status", headers={"sec-fetch-site": site})).status_code == 200
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert (await browser.get("/openapi.json", headers=link)).status_code == 200
    for kind in ("application/json", "application/json; charset=utf-8", "application/x-ndjson"):
        call = await browser.post("/call/remember", content=_BODY, headers={"content-type": kind})
        assert call.status_code == 200
    # A client of an earlier version sends no content type, and a header that no page may send.
    earlier = await browser.post("/call/status", content=b"{}", headers={"scrubjay-protocol": str(PROTOCOL)})
    assert earlier.status_code == 200
