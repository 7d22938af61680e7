"""What one server does for all: finishes what others were killed over, and does what was left for later."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack

from scrubjay import telemetry
from scrubjay.curation.executor import JobExecutor
from scrubjay.engine import Engine
from scrubjay.errors import ScrubjayError
from scrubjay.notes.service import Notes
from scrubjay.ports.cluster import ClusterStore, Leadership
from scrubjay.surfaces.changes import ChangeBroadcaster

_log = logging.getLogger(__name__)
_NAME = "upkeep"
_SECONDS = 300.0
# So often the one who leads looks for jobs that came in through another server.
_LOOK_FOR_JOBS = 5.0
# After so long the folder of notes is looked at again, when something was wrong with it.
_LOOK_FOR_NOTES = 5.0


async def keep_up(engine: Engine, *, seconds: float = _SECONDS) -> None:
    """Tidy the store and embed what is missing now and then, as long as this server leads; never ends by itself.

    A store of one machine is tidied by whoever opens it.
    """
    if not isinstance(engine.store, ClusterStore):
        return
    async with engine.store.leader(_NAME) as leader:
        with ExitStack() as stack:
            stack.callback(telemetry.gauge("leading", lambda: float(leader.leads)))
            while True:
                await leader.wait_until_elected()
                _log.info("leads", extra={"fields": {"work": _NAME}})
                works = (_rounds(engine, seconds=seconds), workroom_of(engine).work(seconds=_LOOK_FOR_JOBS))
                await _while_leading(works, leader)


async def keep_working(engine: Engine) -> None:
    """Do the jobs of a store of one machine, of which this is the only server; never ends by itself."""
    if not isinstance(engine.store, ClusterStore):
        await workroom_of(engine).work()


async def keep_notes(notes: Notes, changes: ChangeBroadcaster) -> None:
    """Keep the folder of notes in step from when there is one; never ends by itself."""
    if notes.vaults is None:
        return
    vault = await notes.vaults.wait_until_open()
    async with changes.subscribe(notes.vaults.space, lambda _: vault.wake()):
        while True:
            await _tried(vault.run(), what="keeping notes in step")
            await asyncio.sleep(_LOOK_FOR_NOTES)


def workroom_of(engine: Engine) -> JobExecutor:
    """Where the jobs of an engine are done."""
    return engine.job_runner if isinstance(engine.job_runner, JobExecutor) else JobExecutor(engine)


async def _rounds(engine: Engine, *, seconds: float) -> None:
    while True:
        await _tried(_round(engine), what="upkeep")
        await asyncio.sleep(seconds)


async def _round(engine: Engine) -> None:
    await engine.store.tidy()
    await engine.embed_missing()


async def _tried(work: Coroutine[object, object, None], *, what: str) -> None:
    """Do something that is done again after a while, whatever comes of it now."""
    try:
        await work
    except ScrubjayError as error:
        _log.warning(f"{what} was put off", extra={"fields": {"error": error.code}})
    except Exception:  # noqa: BLE001 - a job's edge
        # What nobody thought of must not make it begin again at once.
        _log.exception(f"{what} failed")


async def _while_leading(works: Sequence[Coroutine[object, object, None]], leader: Leadership) -> None:
    """Work until somebody else leads."""
    tasks = {asyncio.create_task(work) for work in (*works, leader.wait_until_dismissed())}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
