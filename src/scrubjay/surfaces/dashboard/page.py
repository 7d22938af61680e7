"""What every page shares: the caller, the space, the guard of forms, and rendering."""

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.resources import files
from typing import TypeVar, cast
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from scrubjay.errors import InvalidInput, NotAllowed
from scrubjay.model.arguments import Request as VerbRequest
from scrubjay.model.caller import Access, Grant
from scrubjay.model.health import Alert
from scrubjay.model.identity import new_id
from scrubjay.surfaces.dashboard.addresses import address, local_path
from scrubjay.surfaces.http.auth_middleware import grant_of
from scrubjay.surfaces.http.browser_session import ASSETS, PREFIX, cookies_of
from scrubjay.surfaces.rest.deps import RequestContext, RestDependencies
from scrubjay.version import VERSION

__all__ = [
    "AGENT",
    "HEADERS",
    "PageCall",
    "View",
    "asset",
    "asset_address",
    "environment",
    "handle",
    "secure_cookies",
]

R = TypeVar("R")
AGENT = "dashboard"
"""The author of changes by a person without a token."""
FORM_COOKIE = "scrubjay_form"
FORM_FIELD = "form_token"
_POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Without a referrer at all, a browser sends no origin with a form.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "private, no-store",
}
_MAX_FIELDS = 1_000
_SEE_OTHER = 303
_SECONDS_PER_DAY = 86_400
_DIGEST_LENGTH = 12

# What the parts of a score mean, and the least weight that is worth naming.
_REASONS = {
    "context": "words nearby", "kin": "related words", "pair": "words in this order", "pairs": "words in this order",
    "phrase": "the phrase", "phrases": "the phrase", "date": "the date", "dates": "the date", "name": "a name",
    "manner": "how it is said", "standing": "recent or settled", "typos": "similar spelling", "reader": "it answers",
}  # fmt: skip
_LEAST_REASON = 0.3

NAVIGATION = (
    ("", "Search"),
    ("timeline", "Timeline"),
    ("browse", "Browse"),
    ("graph", "Graph"),
    ("inbox", "Inbox"),
    ("conflicts", "Conflicts"),
    ("curation", "Curation"),
    ("skills", "Skills"),
    ("jobs", "Jobs"),
    ("trash", "Trash"),
    ("health", "Health"),
    ("space", "Space"),
)
"""The pages that every page leads to, by name, with their labels."""
_FOR_WRITERS = ("health",)
DONE = {
    "revised": "Saved as a new version.",
    "reverted": "The earlier version is back, as a new one.",
    "branched": "The branch is made, and this memory is switched to it.",
    "merged": "The branch is merged into main.",
    "dropped": "The branch is in the trash.",
    "forgotten": "Moved to the trash.",
    "restored": "Back from the trash.",
    "confirmed": "Confirmed: it still holds.",
    "settled": "The conflict is settled.",
    "joined": "Merged into one memory.",
    "approved": "Approved.",
    "declined": "Declined: it is in the trash.",
    "curated": "The run is complete.",
    "undone": "Taken back.",
    "undone-some": "Taken back, except for what was changed since.",
    "undone-none": "Nothing was taken back: it has changed since.",
}
"""What a page says after a change, by the name of the change in its address."""

View = Callable[["PageCall"], Awaitable[Response]]


