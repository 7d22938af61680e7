"""Background work of the server: the store's maintenance, its jobs, and the sync of notes.

Of several servers that share a store, the leader does it.
"""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack

from scrubjay import telemetry
from scrubjay.curation.executor import JobExecutor
from scrubjay.curation.runner import CurationRunner
from scrubjay.engine import Engine
from scrubjay.engine.model_switch import ModelSwitch
from scrubjay.errors import ScrubjayError
from scrubjay.notes.service import Notes
from scrubjay.ports import RecordStore
from scrubjay.ports.cluster import ClusterStore, Leadership
from scrubjay.surfaces.changes import ChangeBroadcaster

_log = logging.getLogger(__name__)
_NAME = "upkeep"
_SECONDS = 300.0
# How often the leader looks for jobs from other servers.
_JOB_POLL_SECONDS = 5.0
_CURATION_POLL_SECONDS = 60.0
# How often to look for a choice of another server.
_MODEL_SECONDS = 5.0
# The wait before the sync of notes is tried again after a failure.
_NOTES_RETRY_SECONDS = 5.0


async def run_upkeep(engine: Engine, store: RecordStore, *, seconds: float = _SECONDS) -> None:
    """Tidy a shared store, embed what is missing and run jobs while this server is the leader; never returns then.

    A store on one machine is tidied when it is opened.
    """
    if not isinstance(store, ClusterStore):
        return
    async with store.leader(_NAME) as leader:
        with ExitStack() as stack:
            stack.callback(telemetry.gauge("leading", lambda: float(leader.leads)))
            while True:
                await leader.wait_until_elected()
                _log.info("leads", extra={"fields": {"work": _NAME}})
                works = (
                    _maintain(engine, store, seconds=seconds),
                    _job_executor(engine).work(seconds=_JOB_POLL_SECONDS),
                    _curate(engine),
                )
                await _run_while_leading(works, leader)


async def follow_model(engine: Engine, *, seconds: float = _MODEL_SECONDS) -> None:
    """Use the embedding model that another process has chosen; never returns."""

    async def follow(models: ModelSwitch) -> None:
        if await models.follow():
            _log.info("the embedding model has changed", extra={"fields": {"model": models.choice.get("model")}})

    while engine.models is not None:
        await asyncio.sleep(seconds)
        await _attempt(follow(engine.models), name="the change of the embedding model")


async def run_jobs(engine: Engine, store: RecordStore) -> None:
    """Run the jobs of a store that only this server uses, and curate its spaces; never returns then."""
    if not isinstance(store, ClusterStore):
        await asyncio.gather(_job_executor(engine).work(), _curate(engine))


async def run_notes_sync(notes: Notes, changes: ChangeBroadcaster) -> None:
    """Synchronize the folder of notes once there is one; never returns then."""
    if notes.vaults is None:
        return
    vault = await notes.vaults.wait_until_open()
    async with changes.subscribe(notes.vaults.space, lambda _: vault.wake()):
        while True:
            await _attempt(vault.run(), name="the sync of notes")
            await asyncio.sleep(_NOTES_RETRY_SECONDS)


def _job_executor(engine: Engine) -> JobExecutor:
    return engine.job_runner if isinstance(engine.job_runner, JobExecutor) else JobExecutor(engine)


async def _curate(engine: Engine, *, seconds: float = _CURATION_POLL_SECONDS) -> None:
    while True:
        if isinstance(engine.curator, CurationRunner):
            await _attempt(engine.curator.run_due(), name="curation")
        await asyncio.sleep(seconds)


async def _maintain(engine: Engine, store: RecordStore, *, seconds: float) -> None:
    async def tidy_and_embed() -> None:
        await store.tidy()
        await engine.backfill()

    while True:
        await _attempt(tidy_and_embed(), name="upkeep")
        await asyncio.sleep(seconds)


async def _attempt(work: Coroutine[object, object, object], *, name: str) -> None:
    """Do periodic work, and only log its failure: the next attempt comes later."""
    try:
        await work
    except ScrubjayError as error:
        _log.warning(f"{name} is postponed", extra={"fields": {"error": error.code}})
    except Exception:  # noqa: BLE001 - the edge of background work
        # An unexpected error must not restart the work at once.
        _log.exception(f"{name} failed")


async def _run_while_leading(works: Sequence[Coroutine[object, object, None]], leader: Leadership) -> None:
    """Work until another server becomes the leader."""
    tasks = {asyncio.create_task(work) for work in (*works, leader.wait_until_dismissed())}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
