"""What is made beside everything else."""

import asyncio
import threading

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.unit.surfaces.web.messages import Hearing, saying, scope_of

from scrubjay.surfaces.daemon.later import made_beside


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200})


async def ask(app: ASGIApp) -> int:
    hearing = Hearing()
    await app(scope_of(), saying(), hearing)
    return hearing.status


async def test_who_comes_first_waits_and_who_hangs_up_takes_nothing_along() -> None:
    may, began = threading.Event(), threading.Event()

    def make() -> ASGIApp:
        began.set()
        assert may.wait(20)
        return answering

    async with made_beside(make) as app:
        first, second = asyncio.create_task(ask(app)), asyncio.create_task(ask(app))
        await asyncio.to_thread(began.wait, 20)
        assert not first.done()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        may.set()
        assert await second == 200
        assert await ask(app) == 200


async def test_what_cannot_be_made_fails_whoever_asks_for_it() -> None:
    def make() -> ASGIApp:
        raise ImportError("not there")

    async with made_beside(make) as app:
        for _ in range(2):
            with pytest.raises(ImportError):
                await ask(app)


async def test_nobody_leaves_before_it_is_made() -> None:
    made = threading.Event()

    def make() -> ASGIApp:
        made.set()
        return answering

    async with made_beside(make):
        pass
    assert made.is_set()
