"""The same memory on every backend, so that the same can be asked of each."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.backends import BACKENDS, backend
from tests.fakes import FakeClock, FakeEmbedder, FakeStore

from scrubjay.app.indexes import make_index
from scrubjay.app.stores import open_store
from scrubjay.engine import Engine
from scrubjay.ports import RecordStore
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings

FAKE = "fake"
HOUSES = (FAKE, *BACKENDS)


@dataclass(frozen=True, kw_only=True)
class Backend:
    """A memory, and what it stands on."""

    name: str
    engine: Engine


@asynccontextmanager
async def every_backend(folder: Path) -> AsyncGenerator[list[Backend]]:
    """One house on each backend. Their clocks tell the same times, and their embedders see the same in a text."""
    async with AsyncExitStack() as stack:
        backends: list[Backend] = []
        for name in HOUSES:
            choice = stack.enter_context(backend("sqlite" if name == FAKE else name))
            settings = Settings(
                home=str(folder / name), readers=1, vector_index="scan" if name == FAKE else "auto", **choice
            )
            store = FakeStore() if name == FAKE else await open_store(settings)
            engine = _engine(settings, store)
            stack.push_async_callback(engine.close)
            backends.append(Backend(name=name, engine=engine))
        yield backends


def _engine(settings: Settings, store: RecordStore) -> Engine:
    embedder, clock = FakeEmbedder(), FakeClock()
    return Engine(
        store=store,
        embedder=embedder,
        index=make_index(settings, store, embedder),
        clock=clock,
        limits=settings.limits,
        # It counts readings when it has the time, and must not move the clock by it.
        access_log=AccessLog(store, clock=FakeClock()),
        data=settings.data,
    )