class PageCall:
    """One request for a page: its caller, its space and its form."""

    def __init__(self, request: Request, dependencies: RestDependencies) -> None:
        self.request = request
        self.dependencies = dependencies
        self.grant: Grant = grant_of(request.scope)
        self.grant.access.require(Access.READ, verb="the dashboard")
        self._cookies = cookies_of(request.headers)
        self.form_token = self._cookies.get(FORM_COOKIE, "")
        self.is_new_browser = not self.form_token
        self.form_token = self.form_token or secrets.token_urlsafe(24)
        self.form: dict[str, list[str]] = {}

    @cached_property
    def context(self) -> RequestContext:
        """The caller in the space of the page; what one request changes is one run, which `undo` takes back."""
        name = self.grant.name if self.grant.id else AGENT
        who = self.grant.caller(
            space=self.text("space") or self._default_space, agent=name, run=new_id(), default=self._default_space
        )
        return RequestContext(dependencies=self.dependencies, grant=self.grant, who=who)

    @property
    def _default_space(self) -> str:
        names = self.grant.named_spaces
        return names[0] if names else self.dependencies.space

    @property
    def space(self) -> str:
        """The space to name in addresses; empty for the default one."""
        chosen = self.context.who.space
        return "" if chosen == self._default_space else chosen

    def text(self, name: str) -> str:
        """Return a value of the form or of the query."""
        values = self.form.get(name)
        return values[0] if values else self.request.query_params.get(name, "")

    def texts(self, name: str) -> list[str]:
        """Return all values of the form or of the query that are not empty."""
        values = self.form[name] if name in self.form else self.request.query_params.getlist(name)
        return [value for value in values if value.strip()]

    def number(self, name: str, default: int | None = None) -> int | None:
        """Return a value as a number; raises InvalidInput."""
        text = self.text(name).strip()
        if not text:
            return default
        if not (text.isascii() and text.isdecimal() and len(text) < 18):  # noqa: PLR2004
            raise InvalidInput(f"{name} must be a number, not {text[:100]!r}", field=name)
        return int(text)

    async def call(self, request: VerbRequest[R]) -> R:
        """Carry out a verb for the caller."""
        return await self.context.call(request)

    async def read_form(self) -> None:
        """Read a form, and refuse one that did not come from a page of ours in the same browser."""
        headers = self.request.headers
        # The middleware has refused foreign origins; a browser tells one of the two with every form.
        if "origin" not in headers and headers.get("sec-fetch-site") != "same-origin":
            raise _foreign_form()
        pairs = parse_qsl((await self.request.body()).decode("utf-8", "replace"), keep_blank_values=True)
        if len(pairs) > _MAX_FIELDS:
            raise InvalidInput(f"the form has {len(pairs):,} fields", hint="Send fewer at once")
        for name, value in pairs:
            # A browser sends line ends as CR LF.
            self.form.setdefault(name, []).append(value.replace("\r\n", "\n"))
        sent = self.text(FORM_FIELD)
        if self.is_new_browser or not hmac.compare_digest(sent.encode(), self.form_token.encode()):
            raise _foreign_form()

    @property
    def guard(self) -> Markup:
        """The hidden fields of every form: the proof that it comes from a page of ours, and its space."""
        return Markup('<input type="hidden" name="{}" value="{}"><input type="hidden" name="space" value="{}">').format(
            FORM_FIELD, self.form_token, self.space
        )

    def address(self, page: str = "", **query: object) -> str:
        """Return the address of a page in the same space."""
        return address(page, space=self.space, **query)

    def render(self, template: str, *, status: int = 200, **values: object) -> Response:
        """Return a page."""
        may_write = self.grant.access is not Access.READ
        shown = environment().get_template(template).render(
            page=self, url=self.address, space=self.space, did=DONE.get(self.text("did"), ""), guard=self.guard,
            undo_run="" if self.text("did").startswith("undone") else self.text("run"),
            navigation=[link for link in NAVIGATION if may_write or link[0] not in _FOR_WRITERS],
            may_write=may_write, may_decide=self.grant.access is Access.WRITE,
            alerts=self._alerts, now=datetime.now(UTC), **values,
        )  # fmt: skip
        response = HTMLResponse(shown.encode("utf-8", "replace"), status_code=status, headers=HEADERS)
        if self.is_new_browser:
            secure_cookies(self.request, response, FORM_COOKIE, self.form_token)
        return response

    @property
    def _alerts(self) -> Sequence[Alert]:
        """The alerts that the daemon has seen when it last looked, of this space, and of the store for its owner."""
        reporter = self.dependencies.engine.reporter
        if reporter is None or self.grant.access is Access.READ:
            return ()
        spaces = (self.context.who.space, *([""] if self.grant.allows_all_spaces else []))
        return [alert for alert in reporter.watch.lasting if alert.space in spaces]

    def redirect(self, page: str, *, did: str = "", **query: object) -> Response:
        """Return a redirection after a change; `did` names it, and its run can be taken back."""
        return self.redirect_run(page, self.context.who.run if did else "", did=did, **query)

    def redirect_run(self, page: str, run: str, *, did: str, **query: object) -> Response:
        """Return a redirection after a change whose run has a name of its own."""
        return RedirectResponse(self.address(page, **query, did=did, run=run), status_code=_SEE_OTHER, headers=HEADERS)

    def redirect_back(self, *, did: str = "", default: str = "") -> Response:
        """Return a redirection to the page that the form names, else to a default one."""
        target = local_path(self.text("back")) if self.text("back") else self.address(default)
        query = address("", did=did, run=self.context.who.run if did else "").partition("?")[2]
        joined = f"{target}{'&' if '?' in target else '?'}{query}" if query else target
        return RedirectResponse(joined, status_code=_SEE_OTHER, headers=HEADERS)

    @property
    def here(self) -> str:
        """The address of this page without what the last change left in it."""
        pairs = [pair for pair in self.request.query_params.multi_items() if pair[0] not in ("did", "run", "space")]
        values: dict[str, list[str]] = {}
        for name, value in pairs:
            values.setdefault(name, []).append(value)
        return self.address(self.name, **values)

    @property
    def name(self) -> str:
        """The name of this page; empty for the home page."""
        return self.request.url.path.removeprefix(PREFIX).strip("/")


