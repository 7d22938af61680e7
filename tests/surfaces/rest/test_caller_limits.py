"""Limits for each caller, and callers that are kept apart."""

import asyncio

import httpx2
import pytest
from tests.surfaces.rest.checked_client import open_client
from tests.surfaces.rest.http_stack import HttpStack, open_stack
from tests.surfaces.rest.polling import wait_until
from tests.surfaces.rest.raw_client import open_raw_client, request

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.caller import Caller
from scrubjay.settings import Settings

_MANY = 400


async def _fill(stack: HttpStack, space: str) -> None:
    memory = MemoryClient.over(stack.engine, Caller(space=space))
    await asyncio.gather(*(memory.remember(f"{number} " + "acorn " * 400, intent="new") for number in range(_MANY)))


async def _wait_for_running(stack: HttpStack, *, is_running: bool) -> None:
    async def condition() -> bool:
        return bool(stack.gate.active) is is_running

    await wait_until(condition)


async def test_an_unread_export_ends_when_its_client_disconnects(settings: Settings) -> None:
    async with open_stack(settings) as stack:
        await _fill(stack, "default")
        for method, path in (("POST", "/call/export"), ("GET", "/api/v1/export")) * 3:
            async with open_raw_client(stack.address) as raw:
                await raw.send(request(method, path, *(["content-length: 0"] if method == "POST" else [])))
                await _wait_for_running(stack, is_running=True)
            await _wait_for_running(stack, is_running=False)


async def test_public_paths_accept_no_body(settings: Settings) -> None:
    async with open_stack(settings) as stack, open_raw_client(stack.address) as raw:
        reply = await raw.request("POST", "/healthz", "content-length: 1000000")
        assert reply.status == 413


async def test_an_import_is_limited_by_its_token(settings: Settings) -> None:
    async with open_stack(settings) as stack:
        token = await stack.token("small", "ann", body_bytes=200)
        headers = {"authorization": f"Bearer {token.secret}"}
        async with httpx2.AsyncClient(base_url=stack.address, headers=headers) as web:
            for path in ("/api/v1/import", "/call/import"):
                assert (await web.post(path, content=b'{"who": {}}\n' + b"x" * 5_000)).status_code == 413


async def test_one_token_cannot_use_all_streams(settings: Settings) -> None:
    async with open_stack(settings) as stack:
        subscriptions = [stack.changes.subscribe("ann", lambda _: None, caller="greedy") for _ in range(65)]
        for subscription in subscriptions[:64]:
            await subscription.__aenter__()
        with pytest.raises(Exception, match="64 streams") as refused:
            await subscriptions[64].__aenter__()
        assert refused.value.fields["retry_after"] > 0  # type: ignore[attr-defined]
        async with stack.changes.subscribe("ann", lambda _: None, caller="another"):
            pass
        for subscription in subscriptions[:64]:
            await subscription.__aexit__(None, None, None)


async def test_undo_reverts_changes_of_the_same_token_only(settings: Settings) -> None:
    async with open_stack(settings) as stack:
        first, second = await stack.token("first", "ann"), await stack.token("second", "ann")
        async with open_client(stack.address, token=first.secret) as client:
            stored = await client.remember("by the first")
        headers = {"authorization": f"Bearer {second.secret}"}
        async with httpx2.AsyncClient(base_url=stack.address, headers=headers) as web:
            assert (await web.post("/call/undo", json={})).status_code == 404
        async with open_client(stack.address, token=first.secret) as client:
            assert (await client.get(f"/memories/{stored['id']}")).get("state", "live") == "live"


async def test_a_server_with_another_name_requires_a_token(settings: Settings) -> None:
    with_host = settings.with_overrides(hosts="memory.example.org")
    with pytest.raises(InvalidInput, match="needs a token"):
        async with open_stack(with_host):
            pass
