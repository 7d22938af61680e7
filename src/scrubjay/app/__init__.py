"""The composition root: settings become a wired engine. Nothing else names a backend."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

from scrubjay.app.embedders import make_embedder
from scrubjay.app.folder_lock import hold_folder, take_lock
from scrubjay.app.indexes import VECTOR_INDEXES, make_index
from scrubjay.app.llms import make_llm
from scrubjay.app.notes_location import notes_location
from scrubjay.app.rerankers import make_reranker
from scrubjay.app.stores import open_store
from scrubjay.curation.executor import JobExecutor
from scrubjay.engine import Engine
from scrubjay.ports import Gallery, RecordStore
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings

__all__ = ["VECTOR_INDEXES", "SystemClock", "hold_folder", "make_embedder", "open_engine", "open_store", "take_lock"]


class SystemClock:
    """Tells the time of this machine."""

    def now(self) -> datetime:
        """Now, in UTC."""
        return datetime.now(UTC)


@asynccontextmanager
async def open_engine(settings: Settings, *, is_staffed: bool = False) -> AsyncGenerator[Engine]:
    """The memory that the settings name, opened, and closed at the end; `is_staffed` where jobs are done meanwhile."""
    lock = hold_folder(settings.data)
    try:
        engine = await _wired(settings, await open_store(settings), is_staffed=is_staffed)
        try:
            yield engine
        finally:
            await engine.close()
    finally:
        lock.release()


def _gallery(settings: Settings) -> Gallery | None:
    """The pictures beside the notes, where the model sees pictures."""
    if settings.embedder != "clip":
        return None
    from scrubjay.notes.attachments.storage import NotesGallery  # noqa: PLC0415 - for the few whose model sees

    return NotesGallery(notes_location(settings).folder)


async def _wired(settings: Settings, store: RecordStore, *, is_staffed: bool) -> Engine:
    clock = SystemClock()
    try:
        embedder = make_embedder(settings)
        index = make_index(settings, store, embedder)
        reranker = make_reranker(settings)
        llm = make_llm(settings, documents=store, clock=clock)
        ranking, rules = settings.ranking, settings.rules
    except BaseException:
        await store.close()
        raise
    engine = Engine(
        store=store,
        embedder=embedder,
        index=index,
        clock=clock,
        limits=settings.limits,
        access_log=AccessLog(store, clock=clock),
        data=settings.data,
        ranking=ranking,
        reranker=reranker,
        rerank_top=settings.rerank_top,
        default_rules=rules,
        llm=llm,
        gallery=_gallery(settings),
        is_staffed=is_staffed,
    )
    # There is work also without a model: conflicts that a write has left to be looked for.
    return replace(engine, job_runner=JobExecutor(engine))
