"""The page of tokens: what the owner sees and does there."""

from pathlib import Path

import pytest
from tests.surfaces.dashboard.browser import Browser, ShownPage
from tests.surfaces.dashboard.conftest import settings_for
from tests.surfaces.rest.http_stack import open_stack

from scrubjay.auth.owner_ticket import issue_ticket
from scrubjay.paths import owner_ticket_file
from scrubjay.surfaces.dashboard import tokens as tokens_page


async def owner_page(browser: Browser, home: Path) -> ShownPage:
    return await browser.open("/ui/owner", ticket=issue_ticket(owner_ticket_file(home)))


async def test_the_owner_lists_creates_and_revokes_tokens(browser: Browser, home: Path) -> None:
    page = await owner_page(browser, home)
    assert "There are none yet." in page.text
    owner = page.fields["owner"]
    made = {"action": "create", "name": "<b>laptop</b>", "access": "agent", "spaces": "work, home", "expires": "90d"}
    page = await browser.send("/ui/owner", made, owner=owner, mcp_only="on")
    assert "it is never shown again" in page.text
    assert browser.last is not None
    secret = browser.last.text.partition('class="secret">')[2].partition("<")[0]
    headers = {"authorization": f"Bearer {secret}"}
    assert (await browser.web.get("/api/v1/status", headers=headers)).json()["reason"] == "mcp_only"
    for shown in ("<b>laptop</b>", "agent, MCP alone", "work, home", "live", "Revoke <b>laptop</b>"):
        assert shown in page.text

    # It is shown once; what cannot be done is said on the same page.
    page = await browser.send("/ui/owner", owner=owner)
    assert secret not in (browser.last.text if browser.last else "")
    for wrong, status in (({"name": "<b>laptop</b>"}, 409), ({"expires": "soon"}, 422), ({"access": "owner"}, 422)):
        page = await browser.send("/ui/owner", {**made, "name": "other", **wrong}, owner=owner, status=status)
        assert "Create a token" in page.text
    page = await browser.send("/ui/owner", {"action": "revoke", "id": page.fields["id"]}, owner=owner)
    assert "revoked" in page.text
    assert (await browser.web.get("/api/v1/status", headers=headers)).status_code == 401
    await browser.send("/ui/owner", {"action": "revoke", "id": "nothing"}, owner=owner, status=409)


async def test_a_tab_ends_when_it_is_not_used(
    browser: Browser, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    owner = (await owner_page(browser, home)).fields["owner"]
    await browser.send("/ui/owner", owner=owner)
    monkeypatch.setattr(tokens_page, "_IDLE_SECONDS", -1.0)
    await browser.send("/ui/owner", owner=owner, status=403)
    monkeypatch.undo()
    await browser.send("/ui/owner", owner=owner, status=403)
    first = (await owner_page(browser, home)).fields["owner"]
    last = [(await owner_page(browser, home)).fields["owner"] for _ in range(20)][-1]
    await browser.send("/ui/owner", owner=first, status=403)
    await browser.send("/ui/owner", owner=last)


async def test_where_a_token_is_required_the_owner_signs_in_first(home: Path) -> None:
    async with open_stack(settings_for(home, require_token=True)) as stack, Browser(stack.address) as browser:
        page = await owner_page(browser, home)
        assert "Sign in" in page.text
        guest = await stack.token("guest", "default", access="read")
        page = await browser.send("/ui/login", token=guest.secret, next=page.fields["next"])
        assert "Create a token" in page.text
        assert "guest" in page.text
