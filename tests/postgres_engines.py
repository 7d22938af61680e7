"""Engines over a test database, which several may share; they scan all vectors."""

from pathlib import Path

from scrubjay.engine import Engine
from scrubjay.indexing.local_index import LocalIndex, LocalIndexParts
from scrubjay.model.draft import Limits
from scrubjay.ports import Clock, Profile, VectorIndex
from scrubjay.recalling.access_log import AccessLog
from scrubjay.storage.postgres import PostgresStore
from scrubjay.vectors.edge import EdgeIndex
from scrubjay.vectors.scan import ScanIndex
from tests.fakes import FakeEmbedder
from tests.postgres import address_of


async def engine_over(name: str, data: Path, *, clock: Clock, embedder: FakeEmbedder | None = None) -> Engine:
    """Return an engine over a database; the caller closes it."""
    store, embedder = await PostgresStore.open(address_of(name)), embedder or FakeEmbedder()

    def scan(profile: Profile) -> VectorIndex:
        return ScanIndex(store, profile.model, dimension=profile.dimension)

    async def build(_: Path) -> None:
        raise NotImplementedError

    means = LocalIndexParts(profile=embedder.profile, kind=EdgeIndex, scan=scan, build=build)
    return Engine(
        store=store, embedder=embedder, index=LocalIndex(store, means, folder=None), clock=clock, limits=Limits(),
        access_log=AccessLog(store, clock=clock), data=data,
    )  # fmt: skip
