"""The composition root: builds an engine from settings. No other package names a backend."""

import logging
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from scrubjay.app.chosen_model import open_models
from scrubjay.app.indexes import VECTOR_INDEXES
from scrubjay.app.models import make_embedder, make_llm, make_pair_model, make_reranker
from scrubjay.app.plain_files import find_plain_files
from scrubjay.app.profiles import profiles_file
from scrubjay.app.recall_processes import RecallProcesses
from scrubjay.app.stores import hold_folder, is_encrypted, open_store, take_lock
from scrubjay.code import CodeRunner
from scrubjay.code.wall import WallPolicy
from scrubjay.curation.executor import JobExecutor
from scrubjay.curation.runner import CurationRunner
from scrubjay.curation.schedule import Schedule
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput
from scrubjay.health.daily import DailyLog
from scrubjay.health.report import HealthReporter
from scrubjay.ports import RecordStore
from scrubjay.recalling.access_log import AccessLog
from scrubjay.recalling.usage import UsageLog
from scrubjay.settings import Settings

__all__ = [
    "VECTOR_INDEXES",
    "FileClock",
    "SystemClock",
    "hold_folder",
    "make_embedder",
    "open_engine",
    "open_engine_and_store",
    "open_scratch_engine",
    "open_store",
    "take_lock",
]

_log = logging.getLogger(__name__)


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)


class FileClock:
    """A clock for tests and benchmarks: a file holds the moment, and time passes from there until the file changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._content = path.read_text("utf-8")
            self._moment = _read_moment(self._content)
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"SCRUBJAY_CLOCK_FILE: {_reason(error)}",
                hint="Write a moment such as 2026-05-31T14:00:00Z into the file, or unset the variable",
                setting="SCRUBJAY_CLOCK_FILE",
            ) from None
        self._read_at = time.monotonic()
        _log.warning("the time comes from a file (SCRUBJAY_CLOCK_FILE), which is for tests and benchmarks")

    def now(self) -> datetime:
        """Return the moment of the file, plus the time since it was read."""
        self._refresh()
        return self._moment + timedelta(seconds=time.monotonic() - self._read_at)

    def _refresh(self) -> None:
        """Read the file if it has changed; without a moment in it the clock runs on."""
        try:
            content = self._path.read_text("utf-8")
        except (OSError, ValueError) as error:
            content, reason = "", _reason(error)
        else:
            reason = ""
        if content == self._content:
            return
        self._content = content
        try:
            self._moment = _read_moment(content)
            self._read_at = time.monotonic()
        except ValueError as error:
            _log.warning("SCRUBJAY_CLOCK_FILE: %s; the clock runs on", reason or _reason(error))


def _read_moment(content: str) -> datetime:
    text = content.strip()
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None and MINYEAR < moment.year < MAXYEAR:
            return moment.astimezone(UTC)
    except ValueError:
        pass
    raise ValueError(f"{text[:80]!r} is not a moment with a time zone")


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return f"cannot read the file: {error.strerror}"
    return "the file is not text" if isinstance(error, UnicodeDecodeError) else str(error)


@asynccontextmanager
async def open_engine(settings: Settings, *, has_worker: bool = False) -> AsyncGenerator[Engine]:
    """Open an engine, and close it at the end; with `has_worker` it leaves work to background jobs."""
    async with open_engine_and_store(settings, has_worker=has_worker) as (engine, _):
        yield engine


@asynccontextmanager
async def open_engine_and_store(
    settings: Settings, *, has_worker: bool = False
) -> AsyncGenerator[tuple[Engine, RecordStore]]:
    """Open an engine with its store, for a server: it needs the store's tokens, its leases and its upkeep."""
    lock = hold_folder(settings.data)
    try:
        store = await open_store(settings)
        engine = await _build(settings, store, has_worker=has_worker)
        try:
            yield engine, store
        finally:
            await engine.close()
    finally:
        lock.release()


@asynccontextmanager
async def open_scratch_engine(settings: Settings) -> AsyncGenerator[Engine]:
    """Open an engine with the chosen models over an empty, temporary store, for measurements."""
    if settings.embedder == "none":
        raise InvalidInput(
            "without an embedder there is nothing to calibrate",
            hint="Set SCRUBJAY_EMBEDDER",
            setting="SCRUBJAY_EMBEDDER",
        )
    with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
        scratch = replace(
            settings, home=folder, index_path="", vector_index="scan", database_url="", qdrant_url="", reranker="none",
            key=secrets.token_hex() if is_encrypted(settings) else "", key_file="", keyring="",
        )  # fmt: skip
        if profiles_file(settings.data).exists():
            shutil.copyfile(profiles_file(settings.data), profiles_file(scratch.data))
        async with open_engine(scratch) as engine:
            yield engine


async def _build(settings: Settings, store: RecordStore, *, has_worker: bool) -> Engine:
    try:
        clock = FileClock(Path(settings.clock_file)) if settings.clock_file else SystemClock()
        models = await open_models(settings, store, clock=clock)
        reranker, pair_model = make_reranker(settings), make_pair_model(settings)
        llm = make_llm(settings, documents=store, clock=clock)
        ranking, rules, thresholds = settings.ranking, settings.rules, settings.thresholds
        programs = CodeRunner(
            documents=store, clock=clock, limits=settings.code, policy=WallPolicy.parse(settings.code_wall)
        )  # fmt: skip
        schedule = Schedule.parse(hours=settings.curation_hours, quiet=settings.curation_quiet)
    except BaseException:
        await store.close()
        raise
    engine = Engine(
        _store=store,
        embedder=models.embedder,
        index=models.index,
        models=models,
        clock=clock,
        limits=settings.limits,
        access_log=AccessLog(store, clock=clock, usage=UsageLog(store, clock=clock, counts=settings.usage)),
        reporter=HealthReporter(DailyLog(store), thresholds=thresholds),
        data=settings.data,
        ranking=ranking,
        reranker=reranker,
        rerank_top=settings.rerank_top,
        pairs=pair_model if settings.pair_model != "off" else None,
        recall_pairs=pair_model if settings.reader else None,
        recall_processes=_make_recall_processes(settings) if has_worker else None,
        default_rules=rules,
        llm=llm,
        programs=programs,
        has_worker=has_worker,
        plain_files=partial(find_plain_files, settings) if is_encrypted(settings) else None,
    )
    models.on_change(engine.answers.clear)
    # Jobs such as conflict scans run without a language model.
    curator = CurationRunner(engine, store, schedule=schedule)
    return replace(engine, job_runner=JobExecutor(engine), curator=curator)


def _make_recall_processes(settings: Settings) -> RecallProcesses | None:
    """Return what answers questions in other processes, where that is possible and of use."""
    most = min(settings.recall_processes, (os.cpu_count() or 1) - 1)
    return RecallProcesses(settings, most=most) if most > 0 and not settings.database_url else None
