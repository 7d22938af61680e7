"""A browser without scripts: it keeps cookies, follows redirections, and sends the forms that it was shown."""

from collections.abc import Mapping
from html.parser import HTMLParser
from types import TracebackType
from typing import Self

import httpx2
from tests.patience import PATIENCE

SCHEMES = ("http:", "https:", "mailto:", "tel:")


class ShownPage(HTMLParser):
    """A page: its text, its links, and whatever could run."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.links: list[str] = []
        self.active: list[str] = []
        self.fields: dict[str, str] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "a":
            self.links.append(values.get("href", ""))
        if tag == "input" and values.get("type") == "hidden":
            self.fields[values["name"]] = values.get("value", "")
        self.active += [f"{tag} {name}" for name in values if name.startswith("on") or name in ("style", "srcdoc")]
        is_chart = tag == "svg" and values.get("class") == "chart"
        if tag in ("iframe", "object", "embed", "style", "base", "svg", "math") and not is_chart:
            self.active.append(tag)
        if tag == "script" and not values.get("src", "").startswith("/ui/assets/"):
            self.active.append(tag)
        addresses = [values[name] for name in ("href", "src", "action", "formaction") if name in values]
        self.active += [address for address in addresses if not address.startswith(("/", "#", *SCHEMES))]
        self.active += [address for address in addresses if address.startswith(("//", "/\\"))]
        if tag in ("img", "link", "script", "form") and not all(address.startswith("/") for address in addresses):
            self.active.append(f"{tag} from elsewhere")

    def handle_data(self, data: str) -> None:
        self.text += data


class Browser:
    """Visits the pages of a server."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.web = httpx2.AsyncClient(base_url=address, timeout=PATIENCE, follow_redirects=True)
        self.last: httpx2.Response | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.web.aclose()

    async def open(self, path: str, *, status: int = 200, **query: str) -> ShownPage:
        """Visit a page, and check that nothing on it can run but our own files."""
        return self._check(await self.web.get(path, params=query or None), status)

    async def send(
        self, path: str, form: Mapping[str, str | list[str]] | None = None, *, status: int = 200, **fields: str
    ) -> ShownPage:
        """Send a form as a page of the server does, and return the page that follows."""
        token = self.web.cookies.get("scrubjay_form", "")
        response = await self.web.post(
            path, data={**(form or {}), "form_token": token, **fields}, headers={"origin": self.address}
        )  # fmt: skip
        return self._check(response, status)

    def _check(self, response: httpx2.Response, status: int) -> ShownPage:
        self.last = response
        assert response.status_code == status, f"{response.status_code}: {response.text[-1500:]}"
        policy = response.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        shown = ShownPage(response.text)
        assert shown.active == []
        return shown
