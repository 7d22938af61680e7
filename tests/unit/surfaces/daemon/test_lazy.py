"""What is made beside everything else."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.unit.surfaces.http.messages import ResponseRecorder, client_sending, scope_of

from scrubjay.surfaces.daemon.lazy import loaded, made_beside, opened_beside


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200})


async def ask(app: ASGIApp) -> int:
    hearing = ResponseRecorder()
    await app(scope_of(), client_sending(), hearing)
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


class Answering:
    """A site that answers as long as it is open."""

    def __init__(self) -> None:
        self.is_open = False
        self.tasks: list[asyncio.Task[object] | None] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self.is_open
        await answering(scope, receive, send)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        self.is_open = True
        self.tasks.append(asyncio.current_task())
        yield
        self.is_open = False
        self.tasks.append(asyncio.current_task())


async def test_a_site_is_opened_when_what_it_needs_is_loaded_and_closed_at_the_end() -> None:
    may, site = threading.Event(), Answering()

    def load() -> None:
        assert may.wait(20)

    async with opened_beside(load, lambda: site) as app:
        first, second = asyncio.create_task(ask(app)), asyncio.create_task(ask(app))
        await asyncio.sleep(0.01)
        assert not site.is_open
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        may.set()
        assert await second == 200
        assert await ask(app) == 200
        assert site.is_open
    assert not site.is_open
    opened, closed = site.tasks
    assert opened is closed


async def test_a_site_whose_needs_cannot_be_loaded_fails_whoever_asks_for_it() -> None:
    def load() -> None:
        raise ImportError("not there")

    async with opened_beside(load, Answering) as app:
        for _ in range(2):
            with pytest.raises(ImportError):
                await ask(app)


async def test_a_site_that_nobody_asked_is_closed_too() -> None:
    site = Answering()
    async with opened_beside(lambda: None, lambda: site):
        pass
    assert len(site.tasks) == 2
    assert not site.is_open


async def test_one_thing_is_loaded_after_the_other() -> None:
    busy = threading.Lock()

    def load() -> int:
        assert busy.acquire(blocking=False)
        threading.Event().wait(0.01)
        busy.release()
        return 1

    assert await asyncio.gather(*(loaded(load) for _ in range(5))) == [1] * 5
