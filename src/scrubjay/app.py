"""The composition root: settings become a wired engine. Nothing else names a backend."""

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from scrubjay.embedding.minilm import minilm_embedder
from scrubjay.embedding.none import NoEmbedder
from scrubjay.embedding.openai import OPENAI_URL, openai_embedder
from scrubjay.embedding.sentence_transformers import Chosen, sentence_transformers_embedder
from scrubjay.embedding.service import Service
from scrubjay.embedding.voyage import VOYAGE_URL, voyage_embedder
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, StoreInUse, StoreReadOnly
from scrubjay.indexing.child import run_niced
from scrubjay.indexing.keeper import IndexKeeper, Means
from scrubjay.keys import encryption_key
from scrubjay.locking import FileLock
from scrubjay.paths import database_file, lock_file
from scrubjay.ports import Embedder, Profile, RecordStore, VectorIndex
from scrubjay.recalling.visits import Visits
from scrubjay.settings import Settings
from scrubjay.stores.sqlite import SqliteStore
from scrubjay.vectors.edge import EdgeIndex
from scrubjay.vectors.scan import ScanIndex

VECTOR_INDEXES = ("auto", "scan")


class SystemClock:
    """Tells the time of this machine."""

    def now(self) -> datetime:
        """Now, in UTC."""
        return datetime.now(UTC)


@asynccontextmanager
async def open_engine(settings: Settings) -> AsyncGenerator[Engine]:
    """The memory of a data folder, opened, and closed at the end."""
    embedder = make_embedder(settings)
    lock = hold_folder(settings.data)
    try:
        store = await SqliteStore.open(
            database_file(settings.data), key=encryption_key(settings), readers=settings.readers
        )
        clock = SystemClock()
        engine = Engine(
            store=store,
            embedder=embedder,
            index=_index(settings, store, embedder),
            clock=clock,
            limits=settings.limits,
            visits=Visits(store, clock=clock),
            data=settings.data,
        )
        try:
            yield engine
        finally:
            await engine.close()
    finally:
        lock.release()


def hold_folder(data: Path, *, alone: bool = False) -> FileLock:
    """The lock of a data folder: shared by all who use the store, exclusive for whoever replaces it."""
    lock = FileLock(lock_file(data))
    if not take_lock(lock, data, exclusive=alone):
        raise StoreInUse(
            f"the store in {data} is {'in use' if alone else 'being replaced'}",
            hint="Stop what uses it and try again" if alone else "Try again in a moment",
            path=str(data),
        )
    return lock


def take_lock(lock: FileLock, data: Path, *, exclusive: bool) -> bool:
    """Take a lock that lies in a data folder, if it is free; raises StoreReadOnly where nothing can be written."""
    try:
        return lock.acquire(exclusive=exclusive)
    except OSError as error:
        raise StoreReadOnly(
            f"the data folder {data} cannot be written: {error.strerror}",
            hint="Check its permissions, or choose another folder with --data or SCRUBJAY_HOME",
            path=str(data),
        ) from error


def make_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings choose; nothing is loaded before its first use."""
    makers: dict[str, Callable[[], Embedder]] = {
        "minilm": lambda: minilm_embedder(threads=settings.embedding_threads),
        "openai": lambda: openai_embedder(_service(settings, OPENAI_URL)),
        "voyage": lambda: voyage_embedder(_service(settings, VOYAGE_URL)),
        "sentence-transformers": lambda: sentence_transformers_embedder(
            Chosen(model=_model(settings), download=settings.allow_download)
        ),
        "none": NoEmbedder,
    }
    if settings.embedder not in makers:
        raise InvalidInput(
            f"there is no embedder {settings.embedder!r}",
            hint=f"SCRUBJAY_EMBEDDER is one of {', '.join(makers)}",
            setting="SCRUBJAY_EMBEDDER",
        )
    return makers[settings.embedder]()


def _service(settings: Settings, url: str) -> Service:
    return Service(
        url=settings.embedding_url or url,
        model=_model(settings),
        api_key=settings.embedding_key,
        dimensions=settings.embedding_dimension or None,
    )


def _model(settings: Settings) -> str:
    if not settings.embedding_model:
        raise InvalidInput(
            f"the embedder {settings.embedder!r} needs the name of a model",
            hint="Set SCRUBJAY_EMBEDDING_MODEL",
            setting="SCRUBJAY_EMBEDDING_MODEL",
        )
    return settings.embedding_model


def _index(settings: Settings, store: RecordStore, embedder: Embedder) -> IndexKeeper:
    if settings.vector_index not in VECTOR_INDEXES:
        raise InvalidInput(
            f"there is no vector index {settings.vector_index!r}",
            hint=f"SCRUBJAY_VECTOR_INDEX is one of {', '.join(VECTOR_INDEXES)}",
            setting="SCRUBJAY_VECTOR_INDEX",
        )

    def scan(profile: Profile) -> VectorIndex:
        return ScanIndex(store, profile.model, dimension=profile.dimension)

    async def build(target: Path) -> None:
        profile = await embedder.profile()
        database = str(database_file(settings.data))
        arguments = (database, str(target), profile.model, str(profile.dimension))
        await run_niced([sys.executable, "-m", "scrubjay.builder", *arguments])

    # The index on disk would hold in clear what an encrypted store hides: then it stays in memory.
    is_private = bool(settings.key or settings.key_file or settings.keyring)
    folder = None if is_private or settings.vector_index == "scan" else settings.index
    return IndexKeeper(store, Means(profile=embedder.profile, kind=EdgeIndex, scan=scan, build=build), folder=folder)
