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


def engine_over(store: PostgresStore, data: Path, *, clock: Clock, embedder: FakeEmbedder | None = None) -> Engine:
    """Return an engine over a store; the caller closes it, and so the store."""
    embedder = embedder or FakeEmbedder()

    def scan(profile: Profile) -> VectorIndex:
        return ScanIndex(store, profile.model, dimension=profile.dimension)

    async def build(_: Path) -> None:
        raise NotImplementedError

    means = LocalIndexParts(profile=embedder.profile, kind=EdgeIndex, scan=scan, build=build)
    return Engine(
        _store=store, embedder=embedder, index=LocalIndex(store, means, folder=None), clock=clock, limits=Limits(),
        access_log=AccessLog(store, clock=clock), data=data,
    )  # fmt: skip