def handle(view: View, dependencies: RestDependencies) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a view."""

    async def endpoint(request: Request) -> Response:
        page = PageCall(request, dependencies)
        if request.method == "POST":
            await page.read_form()
        return await view(page)

    return endpoint


def secure_cookies(request: Request, response: Response, name: str, value: str, *, days: int = 365) -> None:
    """Set a cookie that no script reads and no other site sends; behind TLS it stays there."""
    is_encrypted = request.headers.get("origin", "").startswith("https:") or request.url.scheme == "https"
    response.set_cookie(
        name, value, max_age=days * _SECONDS_PER_DAY, path="/", secure=is_encrypted, httponly=True, samesite="lax"
    )


@cache
def asset(name: str) -> bytes | None:
    """Return a file that pages load; None if there is none of this name."""
    folder = files("scrubjay.surfaces.dashboard").joinpath("assets")
    return next((item.read_bytes() for item in folder.iterdir() if item.is_file() and item.name == name), None)


@cache
def asset_address(name: str) -> str:
    """Return the address of a file, which changes with its content, so that a browser may keep it for ever."""
    return f"{ASSETS}{name}?v={hashlib.sha256(asset(name) or b'').hexdigest()[:_DIGEST_LENGTH]}"


@cache
def environment() -> Environment:
    """Return the templates; whatever they show is escaped."""
    env = Environment(
        loader=PackageLoader("scrubjay.surfaces.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters, names = cast("dict[str, object]", env.filters), cast("dict[str, object]", env.globals)
    filters |= {"day": _day, "moment": _moment, "ago": _ago, "count": _count, "reasons": _reasons}
    names |= {"asset": asset_address, "version": VERSION}
    return env


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def _moment(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def _ago(moment: datetime | None, now: datetime) -> str:
    """Return how long ago a time was, in the largest unit that fits."""
    if moment is None:
        return ""
    seconds = (now - moment).total_seconds()
    for unit, size in (("year", 31_557_600), ("month", 2_629_800), ("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def _reasons(why: Sequence[str]) -> str:
    """Return the reasons for a hit in a few words: which of its words are those of the question, and what else counts.

    Recall explains a score by its parts, each with a number: `words 4.10: sarah, reach`, `name +0.50`.
    """
    reasons: list[str] = []
    for part in why:
        name, _, rest = part.partition(" ")
        number, _, about = rest.partition(": ")
        try:
            weighs = float(number) >= _LEAST_REASON
        except ValueError:
            reasons.append(part)
            continue
        if weighs and name != "sum":
            reasons.append(f"{name} {about}" if name == "words" and about else _REASONS.get(name, name))
    return ", ".join(dict.fromkeys(reasons)) or "it is near"


def _foreign_form() -> NotAllowed:
    return NotAllowed(
        "this form does not come from a page of the dashboard in this browser, so nothing was changed",
        hint="Open the page again, and send the form from there; cookies must be allowed for this address",
        header="Origin",
    )
