"""What a person does in a browser, and sees."""

import json
import re
from pathlib import Path
from socket import socket
from typing import Any, cast

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect
from tests.browser.conftest import Show, Site
from tests.browser.panning import FRAMES_WHILE_PANNING
from tests.surfaces.background_daemon import background_daemon

from scrubjay.auth.owner_ticket import issue_ticket
from scrubjay.paths import owner_ticket_file
from scrubjay.settings import Settings

LARGE = 5_000


def test_search_edit_compare_revert_and_undo(page: Page, site: Site) -> None:
    page.goto("/")
    page.get_by_role("searchbox").press_sequentially("when does the office close")
    hit = page.get_by_role("listitem").filter(has_text="Office hours")
    expect(hit).to_be_visible()
    expect(hit.get_by_text("Why: words")).to_be_visible()
    assert "q=when+does+the+office+close" in page.url

    hit.get_by_role("link", name="Office hours").click()
    expect(page.get_by_role("heading", level=1, name="Office hours")).to_be_visible()
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_label("Text").fill("The office closes at **seven**")
    page.get_by_label("Why (kept in the history)").fill("as the door says")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="Saved as a new version")).to_be_visible()
    expect(page.locator(".prose strong")).to_have_text("seven")

    page.get_by_role("link", name="All versions").click()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("del")).to_have_text("-The office closes at six")
    expect(page.locator("ins")).to_have_text("+The office closes at **seven**")
    page.get_by_role("button", name="Go back to version 1").click()
    expect(page.locator(".prose")).to_have_text("The office closes at six")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".prose")).to_have_text("The office closes at seven")

    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("heading", name="Office hours")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Taken back.")).to_be_visible()
    page.goto("/ui/search?q=office")
    expect(page.get_by_role("link", name="Office hours")).to_be_visible()


def test_settle_a_conflict_approve_what_waits_and_run_a_skill(page: Page) -> None:
    page.goto("/ui/conflicts?space=conflicts")
    expect(page.get_by_text("Ann lives in Paris")).to_be_visible()
    page.get_by_role("button", name="A holds").click()
    expect(page.get_by_text("The conflict is settled.")).to_be_visible()
    expect(page.get_by_text("Ann lives in Paris")).to_be_hidden()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Ann lives in Paris")).to_be_visible()

    page.goto("/ui/inbox?space=inbox")
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("Nothing waits.")).to_be_visible()

    page.goto("/ui/skills")
    page.get_by_role("link", name="count_kind").click()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("heading", name="Result")).to_be_visible()


def test_a_list_follows_what_agents_write(page: Page, site: Site) -> None:
    with page.expect_response(lambda answer: "/ui/changes" in answer.url):
        page.goto("/ui/timeline?space=live")
    expect(page.get_by_text("Nothing in this time.")).to_be_visible()
    site.remember("The tide turns at noon", "tide", space="live")
    expect(page.get_by_role("link", name="tide")).to_be_visible()


def test_a_page_outlives_a_restart_of_the_daemon(context: BrowserContext, tmp_path: Path) -> None:
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    settings = Settings(home=str(tmp_path / "data"), embedder="none", vector_index="scan", readers=1)
    page = context.new_page()
    with background_daemon(settings, http=place):
        with page.expect_response(lambda answer: "/ui/changes" in answer.url):
            page.goto(f"http://{place}/ui/timeline")
        Site(address=f"http://{place}").remember("Before the storm", "before")
        expect(page.get_by_role("link", name="before")).to_be_visible()
    expect(page.get_by_text("The server cannot be reached")).to_be_visible()
    with background_daemon(settings, http=place):
        Site(address=f"http://{place}").remember("After the storm", "after")
        expect(page.get_by_role("link", name="after")).to_be_visible(timeout=20_000)
        expect(page.get_by_text("The server cannot be reached")).to_be_hidden()
        page.get_by_role("link", name="after").click()
        page.get_by_role("button", name="Forget").click()
        expect(page.get_by_text("Moved to the trash.")).to_be_visible()
        page.close()


