"""What a page must never do: run what a memory contains, obey another site, or show itself to a stranger."""

from pathlib import Path

import httpx2
import pytest
from tests.surfaces.dashboard.browser import Browser
from tests.surfaces.dashboard.conftest import settings_for
from tests.surfaces.rest.http_stack import HttpStack, open_stack

from scrubjay.model.caller import Caller
from scrubjay.model.requests import RememberRequest, RevokeTokenRequest
from scrubjay.surfaces.dashboard.app import GET_PAGES

PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg/onload=alert(1)>',
    "'><iframe srcdoc='<script>alert(1)</script>'>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt&#58;alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "![x](javascript:alert(1)) ![y](https://evil.example/p.png)",
    "<javascript:alert(1)>",
    '[[x" onmouseover=alert(1) y="|z]]',
    "[[javascript:alert(1)]] [[//evil.example]]",
    "`</code><script>alert(1)</script>`",
    "```html\n</pre><script>alert(1)</script>\n```",
    "<style>*{background:url(//evil.example)}</style>",
    "<base href=//evil.example><form action=//evil.example>",
    "{{ 7919*7919 }} {% import 'os' %} ${7919*7919}",
    "\u2028</title><script>alert(1)</script>\u202e",
)


async def test_no_text_of_a_memory_runs_on_any_page(stack: HttpStack, browser: Browser) -> None:
    for number, payload in enumerate(PAYLOADS):
        short = payload.replace("\n", " ")[:200]
        draft = RememberRequest(
            text=f"{payload}\n\nnumber {number} {payload}", title=short, kind=short, entities=(short,), intent="new",
            observations=(payload,), tags=(short,), project=short, category=short, session_hint=short,
        )  # fmt: skip
        made = await stack.engine.remember(draft, who=Caller(agent=short, run=short))
        page = await browser.open("/ui/memory", id=made.id)
        # It is shown as it was written, wherever Markdown does not read it.
        assert short.split()[0] in page.text or "7919*7919" in page.text
        assert str(7919 * 7919) not in page.text
        await browser.open("/ui/history", id=made.id)
        await browser.open("/ui/edit", id=made.id)
        await browser.open("/ui/search", q=payload, tag=short)
        await browser.open("/ui/results", q=payload, entity=short)
        await browser.open("/ui/memory", id=payload, space="other", status=404)
    for name in GET_PAGES.keys() - {"memory", "history", "edit", "skill", "graph-data"}:
        await browser.open(f"/ui/{name}")
    # No browser takes this for a page.
    data = await browser.web.get("/ui/graph-data")
    assert (data.headers["content-type"], data.headers["x-content-type-options"]) == ("application/json", "nosniff")
    await browser.open("/")


async def test_a_page_that_follows_changes_gets_each_of_them(stack: HttpStack, browser: Browser) -> None:
    async with browser.web.stream("GET", "/ui/changes") as stream:
        lines = stream.aiter_lines()
        assert await anext(lines) == ": hello"
        made = await stack.engine.remember(RememberRequest(text="The tide turns at noon"), who=Caller())
        async for line in lines:
            if line.startswith("data:"):
                assert made.id in line
                break
    for last in ("many", "9" * 5_000):
        answer = await browser.web.get("/ui/changes", headers={"last-event-id": last})
        assert answer.status_code == 422
    assert (await browser.web.head("/ui/changes")).status_code == 405, "it would never end"


async def test_a_stranger_signs_in_with_a_token_and_out_again(home: Path) -> None:
    async with open_stack(settings_for(home, require_token=True)) as stack, Browser(stack.address) as browser:
        made = await stack.engine.remember(RememberRequest(text="The key is under the mat"), who=Caller())
        guest = await stack.token("guest", "default", access="read")
        page = await browser.open("/ui/memory", id=made.id)
        assert "Sign in" in page.text
        assert "mat" not in page.text
        assert "not valid" in (await browser.send("/ui/login", token="guess", status=401)).text
        # Where it leads afterwards is never another site.
        for target in ("https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"):
            await browser.send("/ui/login", token=guest.secret, next=target)
            assert browser.last is not None
            assert browser.last.url == f"{stack.address}/"
        page = await browser.send("/ui/login", token=guest.secret, next=f"/ui/memory?id={made.id}")
        assert "under the mat" in page.text
        session = browser.last.history[0].headers["set-cookie"]
        assert "HttpOnly" in session
        assert "SameSite=lax" in session
        space = (await browser.open("/ui/space")).text
        assert "schema" not in space, "the store holds the spaces of others too"
        # The session is for pages alone.
        assert (await browser.web.get("/api/v1/status")).status_code == 401
        await browser.send("/ui/logout")
        assert "Sign in" in (await browser.open("/")).text
        await browser.send("/ui/login", token=guest.secret)
        await stack.engine.revoke_token(RevokeTokenRequest(ref=guest.token.id), who=Caller())
        assert "Sign in" in (await browser.open("/")).text
        answer = await browser.web.post("/ui/logout", headers={"origin": stack.address})
        assert (answer.status_code, "signed out" in answer.text) == (401, True)
        metrics = await stack.token("metrics", access="metrics")
        await browser.send("/ui/login", token=metrics.secret, status=403)


@pytest.mark.parametrize(
    ("headers", "with_token"),
    [
        ({"origin": "https://evil.example"}, True),
        ({"origin": "http://127.0.0.1:1"}, True),
        ({"origin": "null"}, True),
        ({"sec-fetch-site": "cross-site"}, True),
        ({}, True),
        ({"origin": "own"}, False),
    ],
)
async def test_a_form_of_another_site_changes_nothing(
    stack: HttpStack, browser: Browser, headers: dict[str, str], with_token: bool
) -> None:
    await browser.open("/")
    sent = {name: stack.address if value == "own" else value for name, value in headers.items()}
    token = browser.web.cookies["scrubjay_form"] if with_token else "guess"
    answer: httpx2.Response = await browser.web.post("/ui/logout", data={"form_token": token}, headers=sent)
    assert answer.status_code == 403
