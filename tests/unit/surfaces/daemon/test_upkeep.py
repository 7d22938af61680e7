"""The background work of a store that nobody shares is nobody's."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import cast

from scrubjay.engine import Engine
from scrubjay.sharing import Candidate, Leadership, Lease
from scrubjay.surfaces.daemon.upkeep import keep_up
from scrubjay.testing import FakeStore


@dataclass
class Alone:
    """An engine of one machine."""

    store: FakeStore = field(default_factory=FakeStore)


async def test_a_store_of_one_machine_needs_no_leader() -> None:
    async with asyncio.timeout(5):
        await keep_up(cast("Engine", Alone()))


class SharedStore(FakeStore):
    """A store of several servers, of which this one leads."""

    @asynccontextmanager
    async def leader(self, name: str) -> AsyncGenerator[Leadership]:
        candidate = Winner()
        async with candidate:
            yield candidate

    def listening(
        self, hear: Callable[[], None], *, purged: Callable[[], None] = lambda: None
    ) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def settled_seq(self) -> int:
        return await self.last_seq()

    async def lease(self, caller: str, *, wanted: int, limit: int) -> Lease:
        return Lease(granted=wanted, seconds=60.0)


class Winner(Candidate):
    """Leads at once and for good."""

    async def stand(self) -> None:
        with self.leading():
            await asyncio.Event().wait()


@dataclass
class Broken:
    """An engine that fails in a way nobody thought of."""

    store: SharedStore = field(default_factory=SharedStore)
    rounds: int = 0
    tried: asyncio.Event = field(default_factory=asyncio.Event)

    async def embed_missing(self) -> int:
        self.rounds += 1
        self.tried.set()
        raise RuntimeError("nobody thought of this")


async def test_what_nobody_thought_of_does_not_make_it_begin_again_at_once() -> None:
    engine = Broken()
    task = asyncio.create_task(keep_up(cast("Engine", engine), seconds=3600))
    async with asyncio.timeout(10):
        await engine.tried.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert engine.rounds == 1
