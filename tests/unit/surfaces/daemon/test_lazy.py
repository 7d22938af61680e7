"""Applications that are made once a request needs them."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.patience import PATIENCE
from tests.unit.surfaces.http.messages import ResponseRecorder, client_sending, scope_of

from scrubjay.surfaces.daemon.lazy import load_in_thread, make_on_demand, open_on_demand


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200})


async def status_of(app: ASGIApp) -> int:
    recorder = ResponseRecorder()
    await app(scope_of(), client_sending(), recorder)
    return recorder.status


async def test_early_requests_wait_and_a_disconnect_does_not_cancel_the_application() -> None:
    allowed, started = threading.Event(), threading.Event()

    def make() -> ASGIApp:
        started.set()
        assert allowed.wait(PATIENCE)
        return answer

    async with make_on_demand(make) as app:
        first, second = asyncio.create_task(status_of(app)), asyncio.create_task(status_of(app))
        await asyncio.to_thread(started.wait, PATIENCE)
        assert not first.done()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        allowed.set()
        assert await second == 200
        assert await status_of(app) == 200


async def test_every_request_to_an_application_that_cannot_be_made_fails() -> None:
    def make() -> ASGIApp:
        raise ImportError("missing")

    async with make_on_demand(make) as app:
        for _ in range(2):
            with pytest.raises(ImportError):
                await status_of(app)


async def test_the_block_ends_after_the_application_is_made() -> None:
    allowed, made = threading.Event(), threading.Event()

    def make() -> ASGIApp:
        assert allowed.wait(PATIENCE)
        made.set()
        return answer

    async with make_on_demand(make) as app:
        request = asyncio.create_task(status_of(app))
        await asyncio.sleep(0)
        request.cancel()
        allowed.set()
    assert made.is_set()


async def test_what_no_request_needs_is_not_loaded() -> None:
    loaded: list[str] = []

    def make() -> ASGIApp:
        loaded.append("made")
        return answer

    async with make_on_demand(make), open_on_demand(lambda: loaded.append("loaded"), FakeApp):
        await asyncio.sleep(0.01)
    assert loaded == []


class FakeApp:
    """An application that answers while it is open."""

    def __init__(self) -> None:
        self.is_open = False
        self.tasks: list[asyncio.Task[object] | None] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self.is_open
        await answer(scope, receive, send)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        self.is_open = True
        self.tasks.append(asyncio.current_task())
        yield
        self.is_open = False
        self.tasks.append(asyncio.current_task())


async def test_an_application_is_opened_after_the_load_and_closed_at_the_end() -> None:
    allowed, fake = threading.Event(), FakeApp()

    def load() -> None:
        assert allowed.wait(PATIENCE)

    async with open_on_demand(load, lambda: fake) as app:
        first, second = asyncio.create_task(status_of(app)), asyncio.create_task(status_of(app))
        await asyncio.sleep(0.01)
        assert not fake.is_open
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        allowed.set()
        assert await second == 200
        assert await status_of(app) == 200
        assert fake.is_open
    assert not fake.is_open
    opened, closed = fake.tasks
    assert opened is closed


async def test_every_request_fails_after_a_failed_load() -> None:
    def load() -> None:
        raise ImportError("missing")

    async with open_on_demand(load, FakeApp) as app:
        for _ in range(2):
            with pytest.raises(ImportError):
                await status_of(app)


async def test_loads_do_not_overlap() -> None:
    busy = threading.Lock()

    def load() -> int:
        assert busy.acquire(blocking=False)
        threading.Event().wait(0.01)
        busy.release()
        return 1

    assert await asyncio.gather(*(load_in_thread(load) for _ in range(5))) == [1] * 5
