"""Takes the pictures of the dashboard for the documentation, from an invented store: `make pictures`."""

import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from tests.browser.conftest import CHROMIUM, Site
from tests.browser.invented import fill
from tests.surfaces.background_daemon import background_daemon

from scrubjay.settings import Settings

FOLDER = Path(__file__).parents[1] / "docs" / "images"
_SIZE = 1080, 720


def main() -> None:
    """Write one picture a page."""
    if not CHROMIUM:
        sys.exit("Chromium is missing (Debian, Ubuntu: apt-get install chromium-headless-shell)")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=os.path.join(home, "data"), embedder="none", vector_index="scan")  # noqa: PTH118
        with background_daemon(settings) as running, sync_playwright() as driver:
            site = Site(address=running.http)
            fill(site)
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            _take(browser, site, "dashboard-memory", f"/ui/memory?id={site.ids['gauge-decision']}", scheme="light")
            graph = f"/ui/graph?id={site.ids['gauge-decision']}&depth=4"
            _take(browser, site, "dashboard-graph", graph, scheme="dark", ready=".graph[data-settled]")
            browser.close()


def _take(browser: Browser, site: Site, name: str, path: str, *, scheme: str, ready: str = "main") -> None:
    width, height = _SIZE
    context = browser.new_context(
        base_url=site.address, color_scheme="dark" if scheme == "dark" else "light",
        viewport={"width": width, "height": height},
    )  # fmt: skip
    page = context.new_page()
    page.goto(path)
    page.wait_for_selector(ready)
    page.screenshot(path=FOLDER / f"{name}.png")
    context.close()


if __name__ == "__main__":
    main()
