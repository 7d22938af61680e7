"""Which vector index the settings choose for a store."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from scrubjay.app.stores import is_encrypted
from scrubjay.engine import EngineIndex
from scrubjay.errors import InvalidInput
from scrubjay.indexing.child import run_niced
from scrubjay.indexing.file_leadership import FileLeadership
from scrubjay.indexing.local_index import LocalIndex, LocalIndexParts
from scrubjay.indexing.shared import SharedIndex, SharedIndexParts
from scrubjay.paths import database_file
from scrubjay.ports import Embedder, Profile, RecordStore, VectorIndex
from scrubjay.ports.cluster import ClusterStore
from scrubjay.settings import Settings
from scrubjay.vectors.edge import EdgeIndex
from scrubjay.vectors.pgvector import PgvectorIndex, Tables
from scrubjay.vectors.qdrant_address import QdrantPlace, load_qdrant
from scrubjay.vectors.scan import ScanIndex

if TYPE_CHECKING:
    from scrubjay.vectors.qdrant import QdrantIndex

VECTOR_INDEXES = ("auto", "scan")
PGVECTOR_INDEXES = ("hnsw", "ivfflat")


@runtime_checkable
class _WithVectorTables(Protocol):
    """A store whose vectors can be searched where they are."""

    @property
    def vector_tables(self) -> Tables:
        """The tables that they are in."""
        ...


def make_index(settings: Settings, store: RecordStore, embedder: Embedder) -> EngineIndex:
    """The index, not opened yet."""
    known = (*VECTOR_INDEXES, *(PGVECTOR_INDEXES if settings.database_url else ()))
    if settings.vector_index not in known:
        raise InvalidInput(
            f"there is no vector index {settings.vector_index!r}",
            hint=f"SCRUBJAY_VECTOR_INDEX is one of {', '.join(known)}; hnsw and ivfflat are PostgreSQL's",
            setting="SCRUBJAY_VECTOR_INDEX",
        )
    if settings.qdrant_url and settings.vector_index == "auto":
        return _qdrant(settings, store, embedder)
    if isinstance(store, _WithVectorTables) and settings.vector_index != "scan":
        kind = PGVECTOR_INDEXES[0] if settings.vector_index == "auto" else settings.vector_index
        return PgvectorIndex(store.vector_tables, embedder.profile, kind=kind, precision=settings.vector_precision)
    return _embedded(settings, store, embedder)


def _embedded(settings: Settings, store: RecordStore, embedder: Embedder) -> LocalIndex:
    def scan(profile: Profile) -> VectorIndex:
        return ScanIndex(store, profile.model, dimension=profile.dimension)

    async def build(target: Path) -> None:
        profile = await embedder.profile()
        database = str(database_file(settings.data))
        arguments = (database, str(target), profile.model, str(profile.dimension))
        await run_niced([sys.executable, "-m", "scrubjay.app.build_index", *arguments])

    # The index on disk would hold in clear what an encrypted store hides: then it stays in memory.
    folder = None if is_encrypted(settings) or settings.vector_index == "scan" else settings.index
    return LocalIndex(
        store, LocalIndexParts(profile=embedder.profile, kind=EdgeIndex, scan=scan, build=build), folder=folder
    )


def _qdrant(settings: Settings, store: RecordStore, embedder: Embedder) -> SharedIndex:
    if is_encrypted(settings):
        raise InvalidInput(
            "an index on Qdrant would hold in clear what an encrypted store hides",
            hint="Leave out SCRUBJAY_QDRANT_URL, or the key",
            setting="SCRUBJAY_QDRANT_URL",
        )
    place = QdrantPlace(
        url=settings.qdrant_url,
        key=settings.qdrant_key,
        collection=settings.qdrant_collection,
        shards=settings.qdrant_shards,
        replicas=settings.qdrant_replicas,
    )
    kind = load_qdrant(place)
    line = kind.line_to(place)

    def index(profile: Profile) -> "QdrantIndex":
        return kind.at(place, line=line, store_id=store.store_id, model=profile.model, dimension=profile.dimension)

    if isinstance(store, ClusterStore):
        means = SharedIndexParts(profile=embedder.profile, index=index, leader=store.leader, listening=store.listening)
    else:
        lock = settings.data / "qdrant.lock"
        means = SharedIndexParts(profile=embedder.profile, index=index, leader=lambda _: FileLeadership(lock))
    return SharedIndex(store, means)
