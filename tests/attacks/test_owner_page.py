"""Only the owner of the data manages tokens in a browser."""

import os
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from scrubjay.auth.owner_ticket import TICKET_SECONDS, issue_ticket, redeem_ticket
from scrubjay.model.caller import Caller
from scrubjay.model.requests import TokensRequest
from scrubjay.paths import owner_ticket_file
from scrubjay.settings import Settings
from tests.surfaces.dashboard.browser import Browser
from tests.surfaces.rest.http_stack import HttpStack, open_stack

_CREATE = {"action": "create", "name": "intruder", "access": "write", "spaces": "*"}


@pytest.fixture
async def stack(settings: Settings) -> AsyncGenerator[HttpStack]:
    """A server on this machine that requires no token."""
    async with open_stack(settings) as stack:
        yield stack


@pytest.fixture
async def browser(stack: HttpStack) -> AsyncGenerator[Browser]:
    """The browser of the owner."""
    async with Browser(stack.address) as browser:
        await browser.open("/")
        yield browser


async def _count(stack: HttpStack) -> int:
    return len(await stack.engine.tokens(TokensRequest(), who=Caller()))


async def test_reaching_the_port_is_not_enough(stack: HttpStack, browser: Browser, settings: Settings) -> None:
    """Who reaches the port without a token, or signs in with one that may write, neither sees nor makes tokens."""
    writer = await stack.token("writer", "*", access="write")
    issue_ticket(owner_ticket_file(settings.data))
    for headers in ({}, {"authorization": f"Bearer {writer.secret}"}):
        browser.web.headers.update(headers)
        for ticket in ("", "guess", "é" * 50):
            page = await browser.open("/ui/owner", ticket=ticket, status=403)
            assert "writer" not in page.text
        for owner in ("", "guess"):
            await browser.send("/ui/owner", _CREATE, owner=owner, status=403)
    assert await _count(stack) == 1


async def test_the_address_is_valid_once(stack: HttpStack, browser: Browser, settings: Settings) -> None:
    """The ticket in the address is valid once, even if others read it later, and wrong ones do not use it up."""
    ticket = issue_ticket(owner_ticket_file(settings.data))
    await browser.open("/ui/owner", ticket="guess", status=403)
    page = await browser.open("/ui/owner", ticket=ticket)
    await browser.open("/ui/owner", ticket=ticket, status=403)
    assert ticket not in page.fields.values()
    assert page.fields["owner"] not in str(browser.web.cookies)
    await browser.send("/ui/owner", _CREATE, owner=ticket, status=403)
    assert await _count(stack) == 0


async def test_another_site_cannot_use_the_tab_of_the_owner(
    stack: HttpStack, browser: Browser, settings: Settings
) -> None:
    """A form of another site, or of another port, is refused even with the secret of the tab."""
    page = await browser.open("/ui/owner", ticket=issue_ticket(owner_ticket_file(settings.data)))
    fields = {**_CREATE, **page.fields}
    for origin in ("https://elsewhere.example", "http://127.0.0.1:1", "null"):
        answer = await browser.web.post("/ui/owner", data=fields, headers={"origin": origin})
        assert answer.status_code == 403
    assert await _count(stack) == 0


def test_a_ticket_is_short_lived_and_for_the_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ticket ends after two minutes; its file has its hash alone, and must be the owner's."""
    file = tmp_path / "owner.ticket"
    first, second = issue_ticket(file), issue_ticket(file)
    assert (file.stat().st_mode & 0o777, second in file.read_text()) == (0o600, False)
    assert not redeem_ticket(file, first)
    before = file.read_text()
    at = float(re.sub(r'.*"at": ([0-9.]+).*', r"\1", before))
    file.write_text(before.replace(str(at), str(at - TICKET_SECONDS - 1)))
    assert not redeem_ticket(file, second)
    file.write_text(before.replace(str(at), str(at + 3600)))
    assert not redeem_ticket(file, second)
    for damaged in ("", "[]", "{", '{"digest": 1, "at": "soon"}'):
        file.write_text(damaged)
        assert not redeem_ticket(file, second)
    file.write_text(before)
    link = tmp_path / "link.ticket"
    link.symlink_to(file)
    assert not redeem_ticket(link, second)
    with monkeypatch.context() as patched:
        patched.setattr(os, "getuid", lambda: os.geteuid() + 1)
        assert not redeem_ticket(file, second)
    assert redeem_ticket(file, second)
    assert not file.exists()
