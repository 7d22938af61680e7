"""Whoever takes more than its share takes nothing from others, and nobody is taken for somebody else."""

import asyncio

import httpx2
import pytest
from tests.surfaces.rest.checked_client import visiting
from tests.surfaces.rest.http_stack import HttpStack, open_stack
from tests.surfaces.rest.raw_client import request, wired
from tests.surfaces.rest.waiting import until

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Caller
from scrubjay.settings import Settings

_MANY = 400


async def _fill(stack: HttpStack, space: str) -> None:
    memory = MemoryClient.over(stack.engine, Caller(space=space))
    await asyncio.gather(*(memory.remember(f"{number} " + "acorn " * 400, intent="new") for number in range(_MANY)))


async def _until_inside(stack: HttpStack, *, some: bool) -> None:
    async def is_so() -> bool:
        return bool(stack.gate.inside) is some

    await until(is_so)


async def test_an_export_that_nobody_reads_ends_with_its_caller(settings: Settings) -> None:
    async with open_stack(settings) as stack:
        await _fill(stack, "default")
        for method, path in (("POST", "/call/export"), ("GET", "/api/v1/export")) * 3:
            async with wired(stack.address) as raw:
                await raw.say(request(method, path, *(["content-length: 0"] if method == "POST" else [])))
                await _until_inside(stack, some=True)
            await _until_inside(stack, some=False)


async def test_who_brings_nothing_in_takes_no_room(settings: Settings) -> None:
    async with open_stack(settings) as stack, wired(stack.address) as raw:
        reply = await raw.ask("POST", "/healthz", "content-length: 1000000")
        assert reply.status == 413


async def test_an_import_keeps_to_the_limit_of_its_token(settings: Settings) -> None:
    async with open_stack(settings) as stack:
        token = await stack.token("small", "ann", body_bytes=200)
        headers = {"authorization": f"Bearer {token.secret}"}
        async with httpx2.AsyncClient(base_url=stack.address, headers=headers) as web:
            for path in ("/api/v1/import", "/call/import_"):
                assert (await web.post(path, content=b'{"who": {}}\n' + b"x" * 5_000)).status_code == 413


async def test_one_token_does_not_take_every_stream(settings: Settings) -> None:
    async with open_stack(settings) as stack:
        received = [stack.changes.subscribe("ann", lambda _: None, caller="greedy") for _ in range(65)]
        for item in received[:64]:
            await item.__aenter__()
        with pytest.raises(Exception, match="64 streams") as refused:
            await received[64].__aenter__()
        assert refused.value.fields["retry_after"] > 0  # type: ignore[attr-defined]
        async with stack.changes.subscribe("ann", lambda _: None, caller="another"):
            pass
        for item in received[:64]:
            await item.__aexit__(None, None, None)


async def test_undo_takes_back_what_came_by_the_same_token(settings: Settings) -> None:
    async with open_stack(settings) as stack:
        first, second = await stack.token("first", "ann"), await stack.token("second", "ann")
        async with visiting(stack.address, token=first.secret) as visitor:
            stored = await visitor.remember("by the first")
        headers = {"authorization": f"Bearer {second.secret}"}
        async with httpx2.AsyncClient(base_url=stack.address, headers=headers) as web:
            assert (await web.post("/call/undo", content=b"{}")).status_code == 404
        async with visiting(stack.address, token=first.secret) as visitor:
            assert (await visitor.get(f"/memories/{stored['id']}")).get("state", "live") == "live"


async def test_under_another_name_nobody_is_served_without_tokens(settings: Settings) -> None:
    named = settings.with_overrides(hosts="memory.example.org")
    with pytest.raises(InvalidInput, match="needs a token"):
        async with open_stack(named):
            pass
