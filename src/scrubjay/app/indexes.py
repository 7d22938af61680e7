"""The vector index that the settings choose."""

import hashlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from scrubjay.app.stores import is_encrypted
from scrubjay.engine import EngineIndex
from scrubjay.errors import InvalidInput
from scrubjay.indexing.build import run_niced
from scrubjay.indexing.local_index import LocalIndex, LocalIndexParts
from scrubjay.indexing.shared_index import SharedIndex, SharedIndexParts
from scrubjay.indexing.shared_leader import FileLeadership
from scrubjay.paths import database_file
from scrubjay.ports import Embedder, Profile, RecordStore, VectorIndex
from scrubjay.ports.cluster import ClusterStore
from scrubjay.settings import Settings
from scrubjay.vectors.edge import EdgeIndex
from scrubjay.vectors.pgvector import PgvectorIndex, Tables
from scrubjay.vectors.qdrant_address import QdrantAddress, load_qdrant
from scrubjay.vectors.scan import ScanIndex

if TYPE_CHECKING:
    from scrubjay.vectors.qdrant import QdrantIndex

VECTOR_INDEXES = ("auto", "scan")
_MODEL = "model-"
PGVECTOR_INDEXES = ("hnsw", "ivfflat")


@runtime_checkable
class _WithVectorTables(Protocol):
    """A store that can search its own vectors."""

    @property
    def vector_tables(self) -> Tables:
        """The tables of the vectors."""
        ...


def make_index(settings: Settings, store: RecordStore, embedder: Embedder, *, model: str = "") -> EngineIndex:
    """Return the chosen index, not opened yet; on disk, `model` names the folder of one that `reembed` has chosen."""
    choices = (*VECTOR_INDEXES, *(PGVECTOR_INDEXES if settings.database_url else ()))
    if settings.vector_index not in choices:
        raise InvalidInput(
            f"there is no vector index {settings.vector_index!r}",
            hint=f"SCRUBJAY_VECTOR_INDEX is one of {', '.join(choices)}; hnsw and ivfflat are PostgreSQL's",
            setting="SCRUBJAY_VECTOR_INDEX",
        )
    if settings.qdrant_url and settings.vector_index == "auto":
        return _qdrant(settings, store, embedder)
    if isinstance(store, _WithVectorTables) and settings.vector_index != "scan":
        kind = PGVECTOR_INDEXES[0] if settings.vector_index == "auto" else settings.vector_index
        return PgvectorIndex(store.vector_tables, embedder.profile, kind=kind, precision=settings.vector_precision)
    return _embedded(settings, store, embedder, model=model)


def _embedded(settings: Settings, store: RecordStore, embedder: Embedder, *, model: str) -> LocalIndex:
    def scan(profile: Profile) -> VectorIndex:
        return ScanIndex(store, profile.model, dimension=profile.dimension)

    async def build(target: Path) -> None:
        profile = await embedder.profile()
        database = str(database_file(settings.data))
        arguments = (database, str(target), profile.model, str(profile.dimension))
        await run_niced([sys.executable, "-m", "scrubjay.app.build_index", *arguments])

    # An index on disk would reveal an encrypted store: then it stays in memory.
    folder = None if is_encrypted(settings) or settings.vector_index == "scan" else _folder(settings.index, model)
    parts = LocalIndexParts(profile=embedder.profile, kind=EdgeIndex, scan=scan, build=build)
    others = [] if folder is None else [other for other in _folders(settings.index) if other != folder]
    return LocalIndex(store, parts, folder=folder, others=others)


def _folder(index: Path, model: str) -> Path:
    """Return the folder of the index of a model; without a name, that of the settings."""
    if not model:
        return index
    digest = hashlib.sha256(model.encode()).hexdigest()[:8]
    return index / f"{_MODEL}{re.sub(r'[^A-Za-z0-9.-]+', '-', model)[-40:]}-{digest}"


def _folders(index: Path) -> list[Path]:
    return [index, *(path for path in index.glob(f"{_MODEL}*") if path.is_dir())]


def _qdrant(settings: Settings, store: RecordStore, embedder: Embedder) -> SharedIndex:
    if is_encrypted(settings):
        raise InvalidInput(
            "an index on Qdrant would reveal the contents of an encrypted store",
            hint="Unset SCRUBJAY_QDRANT_URL, or the key",
            setting="SCRUBJAY_QDRANT_URL",
        )
    address = QdrantAddress(
        url=settings.qdrant_url,
        key=settings.qdrant_key,
        collection=settings.qdrant_collection,
        shards=settings.qdrant_shards,
        replicas=settings.qdrant_replicas,
    )
    kind = load_qdrant(address)
    connection = kind.connect(address)

    def index(profile: Profile) -> "QdrantIndex":
        return kind.at(
            address,
            connection=connection,
            store_id=store.store_id,
            model=profile.model,
            dimension=profile.dimension,
        )

    if isinstance(store, ClusterStore):
        parts = SharedIndexParts(profile=embedder.profile, index=index, candidacy=store.leader, listen=store.listening)
    else:
        lock = settings.data / "qdrant.lock"
        parts = SharedIndexParts(profile=embedder.profile, index=index, candidacy=lambda _: FileLeadership(lock))
    return SharedIndex(store, parts)