def test_a_neighbourhood_is_drawn_and_a_memory_chosen(page: Page, site: Site) -> None:
    page.goto(f"/ui/graph?id={site.ids['gauge-decision']}&depth=1")
    page.wait_for_selector(".graph[data-settled]")
    canvas = page.locator(".graph canvas")
    box = canvas.bounding_box()
    assert box is not None
    # Something is drawn, in more than the colour of the ground.
    colours = canvas.evaluate(
        "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    )
    assert colours > 3
    for y in range(20, 96, 4):
        for x in range(4, 96, 4):
            page.mouse.click(box["x"] + box["width"] * x / 100, box["y"] + box["height"] * y / 100)
            if page.locator(".graph .chosen a").count():
                page.locator(".graph .chosen a").click()
                expect(page.get_by_role("heading", level=1)).not_to_have_text("Graph")
                return
    raise AssertionError("no node could be chosen")


def test_a_graph_of_five_thousand_moves_with_the_hand(page: Page, show: Show) -> None:
    nodes = [{"id": str(n), "label": f"memory {n}", "kind": f"kind {n % 9}", "start": False} for n in range(LARGE)]
    edges = [[n, n // 3, "near"] for n in range(1, LARGE)] + [[n, (n * 7) % LARGE, "near"] for n in range(0, LARGE, 4)]
    body = json.dumps({"nodes": nodes, "edges": edges, "truncated": False})

    def answer(route: Route) -> None:
        route.fulfill(body=body, content_type="application/json")

    page.route("**/ui/graph-data*", answer)
    page.goto("/ui/graph")
    expect(page.locator(".graph canvas")).to_be_visible()
    frames = page.locator(".graph").evaluate(FRAMES_WHILE_PANNING)
    show(f"{frames:.0f} frames a second while a graph of {LARGE:,} is moved and laid out")
    assert frames >= 5


def test_the_owner_creates_and_revokes_a_token(page: Page, site: Site) -> None:
    page.goto(f"/ui/owner?ticket={issue_ticket(owner_ticket_file(site.data))}")
    page.get_by_label("Holder").fill("laptop")
    page.get_by_label("May", exact=True).select_option("agent")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("it is never shown again")).to_be_visible()
    violations = cast("list[dict[str, Any]]", Axe().run(page).response["violations"])
    assert [violation["id"] for violation in violations if violation["impact"] in ("serious", "critical")] == []
    row = page.get_by_role("row").filter(has_text="laptop")
    row.get_by_role("button", name="Revoke laptop").click()
    expect(row.get_by_text("revoked")).to_be_visible()
    expect(page.get_by_text("it is never shown again")).to_be_hidden()


def test_without_javascript_search_and_reading_work(chromium: Browser, site: Site) -> None:
    context = chromium.new_context(base_url=site.address, java_script_enabled=False)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("searchbox").fill("tide gauges report")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="How the tide gauges report").click()
    expect(page.get_by_role("cell", name="office and Tomas")).to_be_visible()
    page.get_by_role("link", name="sarah").first.click()
    expect(page.get_by_text("voice calls")).to_be_visible()
    page.goto("/ui/graph")
    expect(page.get_by_role("link", name="How the tide gauges report")).to_be_visible()
    context.close()


def test_the_first_view_is_small(page: Page, show: Show) -> None:
    sizes: dict[str, int] = {}
    page.on("response", lambda answer: sizes.update({answer.url: int(answer.headers.get("content-length", 0))}))
    page.goto("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    milliseconds = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    show(f"first view: {sum(sizes.values()):,} bytes in {len(sizes)} responses, {milliseconds:.0f} ms")
    assert sum(sizes.values()) <= 500_000
    assert re.search(r"/ui/assets/dashboard\.css\?v=", " ".join(sizes))
