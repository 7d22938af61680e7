"""An engine on every backend, so that each can get the same questions."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.backends import BACKENDS, backend
from tests.fakes import FakeClock, FakeEmbedder

from scrubjay.app.indexes import make_index
from scrubjay.app.stores import open_store
from scrubjay.engine import Engine
from scrubjay.ports import RecordStore
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings

# The embedded file without an index: an exact scan of its vectors.
SCAN = "scan"
NAMES = (SCAN, *BACKENDS)


@dataclass(frozen=True, kw_only=True)
class Backend:
    """An engine, and the name of its backend."""

    name: str
    engine: Engine


@asynccontextmanager
async def every_backend(folder: Path) -> AsyncGenerator[list[Backend]]:
    """Open an engine on each backend, with clocks that show the same times and embedders that give the same vectors."""
    async with AsyncExitStack() as stack:
        backends: list[Backend] = []
        for name in NAMES:
            choice = stack.enter_context(backend("sqlite" if name == SCAN else name))
            settings = Settings(
                home=str(folder / name), readers=1, vector_index="scan" if name == SCAN else "auto", **choice
            )
            engine = _engine(settings, await open_store(settings))
            stack.push_async_callback(engine.close)
            backends.append(Backend(name=name, engine=engine))
        yield backends


def _engine(settings: Settings, store: RecordStore) -> Engine:
    embedder, clock = FakeEmbedder(), FakeClock()
    return Engine(
        _store=store,
        embedder=embedder,
        index=make_index(settings, store, embedder),
        clock=clock,
        limits=settings.limits,
        # It counts accesses at its own times, and must not move the clock by that.
        access_log=AccessLog(store, clock=FakeClock()),
        data=settings.data,
    )
