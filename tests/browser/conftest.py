"""A daemon with an invented store, and Chromium, which visits its pages. `make test-browser` runs these tests."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from tests.browser.invented import fill
from tests.surfaces.background_daemon import background_daemon

from scrubjay.settings import Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

IS_REQUIRED = os.environ.get("SCRUBJAY_TEST_BROWSER") == "required"
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("SCRUBJAY_TEST_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), "")

HAS_PACKAGES = all(find_spec(name) for name in ("playwright", "axe_playwright_python"))
MISSING = (
    "the packages of requirements/browser.txt" if not HAS_PACKAGES
    else "" if CHROMIUM
    else "Chromium (Debian, Ubuntu: apt-get install chromium-headless-shell)"
)  # fmt: skip
if MISSING:
    if IS_REQUIRED:
        raise RuntimeError(f"the tests in a browser need {MISSING}")
    collect_ignore_glob = ["test_*.py"]

Show = Callable[[str], None]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MISSING:
        terminalreporter.write_line(f"tests/browser is skipped: it needs {MISSING}")
    for line in _figures:
        terminalreporter.write_line(line)


_figures: list[str] = []


@pytest.fixture
def show() -> Show:
    """Print a figure at the end."""
    return _figures.append


@dataclass(slots=True, kw_only=True)
class Site:
    """A daemon, and what its invented store has."""

    address: str
    data: Path = field(default_factory=Path)
    ids: dict[str, str] = field(default_factory=dict[str, str])

    def call(self, path: str, body: object, *, space: str = "default", method: str = "POST") -> Any:
        """Call REST, as an agent does."""
        answer = httpx2.request(
            method, f"{self.address}/api/v1{path}", json=body, params={"space": space}, timeout=60,
            headers={"x-scrubjay-agent": "assistant"},
        )  # fmt: skip
        assert answer.is_success, answer.text
        return answer.json()

    def remember(self, text: str, name: str, *, space: str = "default", **fields: object) -> str:
        """Store a memory, and return its id."""
        made = self.call("/memories", {"text": text, "name": name, "intent": "new", **fields}, space=space)
        self.ids[name] = made["id"]
        return made["id"]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("site") / "data"
    with background_daemon(Settings(home=str(home), embedder="none", vector_index="scan", readers=1)) as running:
        site = Site(address=running.http, data=home)
        fill(site)
        yield site


@pytest.fixture(scope="session")
def chromium() -> "Iterator[Browser]":
    # Loaded here: without it one can still run the other tests.
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # The system's account of a container may have no right to make sandboxes.
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: "Browser", site: Site) -> "Iterator[BrowserContext]":
    context = chromium.new_context(base_url=site.address)
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def page(context: "BrowserContext", site: Site) -> "Iterator[Page]":
    """A page on which nothing may fail, and from which nothing may be asked of another site."""
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (problems.append(f"dialog: {dialog.message}"), dialog.dismiss())[0])
    page.on("console", lambda line: problems.append(line.text) if "Content Security Policy" in line.text else None)
    page.on("request", lambda sent: problems.append(sent.url) if not sent.url.startswith(site.address) else None)
    yield page
    assert problems == []
