"""Every page, for people who use a keyboard, a screen reader or a phone, and with hostile memories."""

from typing import Any, cast

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from tests.browser.conftest import Site
from tests.surfaces.dashboard.test_safety import PAYLOADS

from scrubjay.surfaces.dashboard.app import GET_PAGES

# What a page is about; the others need nothing.
ABOUT = {"memory": "id", "history": "id", "edit": "id"}
NAMES = sorted(GET_PAGES.keys() - {"results", "graph-data"})
SERIOUS = ("serious", "critical")


def address_of(name: str, ref: str) -> str:
    if name == "skill":
        return "/ui/skill?name=count_kind"
    return f"/ui/{name}?id={ref}" if name in ABOUT else f"/ui/{name}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_violation_of_accessibility(chromium: Browser, site: Site, scheme: str) -> None:
    context = chromium.new_context(
        base_url=site.address, color_scheme=cast("Any", scheme), reduced_motion="reduce",
        viewport={"width": 1200, "height": 800} if scheme == "light" else {"width": 390, "height": 800},
    )  # fmt: skip
    page = context.new_page()
    addresses = [address_of(name, site.ids["gauge-decision"]) for name in NAMES]
    addresses += ["/", "/ui/login", "/ui/nothing", f"/ui/history?id={site.ids['gauge-decision']}&a=1&b=1"]
    addresses += ["/ui/conflicts?space=conflicts", "/ui/inbox?space=inbox", "/ui/search?q=gauges", "/?space=empty"]
    problems: list[str] = []
    # All rules take two seconds a page; in the dark and on a phone, only colours and sizes differ.
    options = {"resultTypes": ["violations"]} | ({} if scheme == "light" else {"runOnly": ["color-contrast"]})
    for address in addresses:
        page.goto(address)
        violations = cast("list[dict[str, Any]]", Axe().run(page, options=options).response["violations"])
        problems += [
            f"{address}: {violation['id']}: {violation['nodes'][0]['html'][:150]}"
            for violation in violations
            if violation["impact"] in SERIOUS
        ]
        # On a phone nothing is wider than the screen.
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            problems.append(f"{address} is wider than the screen")
    context.close()
    assert problems == []


def test_nothing_that_a_memory_contains_runs(page: Page, site: Site) -> None:
    for number, payload in enumerate(PAYLOADS):
        short = payload.replace("\n", " ")[:200]
        made = site.call(
            "/memories",
            {
                "text": payload, "title": short, "kind": short, "entities": [short], "tags": [short], "intent": "new",
                "observations": [payload], "project": short, "name": f"payload-{number}",
            },
            space="hostile",
        )  # fmt: skip
        for name in ABOUT:
            page.goto(f"/ui/{name}?id={made['id']}&space=hostile")
    for name in ("search", "timeline", "browse", "graph", "search?q=alert"):
        page.goto(f"/ui/{name}{'&' if '?' in name else '?'}space=hostile")
        if name == "graph":
            page.wait_for_selector(".graph canvas")
    page.goto("/?space=hostile")
    page.get_by_role("searchbox").press_sequentially("<img src=x onerror=alert(1)>")
    page.wait_for_function("document.getElementById('results').getAttribute('aria-busy') === 'false'")
    assert (
        page.evaluate(
            "document.querySelectorAll('main script:not([src]), main img, main iframe, main [onerror]').length"
        )
        == 0
    )


def test_another_site_can_neither_frame_it_nor_send_its_forms(chromium: Browser, site: Site) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{site.address}/")
    target = site.ids["backup"]
    page.route(
        "http://elsewhere.example/",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f"<iframe src='{site.address}/'></iframe><form method=post action='{site.address}/ui/forget'>"
            f"<input name=id value='{target}'></form><script>document.forms[0].submit()</script>",
        ),
    )
    with page.expect_response(f"{site.address}/ui/forget") as answer:
        page.goto("http://elsewhere.example/")
    assert answer.value.status == 403
    page.goto(f"{site.address}/ui/memory?id={target}")
    assert "trashed" not in page.content()
    context.close()
