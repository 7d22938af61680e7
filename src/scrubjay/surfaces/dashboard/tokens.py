"""The page of the owner: tokens are listed, created and revoked, by the tab that `scrubjay open --owner` has opened."""

import hashlib
import secrets
import time
from pathlib import Path
from typing import TypeVar

from starlette.responses import Response

from scrubjay.auth.owner_ticket import redeem_ticket
from scrubjay.errors import Conflict, InvalidInput, NotAllowed, NotFound, ScrubjayError
from scrubjay.model.arguments import Request as VerbRequest
from scrubjay.model.caller import OWNER, TOKEN_LEVELS
from scrubjay.model.requests import CreateTokenRequest, RevokeTokenRequest, TokensRequest
from scrubjay.model.token import NewToken
from scrubjay.surfaces.dashboard.page import AGENT, PageCall
from scrubjay.surfaces.rest.deps import RequestContext

__all__ = ["OwnerTabs", "change_tokens", "show_tokens"]

R = TypeVar("R")
_IDLE_SECONDS = 1_800.0
_MAX_TABS = 20
_CONFLICT, _INVALID = 409, 422


class OwnerTabs:
    """The tabs in which the owner manages tokens. Each has a secret in its forms, and ends half an hour after its last.

    The secret is in no cookie: a browser sends the cookies of 127.0.0.1 to every port of the machine, and with every
    request. It is in no address either, but for the ticket, which is valid once.
    """

    def __init__(self, ticket_file: Path) -> None:
        self._ticket_file = ticket_file
        # The digest of each secret, with the time of its last use, the latest at the end.
        self._tabs: dict[bytes, float] = {}

    def open(self, ticket: str) -> str:
        """Return the secret of a new tab for a ticket; raises NotAllowed."""
        if not redeem_ticket(self._ticket_file, ticket):
            raise _not_the_owner()
        secret = secrets.token_urlsafe(32)
        self._tabs[_digest(secret)] = time.monotonic()
        while len(self._tabs) > _MAX_TABS:
            del self._tabs[next(iter(self._tabs))]
        return secret

    def require(self, secret: str) -> None:
        """Raise NotAllowed unless the secret is that of a tab in use."""
        used_at = self._tabs.pop(_digest(secret), None)
        if used_at is None or time.monotonic() - used_at > _IDLE_SECONDS:
            raise _not_the_owner()
        self._tabs[_digest(secret)] = time.monotonic()


async def show_tokens(page: PageCall) -> Response:
    """Show the tokens to the holder of a ticket."""
    return await _render(page, _tabs_of(page).open(page.text("ticket")))


async def change_tokens(page: PageCall) -> Response:
    """Create or revoke a token for a tab of the owner; without a change show them again."""
    secret = page.text("owner")
    _tabs_of(page).require(secret)
    created: NewToken | None = None
    try:
        if page.text("action") == "create":
            created = await _call(
                page,
                CreateTokenRequest.of(
                    name=page.text("name"), access=page.text("access"), expires=page.text("expires").strip(),
                    spaces=tuple(name.strip() for name in page.text("spaces").split(",") if name.strip()),
                    mcp_only=page.text("mcp_only") == "on",
                ),
            )  # fmt: skip
        elif page.text("action") == "revoke":
            await _call(page, RevokeTokenRequest(ref=page.text("id")))
    except (InvalidInput, Conflict, NotFound) as error:
        return await _render(page, secret, problem=error)
    return await _render(page, secret, created=created)


async def _render(
    page: PageCall, secret: str, *, created: NewToken | None = None, problem: ScrubjayError | None = None
) -> Response:  # fmt: skip
    status = 200 if problem is None else _INVALID if isinstance(problem, InvalidInput) else _CONFLICT
    return page.render(
        "tokens.html", status=status, tokens=await _call(page, TokensRequest()), owner=secret, created=created,
        problem=problem, levels=TOKEN_LEVELS,
    )  # fmt: skip


async def _call(page: PageCall, request: VerbRequest[R]) -> R:
    """Carry out a verb for the owner of the data, not for who has signed in to the other pages."""
    who = OWNER.caller(space=page.context.who.space, agent=AGENT)
    return await RequestContext(dependencies=page.dependencies, grant=OWNER, who=who).call(request)


def _tabs_of(page: PageCall) -> OwnerTabs:
    tabs: OwnerTabs = page.request.app.state.owner_tabs
    return tabs


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def _not_the_owner() -> NotAllowed:
    return NotAllowed(
        "this page is for the owner of the data, and its address is valid once and for two minutes",
        hint="Run `scrubjay open --owner` on the machine of the data",
    )
