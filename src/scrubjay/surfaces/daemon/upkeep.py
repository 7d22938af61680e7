"""Background work of the server: the store's maintenance, its jobs, and the sync of notes.

Of several servers that share a store, the leader does it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from scrubjay import telemetry
from scrubjay.cancelling import cancel
from scrubjay.curation.executor import JobExecutor
from scrubjay.curation.runner import CurationRunner
from scrubjay.engine import Engine
from scrubjay.engine.model_switch import ModelSwitch
from scrubjay.errors import ScrubjayError
from scrubjay.notes.service import Notes
from scrubjay.ports import RecordStore
from scrubjay.ports.cluster import ClusterStore, Leadership
from scrubjay.surfaces.changes import ChangeBroadcaster

if TYPE_CHECKING:
    from scrubjay.notes.vault import Vault

_log = logging.getLogger(__name__)
_NAME = "upkeep"
_SECONDS = 300.0
# How often the leader looks for jobs from other servers.
_JOB_POLL_SECONDS = 5.0
_CURATION_POLL_SECONDS = 60.0
# How often the alerts of all spaces are looked at.
_HEALTH_SECONDS = 300.0
# The wait before vectors are made that could not be made.
_VECTORS_SECONDS = 300.0
# How often to look for a choice of another server.
_MODEL_SECONDS = 5.0
# The wait before the sync of notes is tried again after a failure.
_NOTES_RETRY_SECONDS = 5.0


Look = Callable[[], Awaitable[object]]
"""Looks at the health of all spaces."""


async def run_upkeep(
    engine: Engine, store: RecordStore, *, look: Look | None = None, seconds: float = _SECONDS
) -> None:
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
                    _finish_model(engine),
                    _watch(look),
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


async def keep_latencies(engine: Engine, *, seconds: float = _HEALTH_SECONDS) -> None:
    """Store how long requests take, day by day, on every server, and the rest when it stops; never returns."""

    async def save() -> None:
        if engine.reporter is not None:
            await _attempt(engine.reporter.latency.save(now=engine.clock.now()), name="storing the latencies")

    try:
        while True:
            await asyncio.sleep(seconds)
            await save()
    finally:
        await save()


async def run_jobs(engine: Engine, store: RecordStore, *, look: Look | None = None) -> None:
    """Run the jobs of a store that only this server uses, and curate its spaces; never returns then."""
    if not isinstance(store, ClusterStore):
        await asyncio.gather(
            _job_executor(engine).work(), _curate(engine), _finish_model(engine), _watch(look),
            _attempt(engine.backfill(), name="embedding of what has no vector"),
        )  # fmt: skip


async def run_notes_sync(notes: Notes, changes: ChangeBroadcaster) -> None:
    """Synchronize the folder of notes once there is one; never returns then."""
    if notes.vaults is None:
        return
    space = notes.vaults.space

    async def follow(vault: "Vault") -> None:
        async with changes.subscribe(space, lambda _: vault.wake()):
            while True:
                await _attempt(vault.run(), name="the sync of notes")
                await asyncio.sleep(_NOTES_RETRY_SECONDS)

    await notes.vaults.follow(follow)


def _job_executor(engine: Engine) -> JobExecutor:
    return engine.job_runner if isinstance(engine.job_runner, JobExecutor) else JobExecutor(engine)


async def _curate(engine: Engine, *, seconds: float = _CURATION_POLL_SECONDS) -> None:
    while True:
        if isinstance(engine.curator, CurationRunner):
            await _attempt(engine.curator.run_due(), name="curation")
        await asyncio.sleep(seconds)


async def _watch(look: Look | None, *, seconds: float = _HEALTH_SECONDS) -> None:
    while True:
        # Not while the daemon starts: its first clients wait for it.
        await asyncio.sleep(seconds)
        if look is not None:
            await _attempt(look(), name="the look at the health")


async def _finish_model(engine: Engine, *, seconds: float = _VECTORS_SECONDS) -> None:
    """Make the vectors of the settings' model, and use it, whenever another one stands in for it; never returns."""
    while True:
        if engine.models is None:
            # A leader's other work ends with the first that returns.
            await asyncio.Event().wait()
            continue
        await engine.models.wait_until_temporary()
        await _attempt(engine.models.finish(), name="the change to the embedding model of the settings")
        if engine.models.is_temporary:
            await asyncio.sleep(seconds)


async def _maintain(engine: Engine, store: RecordStore, *, seconds: float) -> None:
    async def tidy_and_embed() -> None:
        await store.tidy()
        await engine.backfill()

    while True:
        await _attempt(tidy_and_embed(), name="upkeep")
        await asyncio.sleep(seconds)


async def _attempt(work: Awaitable[object], *, name: str) -> None:
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
        await cancel(*tasks)
